// process: waiting - uses components
import {
  appliedManifestWorks,
  clusterRoles,
  klusterlets,
  managedClusters,
  manifestWorks,
  namespaces,
  secrets,
  type Kind,
  type KubeObject,
} from '../support/hub/api/kinds.ts'
import { agentNamespace, bootstrapSecret, clusterSetLabel, hubKubeconfigSecret } from '../support/hub/api/ocm-names.ts'
import { needing } from '../support/components/needing.ts'
import { until } from '../support/until.ts'
import { eventsOf, untilEnd } from '../tasks/task-client.ts'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import { startKilledService } from './killed-service.ts'
import { config, refusedImports } from './refused-imports.ts'
import { startLifeFixture, type LifeFixture } from './life-fixture.ts'

/** Import of spokes and conversion of clusters, with the controllers, the operator and the agents of the test hub. */
const test = needing('kubernetes', 'spoke-kubernetes')

let fixture: LifeFixture

test.before(async () => {
  fixture = await startLifeFixture({ imports: true })
})
test.after.always(() => fixture?.stop())

const importing = (name: string, more: { provider?: object; basicInfo?: object; components?: object } = {}) =>
  fixture.post('import-spoke', {
    basicInfo: { name, displayName: 'A spoke', ...more.basicInfo },
    provider: { accessConfig: fixture.spokeConfig, ...more.provider },
    components: more.components ?? {},
  })
const shown = async (name: string) =>
  (await fixture.service.send('GET', `/api/v1/clusters/${fixture.org}/${name}`, { token: fixture.owner.token })).json
const spoke = () => fixture.hub.spoke
const uidClaim = {
  kind: {
    apiVersion: 'cluster.open-cluster-management.io/v1alpha1',
    kind: 'ClusterClaim',
    plural: 'clusterclaims',
    isNamespaced: false,
  } as Kind<KubeObject & { spec: { value: string } }>,
  name: 'id.k8s.io',
}

test.serial('a cluster is imported with its access config, and removed with its agents', async (t) => {
  const name = fixture.hub.name()
  await spoke().remove(uidClaim.kind, { metadata: { name: uidClaim.name } })
  const components = {
    clusterProfile: name,
    gitopsEngine: true,
    featureSets: [{ name: 'opscenter-core', features: ['kube-ui-server'] }],
  }
  t.is((await expectStatus(importing(name, { components }), 200)).text, '')
  t.like(await shown(name), { name, displayName: 'A spoke', hubClusterName: 'hub' })
  const imported = await fixture.ended('spokes.import', name)
  t.is(imported.state, 'succeeded', JSON.stringify(imported))
  const record = await shown(name)
  t.like(record, {
    hubClusterName: 'hub',
    status: { phase: 'Active' },
    uid: (await spoke().get(namespaces, 'kube-system'))?.metadata.uid,
  })
  t.is(
    (await spoke().get(uidClaim.kind, uidClaim.name))?.spec.value,
    (record as { uid: string }).uid,
    'the agents report it to the hub',
  )
  t.true((record as { clusterManagers: string[] }).clusterManagers.includes('OCMSpoke'))
  t.is((await fixture.managed(name))?.metadata.labels?.[clusterSetLabel], `cp-${name}`)
  t.like(record, { clusterSetName: `cp-${name}` })
  const claims = Object.fromEntries(
    ((await fixture.managed(name))?.status?.clusterClaims ?? []).map((each) => [each.name, each.value]),
  )
  const { clusterMetadata } = JSON.parse(claims['cluster.ace.info'] ?? '{}') as {
    clusterMetadata: { clusterManagers: readonly string[] }
  }
  t.like(clusterMetadata, { uid: (record as { uid: string }).uid, name })
  // Tests of hubs on the same server make it a hub too.
  t.true(clusterMetadata.clusterManagers.includes('OCMSpoke'))
  t.deepEqual(
    (await spoke().get(clusterRoles, 'moorage:feature-releases'))?.rules.map(({ apiGroups, resources }) => [
      apiGroups,
      resources,
    ]),
    [[['helm.toolkit.fluxcd.io'], ['helmreleases']]],
  )
  const events = JSON.stringify(await eventsOf(fixture.service, fixture.owner.token, imported.id))
  const kubeconfig = Buffer.from(
    (await spoke().get(secrets, bootstrapSecret, agentNamespace))?.data?.['kubeconfig'] ?? '',
    'base64',
  ).toString()
  const token = /eyJ[\w.-]+/.exec(kubeconfig)?.[0]
  t.truthy(token)
  t.false(events.includes(token!.slice(0, 40)))
  t.regex(events, /no add-on fluxcd-addon/)
  t.regex(events, /does not act on components\.featureSets/)

  const again = await importing(name, { components: { clusterProfile: name } })
  t.is(again.status, 200, 'the same request finds nothing to do')
  await until('the second end', async () =>
    ((found) => (found.id !== imported.id && found.state === 'succeeded' ? true : undefined))(
      await fixture.task('spokes.import', name),
    ),
  )

  await fixture.hub.client.create(manifestWorks, {
    metadata: { name: 'shop', namespace: name },
    spec: { workload: { manifests: [] } },
  })
  await until('the work on the spoke', async () =>
    (await spoke().list(appliedManifestWorks)).items.find(({ spec }) => spec.manifestWorkName === 'shop'),
  )
  await expectStatus(fixture.post('remove-managed-cluster', { clusterName: name }), 200)
  const removed = await fixture.ended('spokes.remove', name)
  t.is(removed.state, 'succeeded', JSON.stringify(removed))
  t.is(await spoke().get(klusterlets, 'klusterlet'), undefined)
  t.deepEqual(await fixture.afterRemoval(removed.id), { objects: [], namesDefinition: true })
  t.is(await fixture.managed(name), undefined)
  t.like(await shown(name), { name, hubClusterName: '', hubClusterUID: '' })
  t.deepEqual([...new Set((await fixture.actions()).filter((action) => action.startsWith('cluster.spoke_')))].sort(), [
    'cluster.spoke_identified',
    'cluster.spoke_import_requested',
    'cluster.spoke_imported',
    'cluster.spoke_removed',
    'cluster.spoke_requests_approved',
  ])
  await fixture.finishNamespace(agentNamespace)
  await expectStatus(
    fixture.service.send('DELETE', `/api/v1/clusters/${fixture.org}/${name}`, { token: fixture.owner.token }),
    200,
  )
})

