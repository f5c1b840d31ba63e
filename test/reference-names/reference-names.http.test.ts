import fc from 'fast-check'
import test from 'ava'
import { freeText, listOf, optional, request } from '../../plugins/kit/codecs.ts'
import { makeNames } from '../../plugins/kit/names.ts'
import { shapeOf } from '../../plugins/kit/unknown-fields.ts'
import { referenceNames } from '../../plugins/reference-names/names.ts'
import { makePeople, type Person } from '../clusters/cluster-fixture.ts'
import type { FakeKubernetes } from '../support/fake-kubernetes.ts'
import { startFakeKubernetes } from '../support/fake-kubernetes.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

let service: TestService
let plain: TestService
let fake: FakeKubernetes
let owner: Person
let org: string
test.before(async () => {
  fake = await startFakeKubernetes()
  service = await startService({ settings: { MOORAGE_REFERENCE_NAMES: 'true' } })
  plain = await startService()
  const people = makePeople(service)
  owner = await people.person('owner')
  org = await people.organization(owner)
})
test.after.always(async () => {
  await service?.stop()
  await plain?.stop()
  await fake?.stop()
})

/** The library of the reference sends this header with every request. */
const ofLibrary = { 'Content-Type': 'application/json;charset=UTF-8' }
const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  service.send(method as 'GET', `/api/v1${path}`, {
    token: owner.token,
    headers,
    ...(body === undefined ? {} : { body }),
  })

test('bodies are read, and answers given, under the names of the reference too', async (t) => {
  const body = {
    basicInfo: { name: 'prod' },
    provider: { name: 'Generic', kubeConfig: fake.kubeconfig() },
    components: { fluxCD: true, featureSets: [{ name: 'core', features: ['ui'] }] },
  }
  const checked = await send('POST', `/clustersv2/${org}/check`, { basicInfo: body.basicInfo, provider: body.provider })
  t.like(checked, { status: 200, json: { status: { phase: 'NotImported' } } })
  const imported = await send('POST', `/clustersv2/${org}/import?response-id=refnames1`, body)
  t.deepEqual([imported.status, imported.headers['x-ignored-fields']], [200, undefined])
  t.is(
    (await send('PATCH', `/orgs/${org}`, { rancherManagementClusterEndPoint: 'https://fleet.example' })).json
      .fleetManagementClusterEndPoint,
    'https://fleet.example',
  )
  t.is((await send('GET', `/orgs/${org}`)).json.rancherManagementClusterEndPoint, 'https://fleet.example')
})

test('the task of an import says which components are not installed', async (t) => {
  const two = await startFakeKubernetes()
  t.teardown(() => two.stop())
  const body = {
    basicInfo: { name: 'second' },
    provider: { kubeConfig: two.kubeconfig() },
    components: { fluxCD: true, featureSets: [{ name: 'core' }] },
  }
  t.is((await send('POST', `/clustersv2/${org}/import?response-id=refnames2`, body)).status, 200)
  let task: { readonly state: string; readonly message: string } = { state: '', message: '' }
  for (let asked = 0; task.state !== 'succeeded' && asked < 200; asked += 1) {
    const [found] = (await send('GET', `/tasks?account=${org}&kind=clusters.import&cluster=second`)).json
    task = found ?? task
    if (task.state !== 'succeeded') await new Promise((resolve) => setTimeout(resolve, 50))
  }
  t.is(task.message, 'second is imported. Not installed: the GitOps engine, the feature set core.')
  t.is(
    (await send('POST', `/clustersv2/${org}/second/remove`, { name: 'second', components: { fluxCD: true } })).status,
    200,
  )
})

test('cluster lists are objects for reads with a Content-Type, else arrays', async (t) => {
  const array = await send('GET', `/clustersv2/${org}`)
  t.true(Array.isArray(array.json))
  const { status, json } = await send('GET', `/clustersv2/${org}`, undefined, ofLibrary)
  t.is(status, 200)
  t.deepEqual(
    json.items.map(({ spec }: { spec: { name: string } }) => spec.name),
    array.json.map(({ name }: { name: string }) => name),
  )
  t.deepEqual((await send('GET', `/clustersv2/${org}?provider=EKS`, undefined, ofLibrary)).json.items, [])
  t.is((await send('GET', `/clustersv2/${org}/nothing/status`, undefined, ofLibrary)).status, 404)
  t.is((await service.send('GET', `/api/v1/clustersv2/${org}`, { headers: ofLibrary })).status, 401)
})

