import { verify, X509Certificate } from 'node:crypto'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/kernel/clock.ts'
import { parseInstant } from '../../core/kernel/clock.ts'
import type { TopicMessage, TopicMessages } from '../../core/marketplace/ports.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'

/** A message of a topic of cloud A (SNS), as it is sent by HTTP. */
const Sent = t.intersection([
  t.type({
    Type: t.keyof({ Notification: null, SubscriptionConfirmation: null, UnsubscribeConfirmation: null }),
    MessageId: t.string,
    TopicArn: t.string,
    Message: t.string,
    Timestamp: t.string,
    SignatureVersion: t.string,
    Signature: t.string,
    SigningCertURL: t.string,
  }),
  t.partial({ Subject: t.string, Token: t.string, SubscribeURL: t.string }),
])
type Sent = t.TypeOf<typeof Sent>

const signedKeys = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const

/**
 * Returns the text that is signed: each key and its value on a line of its own. A subject that is absent is left out.
 * @internal
 */
export const canonicalText = (message: Pick<Sent, 'Type'> & Partial<Sent>): string =>
  signedKeys[message.Type].flatMap((key) => (message[key] === undefined ? [] : [`${key}\n${message[key]}\n`])).join('')

const providerHost = /^sns\.[a-z0-9-]{3,}\.amazonaws\.com(?:\.cn)?$/

/** Returns the URL if it is of the provider, by https at the usual port, without a user and a fragment. */
const providerUrl = (text: string): URL | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.protocol !== 'https:' || url.port !== '') return undefined
  return url.username + url.password + url.hash === '' && providerHost.test(url.hostname) ? url : undefined
}

const certificatePath = /^\/SimpleNotificationService-[0-9a-f]{32}\.pem$/

/** Returns the URL of a certificate if the provider publishes certificates there. @internal */
export const certificateUrl = (text: string): URL | undefined => {
  const url = providerUrl(text)
  return url?.search === '' && certificatePath.test(url.pathname) ? url : undefined
}

/** Returns the URL by which a subscription is confirmed if it is one of the provider. @internal */
export const confirmationUrl = (text: string): URL | undefined => {
  const url = providerUrl(text)
  const isConfirmation = url?.searchParams.getAll('Action').join() === 'ConfirmSubscription'
  return isConfirmation && url?.pathname === '/' ? url : undefined
}

export interface TopicMessageOptions {
  /** The accepted topics, by ARN. */
  readonly topics: readonly string[]
  readonly fetch: GuardedFetch
  readonly clock: Clock
}

const oldestMilliseconds = 3_600_000
const aheadMilliseconds = 300_000
const certificateBytes = 65_536
const confirmationBytes = 65_536
const keptCertificates = 8

/** TopicMessages by the certificates that the provider publishes. Only signatures of version 2 (SHA-256) count. */
export const makeTopicMessages = ({ topics, fetch, clock }: TopicMessageOptions): TopicMessages => {
  const certificates = new LRUCache<string, X509Certificate>({ max: keptCertificates })

  const certificateAt = async (url: URL, signal: AbortSignal): Promise<X509Certificate | undefined> => {
    const known = certificates.get(url.href)
    if (known !== undefined) return known
    const answer = await fetch({ url, limitBytes: certificateBytes, timeoutMilliseconds: 5_000 }, signal)
    try {
      // A redirect leads to what the provider does not publish.
      if (answer.status !== 200 || answer.url.href !== url.href) return undefined
      const certificate = new X509Certificate(answer.bytes)
      certificates.set(url.href, certificate)
      return certificate
    } catch {
      return undefined
    } finally {
      answer.release?.()
    }
  }

  const isTimely = (at: Date | undefined): boolean => {
    const age = at === undefined ? Number.NaN : clock.now().getTime() - at.getTime()
    return age <= oldestMilliseconds && age >= -aheadMilliseconds
  }

  const isSigned = (message: Sent, certificate: X509Certificate): boolean => {
    const now = clock.now()
    const isInForce = certificate.validFromDate <= now && now <= certificate.validToDate
    const { publicKey } = certificate
    if (!isInForce || publicKey.asymmetricKeyType !== 'rsa') return false
    return verify('sha256', Buffer.from(canonicalText(message)), publicKey, Buffer.from(message.Signature, 'base64'))
  }

  return {
    async verify(value, signal): Promise<Either<string, TopicMessage>> {
      const decoded = Sent.decode(value)
      if (isLeft(decoded)) return left('The message does not have the form of one.')
      const message = decoded.right
      if (!topics.includes(message.TopicArn)) return left('The topic is not one that is heard.')
      if (message.SignatureVersion !== '2') return left('The signature must be of version 2.')
      if (!isTimely(parseInstant(message.Timestamp)))
        return left('The message is older than an hour, or of the future.')
      const url = certificateUrl(message.SigningCertURL)
      if (url === undefined) return left('The certificate is not at an address of the provider.')
      const certificate = await certificateAt(url, signal)
      if (certificate === undefined) return left('The certificate cannot be read.')
      if (!isSigned(message, certificate)) return left('The signature does not match.')
      const { Type: type, MessageId: id, TopicArn: topic, Message: text, SubscribeURL: confirmUrl = '' } = message
      return right({ type, id, topic, text, confirmUrl })
    },

    async confirm({ type, confirmUrl }, signal) {
      const url = type === 'SubscriptionConfirmation' ? confirmationUrl(confirmUrl) : undefined
      if (url === undefined) return false
      const answer = await fetch({ url, limitBytes: confirmationBytes, timeoutMilliseconds: 5_000 }, signal)
      answer.release?.()
      return answer.status === 200 && answer.url.href === url.href
    },
  }
}