test.serial('an import that dies after any of its steps is continued, and so is a removal', async (t) => {
  const name = fixture.hub.name()
  await fixture.pauseTasks('spokes.import')
  await expectStatus(importing(name), 200)
  t.is((await fixture.ended('spokes.import', name)).message, 'not done here')
  const stored = async () => (await spoke().get(secrets, bootstrapSecret, agentNamespace))?.data?.['kubeconfig']
  const credentials = new Set<string | undefined>()
  for (let step = 1; step <= 8; step += 1) {
    await t.throwsAsync(fixture.runUntilStep('spokes.import', name, step), { message: 'the process dies' })
    credentials.add(await stored())
  }
  t.is(credentials.size, 2, 'none before it is made, and one that stays: the agents start over when it changes')
  const end = await fixture.runUntilStep('spokes.import', name, Infinity)
  t.is(end.state, 'succeeded', JSON.stringify(end))
  t.like(await shown(name), { status: { phase: 'Active' }, hubClusterName: 'hub' })
  await fixture.pauseTasks('spokes.remove')
  await expectStatus(fixture.post('remove-managed-cluster', { clusterName: name }), 200)
  for (let step = 1; step <= 6; step += 1)
    await t.throwsAsync(fixture.runUntilStep('spokes.remove', name, step), { message: 'the process dies' })
  const removed = await fixture.runUntilStep('spokes.remove', name, Infinity)
  t.is(removed.state, 'succeeded', JSON.stringify(removed))
  t.is(await fixture.managed(name), undefined)
  await fixture.finishNamespace(agentNamespace)
  await fixture.resumeTasks()
  await expectStatus(
    fixture.service.send('DELETE', `/api/v1/clusters/${fixture.org}/${name}`, { token: fixture.owner.token }),
    200,
  )
})

