import type { IncomingMessage, ServerResponse } from 'node:http'
import test from 'ava'
import { expectStatus, importCluster, makePeople, type Person } from '../clusters/cluster-fixture.ts'
import { hubFailures, json, notServed, refusal, secretParts, type HubAnswer } from '../clusters/hub-failure-table.ts'
import { modelOf } from '../featuresets/features-fixture.ts'
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

const group = '/apis/cluster.open-cluster-management.io'
const bindings = `${group}/v1beta2/managedclustersetbindings`
const inDefault = `${group}/v1beta2/namespaces/default/managedclustersetbindings`
const sets = `${group}/v1beta2/managedclustersets`
const clusters = `${group}/v1/managedclusters`
const ui = '/apis/ui.k8s.appscode.com/v1alpha1'
const profiles = '/apis/profile.k8s.appscode.com/v1alpha1'
const namespaces = '/api/v1/namespaces'

/** Serves a list in pages as kube-apiserver does, with the place in `continue`. */
const pages =
  (names: readonly string[], expire: () => boolean = () => false) =>
  (req: IncomingMessage, res: ServerResponse): void => {
    const { searchParams } = new URL(req.url ?? '', 'https://hub')
    const [from, limit] = [Number(searchParams.get('continue') ?? 0), Number(searchParams.get('limit'))]
    if (from > 0 && expire()) return json(410, refusal(410, 'Expired'))(req, res)
    const end = from + limit
    const items = names.slice(from, end).map((name) => ({ metadata: { name, uid: name } }))
    return json(200, { kind: 'List', metadata: end < names.length ? { continue: String(end) } : {}, items })(req, res)
  }

/** The routes of the part, below the path of a hub. Each write of a change reaches the hub that `hub` makes. */
interface PartRoute {
  readonly route: string
  readonly body?: object
  /** The answer when the hub says that the object was changed in the meantime, if it is not 409. */
  readonly onConflict?: number
  /** The change is of several objects, and the answer lists those that were refused. */
  readonly isOfMany?: boolean
  /** The part feature sets has tests of its own for bad bodies and for numbers of requests. */
  readonly isOfFeatures?: boolean
}
const ofNamespace = { clusterSet: 'global', namespace: 'default' }
const routes: readonly PartRoute[] = [
  { route: 'GET bound-namespaces' },
  { route: 'POST bound-namespaces/bind', body: ofNamespace },
  // The binding was replaced by another one, which is not to be deleted.
  { route: 'POST bound-namespaces/unbind', body: ofNamespace, onConflict: 200 },
  { route: 'GET clustersets' },
  { route: 'GET available-clustersets' },
  { route: 'GET available-clustersets?type=client-org' },
  { route: 'GET clustersets/edge/clusters' },
  { route: 'GET clustersets/edge/clusterlist' },
  { route: 'GET clustersets/edge/auth-info' },
  { route: 'POST clustersets/create', body: { clusterSet: 'fresh' } },
  { route: 'POST clustersets/delete', body: { clusterSet: 'idle' }, onConflict: 200 },
  { route: 'POST clustersets/add', body: { clusterSet: 'edge', clusters: ['quay'] }, isOfMany: true },
  { route: 'POST clustersets/remove', body: { clusterSet: 'edge', clusters: ['wharf'] }, isOfMany: true },
  ...[
    'featuresets',
    'sync-status/all-features',
    'sync-status/suite-features-version',
    'sync-status/backup',
    'auto-update/check',
  ].map((read) => ({ route: `GET clustersets/edge/${read}`, isOfFeatures: true })),
  {
    route: 'POST clustersets/edge/install-featureset',
    body: modelOf('backups', { backup: { size: 1 } }),
    isOfFeatures: true,
  },
  {
    route: 'POST clustersets/edge/disable-featureset',
    body: { clusterSet: 'edge', featureSet: 'backups' },
    isOfFeatures: true,
  },
  {
    route: 'POST clustersets/edge/wharf/update-featureset',
    body: modelOf('backups', { backup: { size: 1 } }),
    isOfFeatures: true,
  },
  { route: 'POST clustersets/edge/auto-update', isOfFeatures: true },
]
const changes = routes.filter(({ route }) => route.startsWith('POST '))

