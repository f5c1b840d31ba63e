import type { IncomingMessage, ServerResponse } from 'node:http'
import test from 'ava'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-world.ts'
import { startFakeKubernetes, type FakeKubernetes } from '../support/fake-kubernetes.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

/** What a hub may answer instead of what was asked for, at the wire. */
let service: TestService
let owner: Person
let people: ReturnType<typeof makePeople>

test.before(async () => {
  service = await startService()
  people = makePeople(service)
  owner = await people.person('owner')
})
test.after.always(() => service?.stop())

const bindings = '/apis/cluster.open-cluster-management.io/v1beta2/managedclustersetbindings'
const inDefault = '/apis/cluster.open-cluster-management.io/v1beta2/namespaces/default/managedclustersetbindings'
const sets = '/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets'
const namespaces = '/api/v1/namespaces'

const json = (res: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void => {
  res.writeHead(status, { 'content-type': 'application/json', ...headers })
  res.end(JSON.stringify(body))
}
const refusal = (code: number, reason: string, message = reason): object => ({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason, message, code })

/** Serves a list in pages as kube-apiserver does, with the place in `continue`. */
const pages = (names: readonly string[], expire: () => boolean = () => false) => (req: IncomingMessage, res: ServerResponse): void => {
  const { searchParams } = new URL(req.url ?? '', 'https://hub')
  const [from, limit] = [Number(searchParams.get('continue') ?? 0), Number(searchParams.get('limit'))]
  if (from > 0 && expire()) return json(res, 410, refusal(410, 'Expired'))
  const end = from + limit
  const items = names.slice(from, end).map((name) => ({ metadata: { name, uid: name } }))
  json(res, 200, { kind: 'List', metadata: end < names.length ? { continue: String(end) } : {}, items })
}

interface World {
  readonly fake: FakeKubernetes
  readonly list: () => Promise<ServiceAnswer>
  readonly change: (verb: string, body?: unknown) => Promise<ServiceAnswer>
  readonly path: string
}
let made = 0
/** A hub without cluster sets, imported. */
const hub = async (t: { teardown(end: () => unknown): void }): Promise<World> => {
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  const name = `hub-${(made += 1)}`
  await expectStatus(importCluster(service.send, owner.token, owner.login, name, fake.kubeconfig()), 200)
  fake.on(namespaces, pages([]))
  for (const prefix of [bindings, inDefault, sets]) fake.on(prefix, pages([]))
  fake.on(`${namespaces}/default`, (_req, res) => json(res, 200, { metadata: { name: 'default', uid: 'd' } }))
  fake.on(`${sets}/global`, (_req, res) => json(res, 200, { metadata: { name: 'global', uid: 'g' } }))
  const path = `/api/v1/clusters/${owner.login}/${name}/bound-namespaces`
  return {
    fake,
    path,
    list: () => service.send('GET', path, { token: owner.token }),
    change: (verb, body = { clusterSet: 'global', namespace: 'default' }) => service.send('POST', `${path}/${verb}`, { token: owner.token, body }),
  }
}

test('a list of several pages is whole, also if the place after a page expires', async (t) => {
  const { fake, list } = await hub(t)
  const names = Array.from({ length: 1203 }, (_, index) => `ns-${index}`)
  fake.on(namespaces, pages(names))
  t.deepEqual(Object.keys((await expectStatus(list(), 200)).json), names)
  t.is(fake.seen.filter(({ url }) => url.startsWith(`${namespaces}?limit=500`)).length, 3)
  let expiries = 1
  fake.on(namespaces, pages(names, () => expiries-- > 0))
  t.deepEqual(Object.keys((await expectStatus(list(), 200)).json), names)
})

test('a hub whose list does not end is given up', async (t) => {
  const { fake, list } = await hub(t)
  fake.on(bindings, (_req, res) => json(res, 200, { metadata: { continue: 'more' }, items: [] }))
  const answer = await list()
  t.is(answer.status, 500)
  t.regex(answer.json.message, /more managedclustersetbindings than can be listed/)
})

test('a cluster that is not a hub is 400', async (t) => {
  const { fake, list, change } = await hub(t)
  const absent = (_req: IncomingMessage, res: ServerResponse): void => {
    res.writeHead(404, { 'content-type': 'text/plain' })
    res.end('404 page not found\n')
  }
  for (const prefix of [bindings, inDefault, sets]) fake.on(prefix, absent)
  for (const answer of [await list(), await change('bind'), await change('unbind')]) {
    t.is(answer.status, 400)
    t.is(answer.json.code, 'NotAHub')
  }
})

test('a refused credential is 500, never the 401 or 403 of the caller', async (t) => {
  const { fake, list, change } = await hub(t)
  for (const prefix of [bindings, inDefault, sets]) fake.on(prefix, (_req, res) => json(res, 403, refusal(403, 'Forbidden', 'User "system:serviceaccount:vault:secret" cannot do that')))
  for (const answer of [await list(), await change('bind'), await change('unbind')]) {
    t.is(answer.status, 500)
    t.is(answer.json.code, 'CredentialRefused')
    t.false(answer.text.includes('serviceaccount'))
  }
  fake.acceptsToken = false
  for (const answer of [await list(), await change('bind'), await change('unbind')]) {
    t.is(answer.status, 500)
    t.is(answer.json.code, 'CredentialRefused')
  }
})

test('a hub that cannot be reached, fails or answers something else is 500', async (t) => {
  const { fake, list, change } = await hub(t)
  for (const [status, body] of [[500, refusal(500, 'InternalError')], [200, 'hello'], [200, {}]] as const) {
    fake.on(bindings, (_req, res) => json(res, status, body))
    const answer = await list()
    t.is(answer.status, 500)
    t.is(answer.json.code, 'ClusterUnreachable')
  }
  await fake.stop()
  for (const answer of [await list(), await change('bind'), await change('unbind')]) {
    t.is(answer.status, 500)
    t.is(answer.json.code, 'ClusterUnreachable')
  }
})

test('an overloaded hub is asked again once, after the time that it names', async (t) => {
  const { fake, list } = await hub(t)
  let refusals = 1
  const overloaded = (_req: IncomingMessage, res: ServerResponse): void =>
    refusals-- > 0 ? json(res, 429, refusal(429, 'TooManyRequests'), { 'retry-after': '0' }) : pages(['one'])(_req, res)
  fake.on(namespaces, overloaded)
  t.deepEqual((await expectStatus(list(), 200)).json, { one: [] })
  refusals = 2
  const answer = await list()
  t.is(answer.status, 500)
  t.regex(answer.json.message, /overloaded/)
})

test('a message of the hub reaches the caller without secrets; a namespace that disappears is 422', async (t) => {
  const { fake, change } = await hub(t)
  const post = (status: number, body: object): void => fake.on(inDefault, (_req, res) => json(res, status, body))
  post(422, refusal(422, 'Invalid', 'clusterSet is odd: Bearer abc.def and eyJhbGciOi.eyJzdWIi.c2ln'))
  const invalid = await change('bind')
  t.is(invalid.status, 422)
  t.is(invalid.json.message, 'clusterSet is odd: *** and ***')
  post(403, { ...refusal(403, 'Forbidden'), details: { causes: [{ reason: 'NamespaceTerminating' }] } })
  t.is((await change('bind')).json.code, 'BindingRefused')
  post(404, refusal(404, 'NotFound'))
  t.is((await change('bind')).json.code, 'BindingRefused')
  post(409, refusal(409, 'Conflict'))
  t.is((await change('bind')).status, 409)
})

test('bad names are 422, and no request reaches the hub', async (t) => {
  const { fake, change } = await hub(t)
  const seen = fake.seen.length
  for (const bad of ['', 'A', 'a.b', '-a', 'a-', '..', 'a/b', 'a%2fb', 'x'.repeat(64), 7, null, undefined]) {
    for (const verb of ['bind', 'unbind']) {
      t.is((await change(verb, { clusterSet: bad, namespace: 'default' })).status, 422, String(bad))
      t.is((await change(verb, { clusterSet: 'global', namespace: bad })).status, 422, String(bad))
    }
  }
  t.is(fake.seen.length, seen)
})

test('when the client disconnects, the request to the hub ends', async (t) => {
  const { fake, path } = await hub(t)
  const before = fake.openRequests()
  const gone = new AbortController()
  fake.on(bindings, () => undefined)
  const asked = fetch(`${service.baseUrl}${path}`, { headers: { authorization: `Bearer ${owner.token}` }, signal: gone.signal })
  await until('the request at the hub', () => (fake.openRequests() > before ? true : undefined))
  gone.abort()
  await t.throwsAsync(asked)
  await until('the end of the request at the hub', () => (fake.openRequests() === before ? true : undefined))
  t.is(fake.openRequests(), before)
})
