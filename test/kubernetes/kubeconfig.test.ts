import { createPrivateKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import test from 'ava'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { stringify } from 'yaml'
import { jsonCredentialCodec } from '../../adapters/kubernetes/credential-codec.ts'
import { makeKubeconfigParser } from '../../adapters/kubernetes/kubeconfig.ts'
import { makeServerCertificate, type ServerCertificate } from '../support/server-certificate.ts'

const { parse } = makeKubeconfigParser()
let pem: ServerCertificate
test.before(async () => {
  pem = await makeServerCertificate('kubeconfig-test')
})

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const canary = 'canary-7f3a9c'
type Changes = { cluster?: object; user?: object; file?: object; context?: object }
const kubeconfig = ({ cluster = {}, user = { token: canary }, file = {}, context = {} }: Changes = {}): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://k8s.example.com:6443/', 'certificate-authority-data': base64(pem.certificatePem), ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', ...context } }],
    'current-context': 'x',
    ...file,
  })

const refusal = (text: string): string => {
  const parsed = parse(text)
  if (isRight(parsed)) throw new Error('it was accepted')
  return parsed.left.message
}

test('a token with an inline authority is accepted, and printing it shows no secret', (t) => {
  const parsed = parse(kubeconfig())
  if (isLeft(parsed)) return t.fail(parsed.left.message)
  t.is(parsed.right.server, 'https://k8s.example.com:6443')
  t.is(parsed.right.authorityPem, pem.certificatePem)
  t.true(parsed.right.identity.kind === 'token' && parsed.right.identity.token.reveal() === canary)
  t.false(JSON.stringify(parsed.right).includes(canary))
})

test('a client certificate with its key is accepted; either alone is not', (t) => {
  const pair = { 'client-certificate-data': base64(pem.certificatePem), 'client-key-data': base64(pem.keyPem) }
  t.true(isRight(parse(kubeconfig({ user: pair }))))
  t.regex(refusal(kubeconfig({ user: { 'client-key-data': pair['client-key-data'] } })), /only accepted together/)
  t.regex(refusal(kubeconfig({ user: { 'client-certificate-data': pair['client-certificate-data'] } })), /only accepted together/)
})

test('a prefix of the server’s path and a tls-server-name are kept', (t) => {
  const parsed = parse(kubeconfig({ cluster: { server: 'https://rancher.example/k8s/clusters/c-1/', 'tls-server-name': 'inner.example' } }))
  t.true(isRight(parsed) && parsed.right.server === 'https://rancher.example/k8s/clusters/c-1' && parsed.right.tlsServerName === 'inner.example')
})

test('the only context is taken when none is named; several need a choice', (t) => {
  t.true(isRight(parse(kubeconfig({ file: { 'current-context': '' } }))))
  t.true(isRight(parse(kubeconfig({ file: { 'current-context': null } }))))
  const two = [{ name: 'x', context: { cluster: 'c', user: 'u' } }, { name: 'y', context: { cluster: 'c', user: 'u' } }]
  t.regex(refusal(kubeconfig({ file: { contexts: two, 'current-context': '' } })), /current-context/)
  t.true(isRight(parse(kubeconfig({ file: { contexts: two, 'current-context': 'y' } }))))
  t.regex(refusal(kubeconfig({ file: { 'current-context': 'other' } })), /current-context/)
})

const refused: readonly (readonly [string, Changes])[] = [
  ['exec', { user: { exec: { command: canary } } }],
  ['auth-provider', { user: { 'auth-provider': { name: canary } } }],
  ['client-certificate', { user: { 'client-certificate': `/etc/${canary}` } }],
  ['client-key', { user: { token: 't', 'client-key': `/etc/${canary}` } }],
  ['tokenFile', { user: { tokenFile: `/etc/${canary}` } }],
  ['username', { user: { username: canary, password: canary } }],
  ['password', { user: { token: 't', password: canary } }],
  ['as', { user: { token: canary, as: 'root' } }],
  ['as-groups', { user: { token: canary, 'as-groups': ['system:masters'] } }],
  ['certificate-authority', { cluster: { 'certificate-authority': `/etc/${canary}` } }],
  ['insecure-skip-tls-verify', { cluster: { 'insecure-skip-tls-verify': true } }],
  ['proxy-url', { cluster: { 'proxy-url': `http://${canary}` } }],
]
for (const [key, changes] of refused) {
  test(`${key} is refused by name, without repeating its value`, (t) => {
    const message = refusal(kubeconfig(changes))
    t.true(message.includes(`\`${key}\``), message)
    t.false(message.includes(canary))
  })
}

