// process: waiting - uses components
import { randomBytes } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubEdit, HubKind } from '../../../core/clusters/hubs/ports.ts'
import {
  clusterSetBindingKind,
  clusterSetKind,
  HubRefused,
  managedClusterKind,
} from '../../../core/clusters/hubs/ports.ts'
import { at, listAt, textAt } from '../../../core/kernel/json.ts'
import { kubernetes } from '../../support/components/available.ts'
import type { ControlPlaneAccess } from '../../support/components/control-plane-access.ts'
import { needing } from '../../support/components/needing.ts'
import { makeSigningRequest } from '../../support/hub/agent/client-certificate-request.ts'
import { installHubCrds } from '../../support/hub/install-hub-crds.ts'
import { tagOf, unwrap } from '../../support/outcome.ts'
import { startService, type TestService } from '../../support/service.ts'
import { expectStatus, importCluster, makePeople } from '../cluster-fixture.ts'
import { disturbedHub, type Disturbance } from '../disturbed-hub.ts'

/** The port to a hub on a real kube-apiserver: what the server does with the requests that the port makes. */
const test = needing('kubernetes')

const configMapKind: HubKind = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const accountKind: HubKind = { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' }
const requestKind: HubKind = {
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  plural: 'certificatesigningrequests',
}

let server: ControlPlaneAccess
let service: TestService
let hub: Hub
let disturbed: (before: Disturbance) => ReturnType<typeof disturbedHub>
let namespace: string

test.before(async () => {
  server = (await kubernetes())!
  await installHubCrds(server)
  service = await startService()
  const owner = await makePeople(service).person('owner')
  const { json } = await expectStatus(
    importCluster(service.send, owner.token, owner.login, 'hub', server.kubeconfig()),
    200,
  )
  disturbed = (before) => disturbedHub(service, json.id, before)
  hub = (await disturbed(async () => {})).hub
  namespace = await server.createNamespace()
})
test.after.always(() => service?.stop())

const unique = (): string => `port-${randomBytes(6).toString('hex')}`
const must = async (
  method: string,
  path: string,
  body?: unknown,
  contentType = 'application/json',
): Promise<unknown> => {
  const answer = await server.request(method, path, body, { contentType })
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
  return answer.body
}
const mergePatch = 'application/merge-patch+json'
const setPath = (name: string): string => `/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets/${name}`
const configMapPath = (name: string): string => `/api/v1/namespaces/${namespace}/configmaps/${name}`
const clusterSet = async (): Promise<string> => {
  const name = unique()
  unwrap(await hub.create(clusterSetKind, { name }, { metadata: { labels: { port: 'north' } } }))
  return name
}
const labelsOf = async (path: string): Promise<unknown> => at(await must('GET', path), 'metadata', 'labels')

const edits: Readonly<Record<string, (berth: string) => HubEdit>> = {
  'a merge patch': (berth) => ({ merge: { metadata: { labels: { berth } } } }),
  'a JSON Patch': (value) => ({ operations: [{ op: 'add', path: '/metadata/labels/berth', value }] }),
}
for (const [how, edit] of Object.entries(edits)) {
  test(`${how} applies only to the judged version and is judged again after a change`, async (t) => {
    const name = await clusterSet()
    let changes = 2
    const raced = await disturbed(async ({ method }) => {
      if (method === 'PATCH' && changes-- > 0)
        await must('PATCH', setPath(name), { metadata: { labels: { draught: String(changes) } } }, mergePatch)
    })
    const seen: string[] = []
    const edited = await raced.hub.edit(clusterSetKind, { name }, (object) => {
      seen.push(textAt(object.body, 'metadata', 'labels', 'draught'))
      return right(edit(`for-${seen.at(-1)}`))
    })
    t.is(unwrap(edited), 'changed')
    t.deepEqual(seen, ['', '1', '0'])
    t.is(raced.waits(), 2)
    t.deepEqual(await labelsOf(setPath(name)), { port: 'north', draught: '0', berth: 'for-0' })
  })

  test(`${how} of an object that changes each time stops after five attempts`, async (t) => {
    const name = await clusterSet()
    let patches = 0
    const raced = await disturbed(async ({ method }) => {
      if (method === 'PATCH')
        await must('PATCH', setPath(name), { metadata: { labels: { draught: String((patches += 1)) } } }, mergePatch)
    })
    t.is(tagOf(await raced.hub.edit(clusterSetKind, { name }, () => right(edit('taken')))), 'HubConflict')
    t.is(patches, 5)
    t.deepEqual(await labelsOf(setPath(name)), { port: 'north', draught: '5' })
  })

  test(`${how} of a recreated object is judged on the new one`, async (t) => {
    const name = await clusterSet()
    const before = unwrap(await hub.get(clusterSetKind, { name }))
    let isReplaced = false
    const raced = await disturbed(async ({ method }) => {
      if (method !== 'PATCH' || isReplaced) return
      isReplaced = true
      await must('DELETE', setPath(name))
      unwrap(await hub.create(clusterSetKind, { name }, { metadata: { labels: { port: 'south' } } }))
    })
    const uids: string[] = []
    t.is(
      unwrap(await raced.hub.edit(clusterSetKind, { name }, (object) => (uids.push(object.uid), right(edit('b'))))),
      'changed',
    )
    t.is(uids[0], before?.uid)
    t.is(new Set(uids).size, 2)
    t.deepEqual(await labelsOf(setPath(name)), { port: 'south', berth: 'b' })
  })

  test(`${how} of an object that is deleted in between finds it missing`, async (t) => {
    const name = await clusterSet()
    const raced = await disturbed(async ({ method }) =>
      method === 'PATCH' ? void (await server.request('DELETE', setPath(name))) : undefined,
    )
    t.is(unwrap(await raced.hub.edit(clusterSetKind, { name }, () => right(edit('b')))), 'missing')
  })
}

test('a refused, empty or unfounded edit sends no change', async (t) => {
  const name = await clusterSet()
  const methods: string[] = []
  const watched = await disturbed(async ({ method }) => void methods.push(method))
  t.is(tagOf(await watched.hub.edit(clusterSetKind, { name }, () => left(HubRefused('no')))), 'HubRefused')
  t.is(unwrap(await watched.hub.edit(clusterSetKind, { name }, () => right(undefined))), 'unchanged')
  t.is(unwrap(await watched.hub.edit(clusterSetKind, { name: unique() }, () => right({ merge: {} }))), 'missing')
  t.deepEqual(methods, ['GET', 'GET', 'GET'])
})

test('a JSON Patch replaces a whole map, where a merge patch would keep its other keys', async (t) => {
  const name = unique()
  unwrap(await hub.create(configMapKind, { namespace, name }, { data: { a: '1', b: '2' } }))
  unwrap(
    await hub.edit(configMapKind, { namespace, name }, () =>
      right({ operations: [{ op: 'replace', path: '/data', value: { c: '3' } }] }),
    ),
  )
  t.deepEqual(at(await must('GET', configMapPath(name)), 'data'), { c: '3' })
  unwrap(await hub.edit(configMapKind, { namespace, name }, () => right({ merge: { data: { c: null, d: '4' } } })))
  t.deepEqual(at(await must('GET', configMapPath(name)), 'data'), { d: '4' })
})

test('a JSON Patch with a failed test or an absent value changes nothing', async (t) => {
  const name = await clusterSet()
  const failing = [
    { op: 'test', path: '/metadata/labels/port', value: 'south' },
    { op: 'remove', path: '/metadata/labels/absent' },
  ] as const
  for (const operation of failing) {
    const edited = await hub.edit(clusterSetKind, { name }, () =>
      right({ operations: [{ op: 'add', path: '/metadata/labels/berth', value: 'b' }, operation] }),
    )
    t.is(tagOf(edited), 'HubRefused', operation.op)
  }
  t.deepEqual(await labelsOf(setPath(name)), { port: 'north' })
})

test('an invalid object is refused with the message of the server', async (t) => {
  const name = await clusterSet()
  const edited = await hub.edit(clusterSetKind, { name }, () =>
    right({ merge: { spec: { clusterSelector: { selectorType: 'Tide' } } } }),
  )
  t.is(tagOf(edited), 'HubRefused')
  t.regex('left' in edited ? edited.left.message : '', /Unsupported value: "Tide"/)
})

test('apply creates an object and changes only the fields of this service', async (t) => {
  const key = { namespace, name: unique() }
  t.like(unwrap(await hub.apply(configMapKind, key, { data: { ours: '1', dropped: '1' } })), {
    name: key.name,
    namespace,
  })
  await must('PATCH', configMapPath(key.name), { data: { theirs: '1' } }, mergePatch)
  unwrap(await hub.apply(configMapKind, key, { data: { ours: '2' } }))
  const body = await must('GET', configMapPath(key.name))
  t.deepEqual(at(body, 'data'), { ours: '2', theirs: '1' })
  t.true(
    listAt(body, 'metadata', 'managedFields').some(
      (each) => textAt(each, 'manager') === 'moorage' && textAt(each, 'operation') === 'Apply',
    ),
  )
})

test("apply of another manager's field is a conflict and changes nothing", async (t) => {
  const key = { namespace, name: unique() }
  const theirs = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace, name: key.name },
    data: { berth: 'theirs' },
  }
  await must('PATCH', `${configMapPath(key.name)}?fieldManager=another`, theirs, 'application/apply-patch+yaml')
  t.is(tagOf(await hub.apply(configMapKind, key, { data: { berth: 'ours', other: '1' } })), 'HubConflict')
  t.deepEqual(at(await must('GET', configMapPath(key.name)), 'data'), { berth: 'theirs' })
  t.is(unwrap(await hub.apply(configMapKind, { namespace: unique(), name: 'a' }, { data: {} })), undefined)
})

