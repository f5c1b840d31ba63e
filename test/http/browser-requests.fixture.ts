import 'reflect-metadata'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { left, right } from 'fp-ts/lib/Either.js'
import type { TlsIdentity } from '../../adapters/security/tls-identity.ts'
import { openSelfSignedIdentity } from '../../adapters/security/tls-identity.ts'
import type { ApiServerDeps } from '../../composition/runtime/http/api-server.ts'
import { NotAuthenticated } from '../../core/identity/ports.ts'
import { secret } from '../../core/kernel/secret.ts'
import { stubRoutes } from './stub-routes.ts'
import type { StubServer } from './stub-server.ts'
import { principal, startStubServer } from './stub-server.ts'

export const rememberValue = `${'s'.repeat(22)}.${'x'.repeat(43)}`
export const goneValue = `${'g'.repeat(22)}.${'x'.repeat(43)}`

/** Knows one remember cookie, and counts how often it was asked. */
export const makeResumption = () => {
  const asked: string[] = []
  const resumption: ApiServerDeps['resumption'] = {
    async resume(_call, value) {
      asked.push(value.reveal())
      if (value.reveal() !== rememberValue) return left(NotAuthenticated('There is no such login.'))
      const next = { value: secret(rememberValue.replace('x', 'y')), validSeconds: 60 }
      return right({
        principal: { ...principal, method: 'session' },
        sessionKey: secret('session-key'),
        remembered: next,
        busPass: secret('bus'),
      })
    },
    userOf: async () => undefined,
  }
  return { asked, resumption }
}

export let server: StubServer
export let asked: string[]
let folder: string
export let tls: TlsIdentity
test.before(async () => {
  const made = makeResumption()
  folder = await mkdtemp(join(tmpdir(), 'moorage-cookies-'))
  tls = await openSelfSignedIdentity(folder, ['127.0.0.1'])
  asked = made.asked
  server = await startStubServer(stubRoutes, { resumption: made.resumption, tls })
})
test.after.always(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

export const session = 'moorage_session=session-key'
export const remember = `moorage_session_remember=${rememberValue}`
export const csrf = { 'x-csrf-token': 'csrf-of-session-key' }
export const get = (server: StubServer, headers: Record<string, string>, path = '/things/1', method = 'GET') =>
  fetch(`${server.baseUrl}/api/v1${path}`, { method, headers })
export const post = (server: StubServer, headers: Record<string, string>) =>
  fetch(`${server.baseUrl}/api/v1/count`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: '{"name":"x"}',
  })
