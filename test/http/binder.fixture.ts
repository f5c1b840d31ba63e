import test from 'ava'
import { stubRoutes } from './stub-routes.ts'
import type { StubServer } from './stub-server.ts'
import { startStubServer } from './stub-server.ts'

export let server: StubServer
test.before(async () => {
  server = await startStubServer(stubRoutes)
})
test.after.always(() => server.stop())

export const auth = { authorization: 'token good' }
export const jsonHeaders = { ...auth, 'content-type': 'application/json' }
export const send = (server: StubServer, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${server.baseUrl}/api/v1${path}`, { headers: auth, redirect: 'manual', ...init })
export const bodyOf = async (reply: Response): Promise<Record<string, unknown>> =>
  (await reply.json()) as Record<string, unknown>
