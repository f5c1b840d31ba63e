import 'reflect-metadata'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import test from 'ava'
import {
  canonicalText,
  certificateUrl,
  confirmationUrl,
  makeTopicMessages,
} from '../../adapters/marketplace/topic-messages.ts'
import { FetchFailed } from '../../adapters/outbound/guarded-fetch.ts'
import { rsaCertificate, signedMessage } from './sns-signer.ts'

/** The example of the provider's documentation. */
const example = {
  Type: 'Notification',
  MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
  TopicArn: 'arn:aws:sns:us-west-2:123456789012:MyTopic',
  Subject: 'My First Message',
  Message: 'Hello world!',
  Timestamp: '2012-05-02T00:54:06.655Z',
} as const
const url = `https://sns.us-west-2.amazonaws.com/SimpleNotificationService-${'a'.repeat(32)}.pem`
const now = new Date('2012-05-02T01:00:00Z')
const signal = new AbortController().signal

test('the text that is signed is that of the documentation', (t) => {
  const text = canonicalText(example)
  t.is(Buffer.byteLength(text), 198)
  t.is(
    createHash('sha256').update(text).digest('hex'),
    '19b478a5097fafe0273520bbe813de90c3cbe3cb11fc69d093fcb2ccdeec2dbf',
  )
  t.false(canonicalText({ ...example, Subject: undefined as never }).includes('Subject'))
  const confirmation = { ...example, Type: 'SubscriptionConfirmation', Token: 'k', SubscribeURL: 'https://x' } as const
  t.true(canonicalText(confirmation).includes('SubscribeURL\nhttps://x\nTimestamp\n'))
})

test('a certificate comes only from where the provider publishes it', (t) => {
  t.is(certificateUrl(url)?.href, url)
  t.not(certificateUrl(url.replace('.com/', '.com.cn/')), undefined)
  const wrong = [
    url.replace('https:', 'http:'),
    url.replace('.com/', '.com:444/'),
    url.replace('sns.', 'user@sns.'),
    url.replace('amazonaws.com', 'amazonaws.com.evil.example'),
    url.replace('sns.us-west-2', 'sns-evil'),
    url.replace('sns.us-west-2', 'evil.sns.us-west-2'),
    `${url}?a.pem`,
    `${url}#a.pem`,
    url.replace('/Simple', '/bucket/Simple'),
    url.replace('.pem', '.txt'),
    'nonsense',
  ]
  for (const each of wrong) t.is(certificateUrl(each), undefined, each)
})

test('a subscription is confirmed only at an address of the provider', (t) => {
  const confirm = 'https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=k'
  t.is(confirmationUrl(confirm)?.href, confirm)
  const wrong = [
    confirm.replace('https:', 'http:'),
    confirm.replace('.com/', '.com:444/'),
    confirm.replace('sns.', 'user@sns.'),
    confirm.replace('amazonaws.com', 'amazonaws.com.evil.example'),
    confirm.replace('ConfirmSubscription', 'Unsubscribe'),
    `${confirm}&Action=Unsubscribe`,
    confirm.replace('/?', '/path?'),
    '',
  ]
  for (const each of wrong) t.is(confirmationUrl(each), undefined, each)
})

const fixture = (certificate: string, changes: { readonly answerUrl?: string; readonly status?: number } = {}) => {
  let fetched = 0
  const messages = makeTopicMessages({
    topics: [example.TopicArn],
    clock: { now: () => now },
    fetch: async (asked) => {
      fetched += 1
      if (certificate === '') throw new FetchFailed('no answer')
      return {
        status: changes.status ?? 200,
        headers: {},
        bytes: new Uint8Array(Buffer.from(certificate)),
        url: new URL(changes.answerUrl ?? asked.url.href),
      }
    },
  })
  return { verify: (message: unknown) => messages.verify(message, signal), fetched: () => fetched }
}

test('a message needs a signature, a known topic and a recent time', async (t) => {
  const { certificatePem, privateKey } = await rsaCertificate('2012-01-01T00:00:00Z', '2013-01-01T00:00:00Z')
  const signed = (changes: Readonly<Record<string, string>> = {}, key = privateKey) =>
    signedMessage({ ...example, SignatureVersion: '2', SigningCertURL: url, ...changes }, key)
  const { verify, fetched } = fixture(certificatePem)
  const verified = await verify(signed())
  t.true(isRight(verified) && verified.right.text === 'Hello world!' && verified.right.id === example.MessageId)
  await verify(signed({ Message: 'another' }))
  t.is(fetched(), 1, 'the certificate is kept')
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const wrong: Readonly<Record<string, unknown>> = {
    tampered: { ...signed(), Message: 'Hello, world!' },
    'version 1': {
      ...signed({ SignatureVersion: '1' }),
      Signature: sign('sha1', Buffer.from(canonicalText(example)), privateKey).toString('base64'),
    },
    'another key': {
      ...signed(),
      Signature: sign('sha256', Buffer.from(canonicalText(example)), other).toString('base64'),
    },
    'another topic': signed({ TopicArn: 'arn:aws:sns:us-west-2:123456789012:Other' }),
    old: signed({ Timestamp: '2012-05-01T23:59:59.999Z' }),
    'of the future': signed({ Timestamp: '2012-05-02T01:05:00.001Z' }),
    'no time': signed({ Timestamp: 'now' }),
    'another host': signed({ SigningCertURL: url.replace('amazonaws', 'example') }),
    'no signature': { ...signed(), Signature: undefined },
    'an empty signature': { ...signed(), Signature: '' },
    'another type': { ...signed(), Type: 'Other' },
    'no object': 'message',
  }
  for (const [name, message] of Object.entries(wrong)) t.true(isLeft(await verify(message)), name)
  const expired = await rsaCertificate('2011-01-01T00:00:00Z', '2012-05-01T00:00:00Z')
  t.true(isLeft(await fixture(expired.certificatePem).verify(signed({}, expired.privateKey))))
  for (const [name, bench] of Object.entries({
    'no certificate': fixture('<html>'),
    'a redirect': fixture(certificatePem, { answerUrl: 'https://evil.example/a.pem' }),
    'an error': fixture(certificatePem, { status: 404 }),
  }))
    t.true(isLeft(await bench.verify(signed())), name)
  await t.throwsAsync(fixture('').verify(signed()), { instanceOf: FetchFailed })
})