test.serial('killed imports and removals are completed and recorded once', async (t) => {
  const service = await startKilledService(fixture.hubServer, fixture.spokeServer)
  t.teardown(() => service.stop())
  const { owner, token, toHub, toSpoke } = service
  const post = (path: string, body: object) =>
    expectStatus(service.send('POST', `/api/v1/clusters/${owner}/hub/${path}`, { token, body }), 200)
  const tasksOf = async (kind: string) =>
    (await expectStatus(service.send('GET', `/api/v1/tasks?account=${owner}&kind=${kind}`, { token }), 200))
      .json as readonly { readonly id: string }[]
  const stored = async () => (await spoke().get(secrets, bootstrapSecret, agentNamespace))?.data?.['kubeconfig']

  const name = fixture.hub.name()
  const registered = toHub.loseAnswer('POST', /\/managedclusters$/)
  await post('import-spoke', { basicInfo: { name }, provider: { accessConfig: toSpoke.kubeconfig } })
  await registered
  const before = (await fixture.managed(name))?.metadata.uid
  t.truthy(before)
  const installed = toSpoke.loseAnswer('POST', new RegExp(`/namespaces/${agentNamespace}/secrets$`))
  await service.killAndStart()
  await installed
  const credential = await stored()
  t.truthy(credential)
  await service.killAndStart()
  const [task, ...others] = await tasksOf('spokes.import')
  const imported = await untilEnd(service, token, task!.id)
  t.is(imported.state, 'succeeded', JSON.stringify(imported))
  t.deepEqual(others, [])
  t.is((await fixture.managed(name))?.metadata.uid, before, 'the cluster of the first process')
  t.is(await stored(), credential, 'the credential of the second process')
  t.like((await service.send('GET', `/api/v1/clusters/${owner}/${name}`, { token })).json, {
    status: { phase: 'Active' },
    hubClusterName: 'hub',
  })
  t.is(
    (await eventsOf(service, token, imported.id)).filter(({ msg }) => msg.includes('Another one continues')).length,
    2,
  )

  const removing = toSpoke.loseAnswer('DELETE', /\/klusterlets\/klusterlet$/)
  await post('remove-managed-cluster', { clusterName: name })
  await removing
  await service.killAndStart()
  const removed = await untilEnd(service, token, (await tasksOf('spokes.remove'))[0]!.id)
  t.is(removed.state, 'succeeded', JSON.stringify(removed))
  t.is(await fixture.managed(name), undefined)
  t.is(await spoke().get(klusterlets, 'klusterlet'), undefined)
  await until('the end of the credentials on the spoke', async () =>
    (await spoke().get(namespaces, agentNamespace)) === undefined ? true : undefined,
  )
  const { json: rows } = await expectStatus(service.send('GET', '/api/v1/user/audit?limit=100', { token }), 200)
  t.deepEqual(
    (rows as readonly { readonly action: string }[])
      .map(({ action }) => action)
      .filter((action) => action.startsWith('cluster.spoke_'))
      .sort(),
    [
      'cluster.spoke_identified',
      'cluster.spoke_import_requested',
      'cluster.spoke_imported',
      'cluster.spoke_removed',
      'cluster.spoke_requests_approved',
    ],
  )
  t.true(await service.isAuditWhole())
})

test.serial('an import uses the stored access config, and a repetition changes nothing', async (t) => {
  const name = fixture.hub.name()
  await expectStatus(
    importCluster(fixture.service.send, fixture.owner.token, fixture.org, name, fixture.spokeConfig),
    200,
  )
  await expectStatus(fixture.post('convert/spoke', { basicInfo: { name } }), 200)
  const converted = await fixture.ended('spokes.import', name)
  t.is(converted.state, 'succeeded', JSON.stringify(converted))
  t.like(await shown(name), { hubClusterName: 'hub', status: { phase: 'Active' } })
  await expectStatus(fixture.post('convert/spoke', { basicInfo: { name } }), 200)
  t.is((await fixture.task('spokes.import', name)).id, converted.id)
  const missing = await fixture.post('convert/spoke', { basicInfo: { name: 'no-such-cluster' } })
  t.is(missing.status, 422)
  await expectStatus(
    fixture.service.send('POST', `/api/v1/clustersv2/${fixture.org}/${name}/remove`, {
      token: fixture.owner.token,
      body: { components: { spokeComponent: true } },
    }),
    200,
  )
  t.is((await fixture.ended('spokes.remove', name)).state, 'succeeded')
  t.is(await fixture.managed(name), undefined)
  await expectStatus(
    fixture.service.send('GET', `/api/v1/clusters/${fixture.org}/${name}`, { token: fixture.owner.token }),
    404,
  )
  await fixture.finishNamespace(agentNamespace)
  const hub = await fixture.service.send('POST', `/api/v1/clustersv2/${fixture.org}/hub/remove`, {
    token: fixture.owner.token,
    body: { components: { spokeComponent: true } },
  })
  t.is(hub.status, 422, 'no hub manages it')
})