const named = (name: string, more: object = {}, labels: object = {}): object => ({
  metadata: { name, uid: name, resourceVersion: '1', labels },
  ...more,
})
const binding = {
  ...named('global', { spec: { clusterSet: 'global' } }),
  metadata: { name: 'global', namespace: 'default', uid: 'b', resourceVersion: '1' },
}
const wharf = named(
  'wharf',
  { status: { conditions: [{ type: 'ManagedClusterConditionAvailable', status: 'True' }] } },
  { 'cluster.open-cluster-management.io/clusterset': 'edge' },
)
const backup = named('backup', { spec: { featureSet: 'backups', chart: { name: 'backup' } } })
const suite = named('opscenter-features', { spec: { featureSet: 'core', chart: { name: 'suite', version: '2' } } })
const ofWharf = {
  metadata: { name: 'wharf', namespace: 'wharf', uid: 'w', resourceVersion: '1' },
  spec: { opscenterFeaturesVersion: '2' },
  status: { observedOpscenterFeaturesVersion: '2' },
}
/** What the hub has, by path: the elements of a list, or an object. */
const content: Readonly<Record<string, object>> = {
  [namespaces]: [],
  [`${namespaces}/default`]: named('default'),
  [bindings]: [],
  [inDefault]: [binding],
  [sets]: [named('edge'), named('idle')],
  ...Object.fromEntries(['global', 'edge', 'idle'].map((name) => [`${sets}/${name}`, named(name)])),
  [clusters]: [wharf],
  [`${clusters}/wharf`]: wharf,
  [`${clusters}/quay`]: named('quay'),
  [`${ui}/featuresets`]: [named('backups')],
  [`${ui}/features`]: [backup, suite],
  [`${ui}/features/backup`]: backup,
  [`${ui}/features/opscenter-features`]: suite,
  [`${profiles}/managedclustersetprofiles/edge`]: named('edge', {
    spec: {
      features: {
        backup: { featureSet: 'backups' },
        'opscenter-features': { featureSet: 'core', chart: { version: '1' } },
      },
    },
  }),
  [`${profiles}/managedclusterprofilebindings`]: [ofWharf],
  [`${profiles}/namespaces/wharf/managedclusterprofilebindings/wharf`]: ofWharf,
  '/apis/work.open-cluster-management.io/v1/manifestworks': [],
  '/apis/helm.toolkit.fluxcd.io/v2/helmreleases': [],
}
interface Fixture {
  readonly fake: FakeKubernetes
  readonly list: () => Promise<ServiceAnswer>
  readonly change: (verb: string, body?: unknown) => Promise<ServiceAnswer>
  readonly path: string
  readonly ask: (route: PartRoute) => Promise<ServiceAnswer>
  /** Answers everything that is about objects of the hub. */
  readonly answerAll: (handler: HubAnswer) => void
  /** Answers each change of an object, and reads as before. */
  readonly answerChanges: (handler: HubAnswer) => void
}
let made = 0
/** A hub with little in it, imported. */
const hub = async (t: { teardown(end: () => unknown): void }): Promise<Fixture> => {
  const fake = await startFakeKubernetes()
  t.teardown(() => fake.stop())
  const name = `hub-${(made += 1)}`
  await expectStatus(importCluster(service.send, owner.token, owner.login, name, fake.kubeconfig()), 200)
  const answerAll = (handler: HubAnswer): void => {
    for (const prefix of [namespaces, `${group}/`, ui, profiles, '/apis/work.', '/apis/helm.']) fake.on(prefix, handler)
  }
  const read: HubAnswer = (req, res) => {
    // The only cluster is in the set edge.
    const found = req.url?.includes('clusterset%3Didle') === true ? [] : content[(req.url ?? '').split('?')[0] ?? '']
    if (found === undefined)
      return req.url?.startsWith(`${sets}/`) === true
        ? json(404, refusal(404, 'NotFound'))(req, res)
        : notServed(req, res)
    return json(200, Array.isArray(found) ? { kind: 'List', metadata: {}, items: found } : found)(req, res)
  }
  answerAll(read)
  const below = `/api/v1/clusters/${owner.login}/${name}`
  const path = `${below}/bound-namespaces`
  return {
    fake,
    path,
    answerAll,
    answerChanges: (handler) => answerAll((req, res) => (req.method === 'GET' ? read(req, res) : handler(req, res))),
    ask: ({ route, body }) => {
      const [method = '', rest = ''] = route.split(' ')
      return service.send(method, `${below}/${rest}`, { token: owner.token, ...(body === undefined ? {} : { body }) })
    },
    list: () => service.send('GET', path, { token: owner.token }),
    change: (verb, body = ofNamespace) => service.send('POST', `${path}/${verb}`, { token: owner.token, body }),
  }
}

