import type { TestFn } from 'ava'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { startFakeKubernetes, type FakeKubernetes } from '../support/fake-kubernetes.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { expectStatus, importCluster, makePeople, type Person } from './cluster-fixture.ts'

/** One route of a hub, and the request to the hub that is answered otherwise. */
export interface HubCall {
  readonly method: string
  /** Below `/clusters/{owner}/{cluster}/`. */
  readonly route: string
  readonly body?: unknown
  /** The beginning of the path of the request. */
  readonly asks: string
}

interface Prepared {
  on(path: string, status: number, body: unknown): void
}

export type HubAnswer = (req: IncomingMessage, res: ServerResponse) => void

export const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): HubAnswer =>
  (_req, res) => {
    res.writeHead(status, { 'content-type': 'application/json', ...headers })
    res.end(JSON.stringify(body))
  }
const plain =
  (status: number, type: string, body: string): HubAnswer =>
  (_req, res) => {
    res.writeHead(status, { 'content-type': type })
    res.end(body)
  }
export const notServed = plain(404, 'text/plain', '404 page not found\n')

const secretText = 'Bearer abc.def of system:serviceaccount:vault:secret and eyJhbGciOi.eyJzdWIi.c2ln'
/** A Status of Kubernetes. Its message has secrets, which no caller may see, unless another one is given. */
export const refusal = (code: number, reason: string, message = secretText) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  reason,
  message,
  code,
})

/** What of that message is a secret. */
export const secretParts = /abc\.def|serviceaccount:vault|eyJ/

/** What a hub may answer instead, and what the caller gets: the table of docs/decisions/hub-calls.md. */
export const hubFailures: readonly (readonly [what: string, answer: HubAnswer, status: number, code: string])[] = [
  ['does not serve the kind', notServed, 400, 'NotAHub'],
  ['refuses the credential', json(401, refusal(401, 'Unauthorized')), 500, 'CredentialRefused'],
  ['denies the request', json(403, refusal(403, 'Forbidden')), 500, 'CredentialRefused'],
  ['is overloaded', json(429, refusal(429, 'TooManyRequests'), { 'retry-after': '0' }), 500, 'ClusterUnreachable'],
  ['fails', json(500, refusal(500, 'InternalError')), 500, 'ClusterUnreachable'],
  ['answers HTML', plain(200, 'text/html', '<html>Sign in</html>'), 500, 'ClusterUnreachable'],
  ['has forgotten the place', json(410, refusal(410, 'Expired')), 500, 'ClusterUnreachable'],
  ['redirects', json(302, {}, { location: 'https://example.com' }), 500, 'ClusterUnreachable'],
  ['answers another object', json(200, { kind: 'List' }), 500, 'ClusterUnreachable'],
  ['closes the connection', (_req, res) => void res.destroy(), 500, 'ClusterUnreachable'],
]

/**
 * Declares the table for the routes of a part: each failure of a hub in each of its requests. `prepare` answers
 * everything else, so that without a failure every call succeeds. No message of the hub reaches the caller with its
 * secrets.
 */
export const testHubFailures = (
  test: TestFn,
  { prepare, calls }: { prepare(fake: Prepared): void; readonly calls: readonly HubCall[] },
): void => {
  let service: TestService
  let owner: Person
  let made = 0
  test.before(async () => {
    service = await startService()
    owner = await makePeople(service).person('owner')
  })
  test.after.always(() => service?.stop())

  const hub = async (): Promise<{
    readonly fake: FakeKubernetes
    readonly url: (call: HubCall) => string
    readonly send: (call: HubCall) => Promise<ServiceAnswer>
  }> => {
    const fake = await startFakeKubernetes()
    const name = `hub-${(made += 1)}`
    await expectStatus(importCluster(service.send, owner.token, owner.login, name, fake.kubeconfig()), 200)
    prepare({ on: (path, status, body) => fake.on(path, json(status, body)) })
    const url = ({ route }: HubCall): string => `/api/v1/clusters/${owner.login}/${name}/${route}`
    return { fake, url, send: (call) => service.send(call.method, url(call), { token: owner.token, body: call.body }) }
  }

  for (const call of calls) {
    test(`${call.route}: a hub whose answer to ${call.asks} is another`, async (t) => {
      const { fake, send, url } = await hub()
      t.teardown(() => fake.stop())
      t.is((await send(call)).status, 200, 'without a failure')
      const gone = new AbortController()
      if (call.method === 'GET') {
        let isAsked = false
        fake.on(call.asks, () => void (isAsked = true))
        const asked = fetch(`${service.baseUrl}${url(call)}`, {
          headers: { authorization: `Bearer ${owner.token}` },
          signal: gone.signal,
        })
        await until('the request at the hub', () => (isAsked ? true : undefined))
        gone.abort()
        await t.throwsAsync(asked)
        await until('the end of the request at the hub', () => (fake.openRequests() === 0 ? true : undefined))
      }
      for (const [what, answer, status, code] of hubFailures) {
        fake.on(call.asks, answer)
        const got = await send(call)
        t.deepEqual([got.status, got.json.code], [status, code], `${what}: ${got.text}`)
        t.notRegex(got.text, secretParts, what)
      }
    })
  }
}