test.serial('a cluster with foreign agents is refused before the hub', async (t) => {
  const [name, other] = [
    fixture.hub.name(),
    { metadata: { name: 'klusterlet' }, spec: { clusterName: 'a-spoke-of-another-hub' } },
  ]
  await until('the end of the agents before', async () =>
    (await spoke().get(klusterlets, 'klusterlet')) === undefined ? true : undefined,
  )
  await spoke().create(klusterlets, other)
  t.teardown(() => spoke().remove(klusterlets, other))
  await expectStatus(importing(name), 200)
  const refusedImport = await fixture.ended('spokes.import', name)
  t.is(refusedImport.state, 'failed')
  t.regex(String(refusedImport['error']), /a spoke already, under the name a-spoke-of-another-hub/)
  t.is(await fixture.managed(name), undefined)
  await expectStatus(
    fixture.service.send('DELETE', `/api/v1/clusters/${fixture.org}/${name}`, { token: fixture.owner.token }),
    200,
  )
})

test.serial('a plain spoke is converted under its name on the hub', async (t) => {
  const record = fixture.hub.name()
  await until('the end of the agents before', async () =>
    (await spoke().get(klusterlets, 'klusterlet')) === undefined ? true : undefined,
  )
  await expectStatus(
    importCluster(fixture.service.send, fixture.owner.token, fixture.org, record, fixture.spokeConfig),
    200,
  )
  // A claim of that length is not reported: the agents of a plain spoke report no UID either.
  const { name } = await fixture.joined({
    claims: { 'id.k8s.io': 'x'.repeat(1025) },
    serverUrls: ['https://spoke.example.com:6443'],
  })
  const namespace = `${agentNamespace}-${name}`
  await spoke().create(namespaces, { metadata: { name: namespace } })
  await spoke().create(secrets, {
    metadata: { name: hubKubeconfigSecret, namespace },
    data: { kubeconfig: Buffer.from(await fixture.hub.bootstrapKubeconfig()).toString('base64') },
  })
  const agents = { metadata: { name: 'klusterlet' }, spec: { clusterName: name, namespace } }
  await spoke().create(klusterlets, agents)
  t.teardown(() => spoke().remove(klusterlets, agents))
  await expectStatus(fixture.post('convert/spoke', { basicInfo: { name: record } }), 200)
  const converted = await fixture.ended('spokes.import', name)
  t.is(converted.state, 'succeeded', JSON.stringify(converted))
  t.like(await shown(record), { hubClusterName: 'hub', status: { phase: 'Active' } })
  t.is(await fixture.managed(record), undefined, 'no second cluster is registered')
  await expectStatus(fixture.post('convert/spoke', { basicInfo: { name: record } }), 200)
  t.is((await fixture.task('spokes.import', name)).id, converted.id)

  await expectStatus(fixture.post('remove-managed-cluster', { clusterName: name }), 200)
  t.is((await fixture.ended('spokes.remove', name)).state, 'succeeded')
  t.is(await spoke().get(klusterlets, 'klusterlet'), undefined, 'the record leads to the agents')
  await expectStatus(
    fixture.service.send('DELETE', `/api/v1/clusters/${fixture.org}/${record}`, { token: fixture.owner.token }),
    200,
  )
})

test.serial('without an access config the import waits for the command', async (t) => {
  const name = fixture.hub.name()
  await expectStatus(fixture.post('import-spoke', { basicInfo: { name, clusterUID: 'stated' } }), 200)
  t.like(await shown(name), { uid: '', status: { phase: 'Registered' }, hubClusterName: 'hub' })
  await until('the wait', async () =>
    (await eventsOf(fixture.service, fixture.owner.token, (await fixture.task('spokes.import', name)).id)).find(
      ({ step }) => step?.startsWith('Wait'),
    ),
  )
  t.falsy((await fixture.managed(name))?.spec?.hubAcceptsClient)
  await fixture.hub.agent(name)
  const imported = await fixture.ended('spokes.import', name)
  t.is(imported.state, 'succeeded', JSON.stringify(imported))
  t.true((await fixture.managed(name))?.spec?.hubAcceptsClient)
  await expectStatus(
    fixture.service.send('DELETE', `/api/v1/clusters/${fixture.org}/${name}`, { token: fixture.owner.token }),
    200,
  )
})