test('a list of several pages is whole, also if the place after a page expires', async (t) => {
  const { fake, list } = await hub(t)
  const names = Array.from({ length: 2203 }, (_, index) => `ns-${index}`)
  fake.on(namespaces, pages(names))
  t.deepEqual(Object.keys((await expectStatus(list(), 200)).json), names)
  t.is(fake.seen.filter(({ url }) => url.startsWith(`${namespaces}?limit=1000`)).length, 3)
  let expiries = 1
  fake.on(
    namespaces,
    pages(names, () => expiries-- > 0),
  )
  t.deepEqual(Object.keys((await expectStatus(list(), 200)).json), names)
})

test('a hub whose list does not end is given up', async (t) => {
  const { fake, list } = await hub(t)
  fake.on(bindings, json(200, { metadata: { continue: 'more' }, items: [] }))
  const answer = await list()
  t.is(answer.status, 500)
  t.regex(answer.json.message, /more managedclustersetbindings than can be listed/)
})

for (const [what, answer, status, code] of hubFailures) {
  test(`a hub that ${what}, for every route: ${status} ${code}`, async (t) => {
    const { ask, answerAll } = await hub(t)
    answerAll(answer)
    for (const route of routes) {
      const got = await ask(route)
      t.deepEqual([got.status, got.json.code], [status, code], `${route.route}: ${got.text}`)
      t.notRegex(got.text, secretParts, route.route)
    }
  })
}

const denied =
  'admission webhook "managedclustervalidators.admission.cluster.open-cluster-management.io" denied the request: '
const ocmDenial = {
  ...refusal(
    403,
    'Forbidden',
    `${denied}managedclustersets/join.cluster.open-cluster-management.io "edge" is forbidden: user "system:serviceaccount:vault:secret" cannot add/remove a ManagedCluster to/from ManagedClusterSet "edge"`,
  ),
  details: { name: 'edge', group: 'cluster.open-cluster-management.io', kind: 'managedclustersets/join' },
}
/** What a hub may answer to a change, after reads that succeeded. `message`: what the caller is shown of it. */
const refusals: Readonly<
  Record<
    string,
    {
      readonly answer: object & { readonly code?: number }
      readonly status: number
      readonly code: string
      readonly message: RegExp
    }
  >
> = {
  'finds the object invalid': {
    answer: refusal(422, 'Invalid', 'spec is odd: Bearer abc.def and eyJhbGciOi.eyJzdWIi.c2ln'),
    status: 422,
    code: 'HubRefused',
    message: /spec is odd: \*\*\* and \*\*\*/,
  },
  'denies the change by a policy': {
    answer: refusal(403, 'Forbidden', `${denied}label berth is required`),
    status: 422,
    code: 'HubRefused',
    message: /label berth is required/,
  },
  'denies the change with 400': {
    answer: refusal(400, 'BadRequest', `${denied}url "http://x" is invalid`),
    status: 422,
    code: 'HubRefused',
    message: /url "http:\/\/x" is invalid/,
  },
  'finds a right of OCM missing': {
    answer: ocmDenial,
    status: 500,
    code: 'CredentialRefused',
    message: /the stored credential .* It needs the right on managedclustersets\/join edge\./,
  },
  'does not let the credential write': {
    answer: refusal(403, 'Forbidden', 'User "system:serviceaccount:vault:secret" cannot patch'),
    status: 500,
    code: 'CredentialRefused',
    message: /stored credential/,
  },
  'fails to write': {
    answer: refusal(500, 'InternalError', 'etcdserver: request timed out'),
    status: 500,
    code: 'ClusterUnreachable',
    message: /answered 500/,
  },
  'has a webhook that does not answer': {
    answer: refusal(
      500,
      'InternalError',
      'Internal error occurred: failed calling webhook "managedclustervalidators": connection refused, Bearer abc.def',
    ),
    status: 500,
    code: 'ClusterUnreachable',
    message: /answered 500 to .*failed calling webhook "managedclustervalidators": connection refused/,
  },
}
for (const [what, { answer, status, code, message }] of Object.entries(refusals)) {
  test(`a hub that ${what}, for every change: ${status}`, async (t) => {
    const { ask, answerChanges } = await hub(t)
    answerChanges(json(answer.code ?? 0, answer))
    for (const route of changes) {
      const answered = await ask(route)
      t.deepEqual(
        [answered.status, answered.json.code],
        [status, code === 'HubRefused' && route.isOfMany === true ? 'ClusterSetRefused' : code],
        `${route.route}: ${answered.text}`,
      )
      t.regex(answered.json.message, message, route.route)
      t.notRegex(answered.text, /serviceaccount/, route.route)
    }
  })
}

