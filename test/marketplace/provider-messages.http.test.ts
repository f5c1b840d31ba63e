import 'reflect-metadata'
import type { KeyObject } from 'node:crypto'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { exportJWK, SignJWT } from 'jose'
import { FetchFailed } from '../../adapters/outbound/guarded-fetch.ts'
import { bind } from '../../composition/part/binding.ts'
import { MessageFetchPort } from '../../composition/parts/marketplace/messages.ts'
import { SubscriptionStorePort } from '../../core/marketplace/ports.ts'
import { until } from '../support/until.ts'
import type { MarketService } from './market-service.ts'
import { marketplaceRoot, startMarket } from './market-service.ts'
import { rsaCertificate, signedMessage } from './sns-signer.ts'

const topic = 'arn:aws:sns:us-east-1:123456789012:aws-mp-subscription-notification-1'
const certificateUrl = `https://sns.us-east-1.amazonaws.com/SimpleNotificationService-${'b'.repeat(32)}.pem`
const confirmUrl = `https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${topic}&Token=k`
const keysUrl = 'https://www.googleapis.com/oauth2/v3/certs'
const account = 'pusher@vendor.iam.gserviceaccount.com'
const audience = 'https://hooks.vendor.example/messages'
const alertsTo = 'alerts@vendor.example'

const google = generateKeyPairSync('rsa', { modulusLength: 2048 })
const forger = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** What the provider has at its addresses. */
const published = new Map<string, string>([[confirmUrl, '<ConfirmSubscriptionResponse/>']])
const fetched: string[] = []

let topicKey: KeyObject
test.before(async () => {
  const { certificatePem, privateKey } = await rsaCertificate('2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z')
  topicKey = privateKey
  published.set(certificateUrl, certificatePem)
  const key = { ...(await exportJWK(google.publicKey)), kid: 'g', alg: 'RS256', use: 'sig' }
  published.set(keysUrl, JSON.stringify({ keys: [key] }))
})

const start = (cloud: 'A' | 'C', settings: Readonly<Record<string, string>>): Promise<MarketService> =>
  startMarket(cloud, {
    settings: { MOORAGE_MARKETPLACE_ALERTS: alertsTo, ...settings },
    replaced: [
      bind(MessageFetchPort, {}, () => async ({ url }) => {
        fetched.push(url.href)
        const text = published.get(url.href)
        if (text === undefined) throw new FetchFailed('no answer')
        return { status: 200, headers: {}, bytes: new Uint8Array(Buffer.from(text)), url }
      }),
    ],
  })

const mailsOf = ({ mailFolder }: MarketService): readonly string[] =>
  readdirSync(mailFolder)
    .map((file) => readFileSync(join(mailFolder, file), 'utf8'))
    .filter((text) => text.includes(alertsTo))

const warningsOf = (service: MarketService) =>
  service.logLines().filter(({ msg }) => String(msg).startsWith('a marketplace sent a message about a customer'))

const metricOf = async ({ opsUrl }: MarketService): Promise<readonly string[]> =>
  (await (await fetch(`${opsUrl}/metrics`)).text())
    .split('\n')
    .filter((line) => line.startsWith('moorage_marketplace_messages_total{'))

const subscriptionsOf = async ({ running }: MarketService) =>
  (await running.container.resolve(SubscriptionStorePort).list({ page: 1, limit: 10 })).items

const topicMessage = (changes: Readonly<Record<string, string>> = {}, key = topicKey) =>
  signedMessage(
    {
      Type: 'Notification',
      MessageId: randomUUID(),
      TopicArn: topic,
      Message: JSON.stringify({
        action: 'unsubscribe-success',
        'customer-identifier': 'X01EXAMPLEX',
        'product-code': 'n0123456789',
      }),
      Timestamp: new Date().toISOString(),
      SignatureVersion: '2',
      SigningCertURL: certificateUrl,
      ...changes,
    },
    key,
  )