test.serial('removing a cluster or its record ends the import', async (t) => {
  const name = fixture.hub.name()
  await expectStatus(fixture.post('import-spoke', { basicInfo: { name } }), 200)
  await until('the wait', async () =>
    (await eventsOf(fixture.service, fixture.owner.token, (await fixture.task('spokes.import', name)).id)).find(
      ({ step }) => step?.startsWith('Wait'),
    ),
  )
  const during = await fixture.post('remove-managed-cluster', { clusterName: name })
  t.is(during.status, 409, 'the import is named, and can be cancelled')
  await expectStatus(
    fixture.service.send('DELETE', `/api/v1/clusters/${fixture.org}/${name}`, { token: fixture.owner.token }),
    200,
  )
  const ended = await fixture.ended('spokes.import', name)
  t.is(ended.state, 'failed')
  t.regex(String(ended['error']), /removed during the import/)
})

test.serial('a repeated import joins the unfinished task, a different one is 409', async (t) => {
  const name = fixture.hub.name()
  const answers = await Promise.all([1, 2, 3].map(() => fixture.post('import-spoke', { basicInfo: { name } })))
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
    JSON.stringify(answers),
  )
  t.is(
    (await fixture.post('import-spoke', { basicInfo: { name }, components: { clusterProfile: 'other' } })).status,
    409,
  )
  const { json: tasks } = await expectStatus(
    fixture.service.send('GET', `/api/v1/tasks?account=${fixture.org}&kind=spokes.import`, {
      token: fixture.owner.token,
    }),
    200,
  )
  t.is(
    (tasks as { about: { managedCluster?: string } }[]).filter(({ about }) => about.managedCluster === name).length,
    1,
  )
  const task = await fixture.task('spokes.import', name)
  await fixture.service.send('POST', `/api/v1/tasks/${task.id}/cancel`, { token: fixture.owner.token })
  t.is((await fixture.ended('spokes.import', name)).state, 'cancelled')
  t.regex(
    JSON.stringify(await shown(name)),
    /was cancelled\. Stopped in \\"Wait until the agents have joined\\"\. The hub does not have the cluster/,
  )
})

for (const [what, body] of refusedImports) {
  test.serial(`an import is refused with 422 for: ${what}`, async (t) => {
    const answer = await fixture.post('import-spoke', body)
    t.is(answer.status, 422, answer.text)
    t.is(
      (await fixture.service.send('GET', `/api/v1/clusters/${fixture.org}/a`, { token: fixture.owner.token })).status,
      404,
    )
  })
}

test.serial('an unreachable cluster fails the task with the reason in the record', async (t) => {
  const name = fixture.hub.name()
  await expectStatus(
    fixture.post('import-spoke', {
      basicInfo: { name },
      provider: { accessConfig: config({ token: 'x' }, 'https://127.0.0.1:1') },
    }),
    200,
  )
  t.is((await fixture.ended('spokes.import', name)).state, 'failed')
  t.like(await shown(name), { status: { phase: 'Registered' } })
  t.regex(JSON.stringify(await shown(name)), /import into the hub failed/)
  t.is(await fixture.managed(name), undefined)
})

test.serial('a wrong UID or a foreign ManagedCluster fails before installation', async (t) => {
  const wrong = fixture.hub.name()
  await expectStatus(importing(wrong, { basicInfo: { clusterUID: 'another-uid' } }), 200)
  t.regex(String((await fixture.ended('spokes.import', wrong))['error']), /clusterUID/)
  t.like(await shown(wrong), { uid: '' }, 'the record does not claim a UID that nothing has confirmed')
  const other = fixture.hub.name()
  await fixture.hub.client.create(managedClusters, {
    metadata: { name: other },
    spec: { managedClusterClientConfigs: [{ url: 'https://elsewhere.example.com', caBundle: 'AAAA' }] },
  })
  await expectStatus(importing(other), 200)
  t.regex(String((await fixture.ended('spokes.import', other))['error']), /another cluster/)
  t.is(await spoke().get(klusterlets, 'klusterlet'), undefined)
})

test.serial('a caller without the right to import into the hub is refused', async (t) => {
  const stranger = await fixture.people.person('stranger')
  for (const path of ['import-spoke', 'convert/spoke'])
    t.is((await fixture.post(path, { basicInfo: { name: 'mine' } }, stranger)).status, 404)
  const member = await fixture.people.person('member')
  await fixture.people.teamWithRole(
    fixture.owner,
    fixture.org,
    [member],
    [
      { namespace: 'cluster_mgmt', action: 'view clusters' },
      { namespace: 'cluster_mgmt', action: 'view hubs' },
    ],
  )
  for (const path of ['import-spoke', 'convert/spoke'])
    t.is((await fixture.post(path, { basicInfo: { name: 'mine' } }, member)).status, 403)
})