test('an object that changes each time is 409, and a replaced one stays', async (t) => {
  const { ask, answerChanges } = await hub(t)
  answerChanges(json(409, refusal(409, 'Conflict')))
  for (const route of changes) {
    const answer = await ask(route)
    t.is(answer.status, route.onConflict ?? 409, `${route.route}: ${answer.text}`)
  }
})

test('an overloaded hub is requested again once after its Retry-After', async (t) => {
  const { fake, list } = await hub(t)
  let refusals = 1
  const overloaded: HubAnswer = (req, res) =>
    (refusals-- > 0 ? json(429, refusal(429, 'TooManyRequests'), { 'retry-after': '0' }) : pages(['one']))(req, res)
  fake.on(namespaces, overloaded)
  t.deepEqual((await expectStatus(list(), 200)).json, { one: [] })
  refusals = 2
  const answer = await list()
  t.is(answer.status, 500)
  t.regex(answer.json.message, /overloaded/)
})

test('a namespace that disappears while it is bound is 422', async (t) => {
  const { answerChanges, change } = await hub(t)
  for (const answer of [
    { ...refusal(403, 'Forbidden'), details: { causes: [{ reason: 'NamespaceTerminating' }] } },
    refusal(404, 'NotFound'),
  ]) {
    answerChanges(json((answer as { code: number }).code, answer))
    t.is((await change('bind')).json.code, 'BindingRefused')
  }
})

test('bad names are 422, and no request reaches the hub', async (t) => {
  const { fake, ask } = await hub(t)
  const seen = fake.seen.length
  for (const bad of ['', 'A', 'a.b', '-a', 'a-', '..', 'a/b', 'a%2fb', 'x'.repeat(64), 7, null, undefined]) {
    for (const route of changes.filter(({ isOfFeatures }) => isOfFeatures !== true)) {
      for (const field of Object.keys(route.body ?? {})) {
        const body = { ...route.body, [field]: field === 'clusters' ? [bad ?? 7] : bad }
        t.is((await ask({ ...route, body })).status, 422, `${route.route} ${field} ${String(bad)}`)
      }
    }
  }
  t.is(fake.seen.length, seen)
})

test('lists take the same number of hub requests for any number of clusters', async (t) => {
  const { fake, ask, answerAll } = await hub(t)
  const many = Array.from({ length: 400 }, (_, index) =>
    named(
      `c${index}`,
      { spec: { hubAcceptsClient: true } },
      { 'cluster.open-cluster-management.io/clusterset': `cp-${index % 50}` },
    ),
  )
  const countOf = async (route: PartRoute, size: number): Promise<number> => {
    answerAll((req, res) => {
      const path = (req.url ?? '').split('?')[0] ?? ''
      const found =
        path === clusters
          ? { metadata: {}, items: many.slice(0, size) }
          : path === sets
            ? { metadata: {}, items: Array.from({ length: Math.min(size, 50) }, (_, index) => named(`cp-${index}`)) }
            : path.startsWith(`${sets}/`)
              ? named('cp-0')
              : undefined
      return (found === undefined ? notServed : json(200, found))(req, res)
    })
    const before = fake.seen.length
    await expectStatus(ask(route), 200)
    return fake.seen.length - before
  }
  for (const route of routes.filter((each) => /^GET .*clustersets/.test(each.route) && each.isOfFeatures !== true)) {
    const few = await countOf(route, 1)
    t.true(few <= 3, route.route)
    t.is(await countOf(route, 400), few, route.route)
  }
})

test('when the client disconnects, the request to the hub ends', async (t) => {
  const { fake, path } = await hub(t)
  const before = fake.openRequests()
  const gone = new AbortController()
  fake.on(bindings, () => undefined)
  const asked = fetch(`${service.baseUrl}${path}`, {
    headers: { authorization: `Bearer ${owner.token}` },
    signal: gone.signal,
  })
  await until('the request at the hub', () => (fake.openRequests() > before ? true : undefined))
  gone.abort()
  await t.throwsAsync(asked)
  await until('the end of the request at the hub', () => (fake.openRequests() === before ? true : undefined))
  t.is(fake.openRequests(), before)
})