test('a message of a listed topic of cloud A is reported to the operator once', async (t) => {
  const service = await start('A', { MOORAGE_CLOUD_A_SNS_TOPICS: topic })
  t.teardown(service.stop)
  const path = '/marketplaces/cloudA/messages'
  const post = async (body: unknown, type = 'text/plain; charset=UTF-8') =>
    (await service.sendTo('POST', path, { body, headers: { 'Content-Type': type } })).status
  const message = topicMessage()
  t.is(await post(JSON.stringify(message)), 200)
  t.is(await post(JSON.stringify(message)), 200)
  t.is(await post(JSON.stringify(message), 'application/json'), 200)
  t.is((await Promise.all([0, 1, 2, 3].map(() => post(JSON.stringify(message))))).join(), '200,200,200,200')
  await until('the mail to the operator', () => (mailsOf(service).length > 0 ? true : undefined))
  t.is(warningsOf(service).length, 1)
  t.is(warningsOf(service)[0]?.['customer-identifier'], 'X01EXAMPLEX')

  const refused: Readonly<Record<string, unknown>> = {
    'another key': topicMessage({}, forger.privateKey),
    tampered: { ...topicMessage(), Message: '{"action": "subscribe-fail"}' },
    'another topic': topicMessage({ TopicArn: `${topic}2` }),
    old: topicMessage({ Timestamp: new Date(Date.now() - 3_700_000).toISOString() }),
    'another certificate': topicMessage({ SigningCertURL: certificateUrl.replace('amazonaws', 'evil') }),
    'a confirmation of another topic': topicMessage({
      Type: 'SubscriptionConfirmation',
      TopicArn: `${topic}2`,
      Token: 'k',
      SubscribeURL: confirmUrl,
    }),
  }
  for (const [name, body] of Object.entries(refused)) t.is(await post(JSON.stringify(body)), 403, name)
  for (const text of ['', '{', '[]', '{}', JSON.stringify({ ...message, MessageId: 7 })])
    t.is(await post(text), 400, text)
  t.is(await post(JSON.stringify(topicMessage({ Message: 'not JSON' }))), 400)
  t.is(await post(JSON.stringify(topicMessage()), 'application/xml'), 415)
  t.is(
    await post(JSON.stringify(topicMessage({ SigningCertURL: certificateUrl.replace('us-east-1', 'eu-west-1') }))),
    503,
  )
  t.false(fetched.includes(confirmUrl))

  const confirmation = (url: string) =>
    topicMessage({ Type: 'SubscriptionConfirmation', Message: 'confirm', Token: 'k', SubscribeURL: url })
  t.is(await post(JSON.stringify(confirmation('https://sns.evil.example/?Action=ConfirmSubscription'))), 503)
  const confirming = JSON.stringify(confirmation(confirmUrl))
  t.deepEqual([await post(confirming), await post(confirming)], [200, 200])
  t.is(fetched.filter((url) => url === confirmUrl).length, 1)
  t.false(fetched.some((url) => url.includes('evil')))

  t.is((await service.sendTo('POST', '/marketplaces/cloudC/messages', { body: {} })).status, 403)
  const { json: document } = await service.send('GET', '/api/v1/openapi.json')
  const content = Object.keys(document.paths[`${marketplaceRoot}${path}`]?.post?.requestBody?.content ?? {})
  t.deepEqual(content, ['application/json', 'text/plain'])
  t.is(warningsOf(service).length, 1)
  t.is(mailsOf(service).length, 1)
  t.regex(mailsOf(service)[0] ?? '', /X01EXAMPLEX/)
  const metrics = await metricOf(service)
  t.is(metrics.length, 1)
  t.regex(metrics[0] ?? '', /action="unsubscribe-success".* 1$/)
  t.deepEqual(await subscriptionsOf(service), [])
})

const pushed = (eventType: string, messageId: string = randomUUID()) => ({
  message: {
    data: Buffer.from(JSON.stringify({ eventId: 'e', eventType, entitlement: { id: 'E-1' } })).toString('base64'),
    messageId,
  },
  subscription: 'projects/vendor/subscriptions/marketplace',
})

const tokenOf = (changes: Readonly<Record<string, unknown>> = {}, key = google.privateKey): Promise<string> => {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: 'https://accounts.google.com', aud: audience, email: account, email_verified: true }
  return new SignJWT({ ...claims, iat: now, exp: now + 3600, ...changes })
    .setProtectedHeader({ alg: 'RS256', kid: 'g', typ: 'JWT' })
    .sign(key)
}

test('a message that a subscription of cloud C pushes is reported to the operator once', async (t) => {
  const service = await start('C', {
    MOORAGE_CLOUD_C_PUSH_ACCOUNT: account,
    MOORAGE_CLOUD_C_PUSH_AUDIENCE: audience,
  })
  t.teardown(service.stop)
  const post = async (body: unknown, token?: string) =>
    (
      await service.sendTo('POST', '/marketplaces/cloudC/messages', {
        body,
        headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
      })
    ).status
  const keys = published.get(keysUrl) ?? ''
  published.delete(keysUrl)
  t.is(await post(pushed('ENTITLEMENT_CANCELLED'), await tokenOf()), 503, 'the keys cannot be read')
  published.set(keysUrl, keys)
  const message = pushed('ENTITLEMENT_CANCELLED')
  t.deepEqual([await post(message, await tokenOf()), await post(message, await tokenOf())], [200, 200])
  await until('the mail to the operator', () => (mailsOf(service).length > 0 ? true : undefined))

  const past = Math.floor(Date.now() / 1000) - 60
  const wrong: Readonly<Record<string, string | undefined>> = {
    'no token': undefined,
    'no JWT': 'abc',
    'another key': await tokenOf({}, forger.privateKey),
    'another audience': await tokenOf({ aud: 'https://other.example' }),
    'another issuer': await tokenOf({ iss: 'https://evil.example' }),
    'another account': await tokenOf({ email: 'x@vendor.iam.gserviceaccount.com' }),
    'a mail address that is not verified': await tokenOf({ email_verified: false }),
    expired: await tokenOf({ exp: past }),
    'without an end': await tokenOf({ exp: undefined }),
  }
  for (const [name, token] of Object.entries(wrong)) t.is(await post(pushed('ENTITLEMENT_ACTIVE'), token), 403, name)
  const malformed = [{}, { message: {} }, '{', { ...message, subscription: '' }, pushed('')]
  for (const body of malformed) t.is(await post(body, await tokenOf()), 400, JSON.stringify(body))

  t.is(warningsOf(service).length, 1)
  t.is(warningsOf(service)[0]?.['entitlement.id'], 'E-1')
  t.is(mailsOf(service).length, 1)
  const metrics = await metricOf(service)
  t.is(metrics.length, 1)
  t.regex(metrics[0] ?? '', /action="ENTITLEMENT_CANCELLED"/)
  t.deepEqual(await subscriptionsOf(service), [])
})

test('the routes of messages do not exist unless a setting asks for them', async (t) => {
  const service = await startMarket('A')
  t.teardown(service.stop)
  for (const cloud of ['cloudA', 'cloudC'])
    t.is((await service.sendTo('POST', `/marketplaces/${cloud}/messages`, { body: {} })).status, 404)
})