const broken: readonly (readonly [string, () => string])[] = [
  ['empty text', () => ''],
  ['no YAML', () => '{'],
  ['another kind of document', () => 'kind: Pod'],
  ['two keys of one name', () => 'a: 1\na: 2'],
  ['a server without https', () => kubeconfig({ cluster: { server: 'http://k8s.example.com' } })],
  ['a server with a password', () => kubeconfig({ cluster: { server: `https://u:${canary}@k8s.example.com` } })],
  ['a server that is no address', () => kubeconfig({ cluster: { server: canary } })],
  ['a token with a line break', () => kubeconfig({ user: { token: `${canary}\r\nImpersonate-User: root` } })],
  ['a user without credential', () => kubeconfig({ user: {} })],
  ['an authority that is no certificate', () => kubeconfig({ cluster: { 'certificate-authority-data': base64(`-----BEGIN CERTIFICATE-----\n${canary}\n-----END CERTIFICATE-----`) } })],
  ['an authority that is not base64', () => kubeconfig({ cluster: { 'certificate-authority-data': `!${canary}` } })],
  ['a context that leads nowhere', () => kubeconfig({ context: { user: canary } })],
  ['more than 256 KiB', () => `${kubeconfig()}\n# ${'x'.repeat(256 * 1024)}`],
  ['a server of more slashes than a pattern could bear', () => kubeconfig({ cluster: { server: `https://k8s.example.com${'/'.repeat(100_000)}x` } })],
  ['a server longer than its column', () => kubeconfig({ cluster: { server: `https://k8s.example.com/${'x'.repeat(500)}` } })],
  ['a server that encoding makes longer than its column', () => kubeconfig({ cluster: { server: `https://k8s.example.com/${'é'.repeat(300)}` } })],
  ['aliases that multiply', () => `a: &a [${'x,'.repeat(50)}]\nb: &b [${'*a,'.repeat(50)}]\nc: &c [${'*b,'.repeat(50)}]\nd: [${'*c,'.repeat(50)}]\n${kubeconfig()}`],
]
for (const [what, text] of broken) {
  test(`refused: ${what}`, (t) => {
    t.false(refusal(text()).includes(canary))
  })
}

test('a map of as many keys as fit is no kubeconfig', (t) => {
  t.regex(refusal(`{${Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join(',')}}`), /not a kubeconfig/)
})

test('a client key that would take a second to sign with is refused', async (t) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = privateKey.export({ format: 'jwk' })
  const wide = Buffer.from(`01${'00'.repeat(2000)}01`, 'hex').toString('base64url')
  const huge = createPrivateKey({ key: { ...jwk, n: wide } as JsonWebKey, format: 'jwk' }).export({ format: 'pem', type: 'pkcs1' }) as string
  const pair = { 'client-certificate-data': base64(pem.certificatePem), 'client-key-data': base64(huge) }
  t.regex(refusal(kubeconfig({ user: pair })), /larger key/)
})

test('a stored credential reads back as it was', (t) => {
  const pair = { 'client-certificate-data': base64(pem.certificatePem), 'client-key-data': base64(pem.keyPem) }
  for (const text of [kubeconfig(), kubeconfig({ user: pair, cluster: { 'tls-server-name': 'inner.example', 'certificate-authority-data': '' } })]) {
    const parsed = parse(text)
    if (isLeft(parsed)) return t.fail(parsed.left.message)
    const stored = jsonCredentialCodec.encode(parsed.right)
    t.is(jsonCredentialCodec.encode(jsonCredentialCodec.decode(stored)).reveal(), stored.reveal())
  }
})