test('paths of the reference lead to those of this interface, where the plugin is on', async (t) => {
  // There is no bus in this test, which the route itself says.
  t.like(await send('GET', '/user/nats/credentials'), { status: 404, json: { code: 'BusHasNoCredentials' } })
  t.like(await send('GET', '/user/bus/credentials'), { status: 404, json: { code: 'BusHasNoCredentials' } })
  t.is((await send('GET', '/user/settings/tokens/nats-tokens/')).status, 200)
  const off = await plain.send('GET', '/api/v1/user/nats/credentials', { token: plain.adminToken })
  t.like(off, { status: 404, json: { code: 'NotFound' } })
  const kubeConfig = await plain.send('POST', '/api/v1/clustersv2/admin/check', {
    token: plain.adminToken,
    body: { provider: { kubeConfig: fake.kubeconfig() } },
  })
  t.is(kubeConfig.status, 422, 'an access config is missing')
})

const names = makeNames([referenceNames], { api: '/api/v1', marketplace: '/marketplace/api/v1' })
const shape = shapeOf(
  request(
    {
      accessConfig: optional(freeText()),
      dashA: optional(request({ accessConfig: optional(freeText()) }, 'Inner')),
      many: optional(listOf(request({ gitopsEngine: freeText() }, 'Item'), 9)),
    },
    'Outer',
  ),
)

const withoutOthers = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutOthers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !Object.hasOwn(referenceNames.fields, key))
      .map(([key, part]) => [key, withoutOthers(part)]),
  )
}

test('values under both names are read back unchanged', (t) => {
  fc.assert(
    fc.property(
      fc.record(
        {
          accessConfig: fc.string(),
          dashA: fc.record({ accessConfig: fc.string() }),
          many: fc.array(fc.record({ gitopsEngine: fc.string() }), { maxLength: 3 }),
        },
        { requiredKeys: [] },
      ),
      (value) => {
        const given = names.withOtherFields(shape, value) as Record<string, unknown>
        if ('dashA' in value) t.deepEqual(given['grafana'], given['dashA'])
        const { accessConfig: _access, dashA: _dash, ...others } = given
        t.deepEqual(withoutOthers(names.withOwnFields(shape, others)), value)
        t.deepEqual(names.withOwnFields(shape, value), value)
      },
    ),
    { numRuns: 50 },
  )
  t.deepEqual(
    names.withOwnFields(shape, { kubeConfig: 'a', accessConfig: 'b' }),
    { kubeConfig: 'a', accessConfig: 'b' },
    'neither is chosen in silence',
  )
})

test('a path without other names is unchanged', (t) => {
  fc.assert(
    fc.property(fc.webPath(), fc.boolean(), (path, isReadWithContentType) => {
      t.is(names.ownPath({ path, isReadWithContentType }), path)
    }),
    { numRuns: 50 },
  )
  const own = (path: string, isReadWithContentType = false) =>
    names.ownPath({ path: `/api/v1${path}`, isReadWithContentType })
  t.is(own('/orgs/a%2Fb/tokens/nats-tokens/3/revoke'), '/api/v1/orgs/a%2Fb/tokens/bus-tokens/3/revoke')
  t.is(own('/user/natsy'), '/api/v1/user/natsy')
  t.is(own('/clustersv2/acme'), '/api/v1/clustersv2/acme')
  t.is(own('/clustersv2/acme', true), '/api/v1/reference-names/clustersv2/acme')
  t.is(own('/clustersv2/acme/prod', true), '/api/v1/clustersv2/acme/prod')
})

test('no name of the table is ours, and none is twice', (t) => {
  const [others, owns] = [Object.keys(referenceNames.fields), Object.values(referenceNames.fields)]
  t.deepEqual(
    others.filter((name) => owns.includes(name)),
    [],
  )
  t.is(new Set(owns).size, owns.length)
})
