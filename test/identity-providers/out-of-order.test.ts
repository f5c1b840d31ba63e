// process: own - trusts a certificate of its own in the whole process
import 'reflect-metadata'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import test from 'ava'
import { isLeft } from 'fp-ts/lib/Either.js'
import * as jose from 'jose'
import { makeOpenIdConnect } from '../../adapters/identity-providers/openid-connect.ts'
import { makeEgressAllowance, makeUserUrlPolicy, readEgressTarget } from '../../adapters/outbound/egress-policy.ts'
import { makeGuardedFetch } from '../../adapters/outbound/guarded-fetch.ts'
import type { ProviderClient, ProviderId } from '../../core/identity-providers/types.ts'
import { datedCertificate } from '../support/dated-certificate.ts'

const loopback = readEgressTarget('127.0.0.1')
if (loopback === undefined) throw new Error('the loopback address is none')
const guarded = makeGuardedFetch(makeUserUrlPolicy(makeEgressAllowance([loopback])))
const signal = new AbortController().signal

/** The adapter, with a time limit that a test can wait for. */
const openIdConnect = makeOpenIdConnect({
  fetch: (what, of) => guarded({ ...what, timeoutMilliseconds: 300 }, of),
  clock: { now: () => new Date() },
})

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const clientOf = (issuer: string): ProviderClient => ({
  providerId: 1 as ProviderId,
  version: Math.random(),
  issuer,
  clientId: 'moorage',
  secret: undefined,
})

const request = { ...openIdConnect.newSecrets(), redirectUri: 'https://here.test/callback', scopes: ['openid'] }

/** Returns the code of the failure of a sign-in that begins, with its sentence. */
const beginAt = async (issuer: string): Promise<readonly [string, string]> => {
  const begun = await openIdConnect.authorizationUrl(clientOf(issuer), request, signal)
  return isLeft(begun) ? [begun.left.tag, begun.left.message] : ['begun', '']
}

for (const [what, from, until, sentence] of [
  ['has expired', -30, -1, /^The certificate of 127\.0\.0\.1 has expired\.$/],
  ['is not valid yet', 1, 30, /^The certificate of 127\.0\.0\.1 is not valid yet\.$/],
] as const)
  test.serial(`a provider whose certificate ${what} is reported so`, async (t) => {
    const identity = await datedCertificate(from, until)
    const trusted = getCACertificates()
    setDefaultCACertificates([...trusted, identity.certificatePem])
    const server = createTlsServer({ cert: identity.certificatePem, key: identity.keyPem }, (_, res) => res.end())
    t.teardown(() => {
      setDefaultCACertificates(trusted)
      server.close()
    })
    const [code, message] = await beginAt(`https://${await listening(server)}`)
    t.is(code, 'ProviderUnavailable')
    t.regex(message, sentence)
  })

const serving = async (t: { teardown: (run: () => void) => void }, answer: RequestListener): Promise<string> => {
  const server = createServer(answer)
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://${await listening(server)}`
}

test.serial('a provider that hangs is reported so within its time limit', async (t) => {
  const [code, message] = await beginAt(await serving(t, () => undefined))
  t.deepEqual([code, message], ['ProviderUnavailable', '127.0.0.1 did not answer in time.'])
})

test.serial('a provider that begins its answer and hangs is reported so', async (t) => {
  const [code, message] = await beginAt(await serving(t, (_, res) => void res.writeHead(200).write('{')))
  t.deepEqual([code, message], ['ProviderUnavailable', '127.0.0.1 did not answer in time.'])
})

test.serial('a page of the web in place of a provider is reported with what to check', async (t) => {
  const page: RequestListener = (_, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>')
  const [code, message] = await beginAt(await serving(t, page))
  t.is(code, 'ProviderUnavailable')
  t.regex(message, /does not answer as an OpenID Connect provider does\. Check the issuer/)
})

test.serial('a thousand tokens of unknown keys cost one request a minute', async (t) => {
  const { privateKey, publicKey } = await jose.generateKeyPair('ES256')
  const published = { ...(await jose.exportJWK(publicKey)), kid: 'known', alg: 'ES256' }
  const asked = new Map<string, number>()
  const issuer: string = await serving(t, ({ url = '' }, res) => {
    asked.set(url, (asked.get(url) ?? 0) + 1)
    const description = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
    }
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify(url === '/jwks' ? { keys: [published] } : description))
  })
  const client = clientOf(issuer)
  const token = await new jose.SignJWT({ sub: 'someone' })
    .setProtectedHeader({ alg: 'ES256', kid: 'unknown', typ: 'logout+jwt' })
    .sign(privateKey)
  const codes = new Set<string>()
  for (let times = 0; times < 1_000; times += 1) {
    const read = await openIdConnect.readLogoutToken(client, token, signal)
    codes.add(isLeft(read) ? read.left.tag : 'read')
  }
  t.deepEqual([...codes], ['LogoutTokenRefused'])
  t.deepEqual([...asked.values()], [1, 1], 'the description and the keys')
})