test('createWithin issues a token of an existing service account only', async (t) => {
  const key = { namespace, name: unique() }
  unwrap(await hub.create(accountKind, key, {}))
  const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } }
  const made = unwrap(await hub.createWithin(accountKind, key, 'token', asked))
  const [, claims = ''] = textAt(made, 'status', 'token').split('.')
  const decoded: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString())
  t.is(textAt(decoded, 'sub'), `system:serviceaccount:${namespace}:${key.name}`)
  t.is(unwrap(await hub.createWithin(accountKind, { namespace, name: unique() }, 'token', asked)), undefined)
  t.is(
    tagOf(await hub.createWithin(accountKind, key, 'token', { ...asked, spec: { expirationSeconds: 1 } })),
    'HubRefused',
  )
})

test('replaceWithin approves the request that was read, and no newer version of it', async (t) => {
  const { object } = await makeSigningRequest(unique(), 'agent')
  const { name } = object.metadata
  await must('POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests', object)
  const approved = { conditions: [{ type: 'Approved', status: 'True', reason: 'Test', message: 'Test' }] }
  const stale = unwrap(await hub.get(requestKind, { name }))!
  await must(
    'PATCH',
    `/apis/certificates.k8s.io/v1/certificatesigningrequests/${name}`,
    { metadata: { labels: { at: unique() } } },
    mergePatch,
  )
  t.is(
    tagOf(await hub.replaceWithin(requestKind, stale, 'approval', { ...stale.body, status: approved })),
    'HubConflict',
  )
  const fresh = unwrap(await hub.get(requestKind, { name }))!
  t.deepEqual(listAt(fresh.body, 'status', 'conditions'), [])
  const replaced = unwrap(await hub.replaceWithin(requestKind, fresh, 'approval', { ...fresh.body, status: approved }))
  t.deepEqual(
    listAt(replaced?.body, 'status', 'conditions').map((each) => textAt(each, 'type')),
    ['Approved'],
  )
  await must('DELETE', `/apis/certificates.k8s.io/v1/certificatesigningrequests/${name}`)
  t.is(unwrap(await hub.replaceWithin(requestKind, fresh, 'approval', { ...fresh.body, status: approved })), undefined)
})

