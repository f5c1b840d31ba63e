import 'reflect-metadata'
import { createHash, createPrivateKey, generateKeyPairSync, sign, webcrypto } from 'node:crypto'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import * as x509 from '@peculiar/x509'
import test from 'ava'
import { canonicalText, certificateUrl, makeTopicMessages } from '../../adapters/marketplace/topic-messages.ts'
import { FetchFailed } from '../../adapters/outbound/guarded-fetch.ts'

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

/** A certificate with a key of RSA, as the provider has it. */
const rsaCertificate = async (notBefore: string, notAfter: string) => {
  x509.cryptoProvider.set(webcrypto)
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    publicExponent: Uint8Array.of(1, 0, 1),
    modulusLength: 2048,
  }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=sns.amazonaws.com',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(notBefore),
    notAfter: new Date(notAfter),
  })
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  return {
    certificatePem: certificate.toString('pem'),
    privateKey: createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
  }
}

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

test('a message counts if it is signed, of a topic that is heard, and of the last hour', async (t) => {
  const { certificatePem, privateKey } = await rsaCertificate('2012-01-01T00:00:00Z', '2013-01-01T00:00:00Z')
  const signed = (changes: Readonly<Record<string, string>> = {}, key = privateKey) => {
    const message = { ...example, SignatureVersion: '2', SigningCertURL: url, ...changes }
    const text = Buffer.from(canonicalText(message as never))
    return { ...message, Signature: sign('sha256', text, key).toString('base64') }
  }
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