test('a list applies its selectors over pages, in one namespace or in all', async (t) => {
  const [here, there] = [await server.createNamespace(), await server.createNamespace()]
  const set = unique()
  for (const [place, name] of [
    [here, set],
    [here, 'other'],
    [there, set],
  ] as const)
    unwrap(
      await hub.create(
        clusterSetBindingKind,
        { namespace: place, name },
        { metadata: { labels: { set } }, spec: { clusterSet: name } },
      ),
    )
  const namesOf = async (selection: Parameters<Hub['list']>[1]) =>
    unwrap(await hub.list(clusterSetBindingKind, selection))
      .map((each) => `${each.namespace}/${each.name}`)
      .sort()
  t.deepEqual(await namesOf({ fieldSelector: `metadata.name=${set}` }), [`${here}/${set}`, `${there}/${set}`].sort())
  t.deepEqual(await namesOf({ namespace: here }), [`${here}/${set}`, `${here}/other`].sort())
  t.deepEqual(
    await namesOf({ namespace: here, labelSelector: `set in (${set}),set`, fieldSelector: 'metadata.name=other' }),
    [`${here}/other`],
  )
  t.deepEqual(await namesOf({ labelSelector: `set=${set},set!=${set}` }), [])
})

test('a kind that the server does not serve is reported for each request', async (t) => {
  const kind: HubKind = { ...managedClusterKind, plural: 'lighthouses' }
  const unserved = { ...kind, apiVersion: 'lights.example.com/v1' }
  const object = { name: 'a', namespace: '', uid: 'u', resourceVersion: '1', isDeleting: false, body: {} }
  for (const each of [kind, unserved]) {
    t.is(tagOf(await hub.get(each, object)), 'NotAHub')
    t.is(tagOf(await hub.list(each)), 'NotAHub')
    t.is(tagOf(await hub.create(each, { name: 'a' }, {})), 'NotAHub')
    t.is(tagOf(await hub.edit(each, { name: 'a' }, () => right({ merge: {} }))), 'NotAHub')
    t.is(tagOf(await hub.apply(each, { name: 'a' }, {})), 'NotAHub')
    t.is(tagOf(await hub.remove(each, object)), 'NotAHub')
  }
})

test('an object is deleted only in the version that was read', async (t) => {
  const name = await clusterSet()
  const before = unwrap(await hub.get(clusterSetKind, { name }))!
  await must('DELETE', setPath(name))
  unwrap(await hub.create(clusterSetKind, { name }, {}))
  t.false(unwrap(await hub.remove(clusterSetKind, before)))
  const after = unwrap(await hub.get(clusterSetKind, { name }))!
  t.true(unwrap(await hub.remove(clusterSetKind, after)))
  t.false(unwrap(await hub.remove(clusterSetKind, after)))
})
