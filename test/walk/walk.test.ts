// process: own - fills its environment with keys, and uses components
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { laterByMonths, monthEnd, monthOf, monthStart, monthText } from '../../core/usage/month.ts'
import type { UnixSeconds } from '../../core/usage/types.ts'
import { expectStatus, type Person } from '../clusters/cluster-fixture.ts'
import { addAuthority, openssl } from '../contracts/license-tools.ts'
import { modelOf } from '../featuresets/features-fixture.ts'
import { bindOf, installerAddress } from '../marketplace/market-service.ts'
import type { CreatedInstaller } from '../../core/marketplace/installers/installers.ts'
import { metricsOfPier } from '../metrics-proxy/metrics-fixture.ts'
import { wordAt } from '../metrics-proxy/stand-in.ts'
import { chartSource } from '../packages/chart-source.ts'
import { packageClient } from '../packages/package-fixture.ts'
import { needing } from '../support/components/needing.ts'
import {
  accounts,
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  manifestWorks,
  namespaces,
  roleBindings,
  secrets,
  serviceAccounts,
  type Kind,
  type KubeObject,
} from '../support/hub/api/kinds.ts'
import type { KubeClient } from '../support/hub/api/kube-client.ts'
import { openPatiently } from '../support/databases.ts'
import { until } from '../support/until.ts'
import { readPdf } from '../usage/reports/report-values.ts'
import { isRequestOf, stepsOfPage } from './walk-page.ts'
import { helmReleases, startWalk, type Walk } from './walk-fixture.ts'

/**
 * A customer of a vendor from the sale to the end, through every part. `docs/walk.md` has the same steps with the same
 * requests, which is compared after each step.
 */
const test = needing('kubernetes', 'spoke-kubernetes', 'helm', 'nginx')

let walk: Walk
let sent: string[] = []
let folder: string

test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-walk-'))
  walk = await startWalk((method, target, path) => void sent.push(`${method} $${target}${path.split('?')[0]}`))
  await addAuthority(walk.clients.service, { organization: 'Vendor' })
})
test.after.always(async () => {
  await walk?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** One step of the walk, which needs those before it. Its requests are those of the page, in their order. */
const step = (title: string, run: (t: ExecutionContext) => Promise<void>): void =>
  test.serial(title, async (t) => {
    sent = []
    await run(t)
    const { requests = [] } = stepsOfPage().find((each) => each.title === title) ?? {}
    const known = sent.map((each) => requests.findIndex((onPage) => isRequestOf(onPage, each)))
    t.deepEqual(
      sent.filter((_, index) => known[index] === -1),
      [],
      'sent, and not on the page',
    )
    t.deepEqual(
      [...new Set(known)],
      [...requests.keys()],
      `on the page: ${requests.join(', ')}; sent: ${sent.join(', ')}`,
    )
  })

/** What later steps use of those before. */
const held = {} as {
  installer: CreatedInstaller
  subscription: string
  link: string
  name: string
  id: number
  uid: string
  client: Person
  contract: number
  bound: number
  ca: string
  license: string
  month: string
  /** Core-months of the database that is reported. */
  cores: number
  backend: string
}
const nowSeconds = Math.floor(Date.now() / 1000)
const day = 86_400
const { admin, send } = {
  admin: ((...given) => walk.admin(...given)) as Walk['admin'],
  send: ((...given) => walk.send(...given)) as Walk['send'],
}
const ofClient = (method: string, path: string, body?: unknown) =>
  send('VENDOR', method, path, { token: held.client.token, ...(body === undefined ? {} : { body }) })
const subscriptionPath = (): string => `/api/v1/dashboard/marketplaces/CloudA/${held.subscription}`
const pathOf = (link: string): string => {
  const { pathname, search } = new URL(link)
  return `${pathname}${search}`
}

step('The vendor sells in a marketplace', async (t) => {
  held.installer = await walk.market.createInstaller({
    products: [{ product: 'database', features: ['database-enterprise'] }],
    contact: 'buyer@example.com',
  })
  const { json } = await expectStatus(
    admin('MARKET', 'GET', `/api/v1/platform-installer/deployment/marketplace/installers/${held.installer.ref}/status`),
    200,
  )
  t.like(json, { status: 'Pending', isExpired: false })
})

step("The customer's installation is bound", async (t) => {
  const cluster = await walk.clients.hub.spoke.get(namespaces, 'kube-system')
  held.uid = cluster?.metadata.uid ?? ''
  const bound = await expectStatus(
    send('HOOKS', 'POST', '/marketplaces/cloudA/notification/resource', {
      body: {
        eventType: 'subscribe-success',
        eventTime: new Date().toISOString(),
        bindingInfo: bindOf(held.installer, { clusterId: held.uid, cloudAAccountID: '123456789012' }),
      },
      headers: { 'X-Forwarded-For': installerAddress },
    }),
    200,
  )
  held.link = bound.json.link as string
  const archive = await expectStatus(send('MARKET', 'GET', pathOf(held.link)), 200)
  t.is(archive.headers['content-type'], 'application/gzip')
  const listed = await expectStatus(admin('MARKET', 'GET', '/api/v1/dashboard/marketplaces/subscriptions'), 200)
  const own = (
    listed.json as readonly { boundedInstallerId: string; subscriptionId: string; clusterId: string }[]
  ).find(({ boundedInstallerId }) => boundedInstallerId === held.installer.ref)
  t.is(own?.clusterId, held.uid)
  held.subscription = own?.subscriptionId ?? ''
  t.like((await expectStatus(admin('MARKET', 'GET', subscriptionPath()), 200)).json, { state: 'Bounded' })
})

step('The first usage is billed, and the subscription is claimed', async (t) => {
  const hour = new Date((Math.floor(nowSeconds / 3600) - 1) * 3_600_000).toISOString()
  const report = { ProductCode: 'product-1', Timestamp: hour, UsageDimension: 'nodes', UsageQuantity: 3 }
  const reported = await expectStatus(
    admin('MARKET', 'POST', '/api/v1/proxy/metered-billing/marketplaces/cloudA/report-usage', report),
    200,
  )
  const billed = [...walk.provider.billed.values()]
  t.deepEqual(
    billed.map(({ id, quantity }) => [id, quantity]),
    [[reported.json.MeteringRecordId, 3]],
  )
  t.regex(String(walk.provider.seen[0]?.headers['user-agent']), /aws-sdk-js/)
  t.like((await expectStatus(admin('MARKET', 'GET', subscriptionPath()), 200)).json, { state: 'Running' })
  const claim = held.installer.claimRef
  const asked = await expectStatus(
    send('HOOKS', 'GET', `/marketplaces/standalone-organizations/${claim}/claimable`),
    200,
  )
  t.deepEqual(asked.json, { isClaimable: true, claimID: claim })
  await expectStatus(admin('MARKET', 'POST', '/api/v1/orgs', { username: 'buyer' }), 201)
  await expectStatus(admin('MARKET', 'PATCH', `/api/v1/orgs/claim/${claim}`, { organization: 'buyer' }), 200)
  const { json } = await expectStatus(admin('MARKET', 'GET', subscriptionPath()), 200)
  t.is(json.contractIDs.length, 1)
})

step('The customer becomes a client organization with a cluster', async (t) => {
  const { clients } = walk
  held.name = clients.name('acme')
  const create = clients.creating(held.name)
  await expectStatus(admin('VENDOR', 'POST', '/api/v1/user/client/create', create), 200)
  const task = await clients.settled(held.name)
  t.is(task.state, 'succeeded', JSON.stringify(task))
  const status = await expectStatus(admin('VENDOR', 'GET', `/api/v1/user/client/${held.name}/status`), 200)
  t.is(status.json.status, 'Active')
  held.client = await walk.signedIn(`admin-of-${held.name}`)
  const own = await expectStatus(ofClient('GET', `/api/v1/clusters/${held.name}/${clients.spoke}`), 200)
  t.true(own.text.includes(held.uid), own.text)
  held.id = (await expectStatus(ofClient('GET', `/api/v1/orgs/${held.name}`), 200)).json.id as number
  t.deepEqual(await clients.namespacesOf(held.name), [held.name, `${held.name}-gw`, `${held.name}-monitoring`])
  // Members get accounts and role bindings with their first request to the cluster.
  t.deepEqual(await objectsNaming(clients.hub.spoke, kindsOfSpoke, held.name), [
    `Namespace /${held.name}`,
    `Namespace /${held.name}-gw`,
    `Namespace /${held.name}-monitoring`,
    `ServiceAccount moorage-clients/${held.name}`,
    `ConfigMap ${held.name}-gw/client-gateway`,
    `ConfigMap ${held.name}-monitoring/client-telemetry`,
  ])
})

step('The vendor gives a contract, and the cluster a license', async (t) => {
  const terms = {
    orgOrUser: held.name,
    name: 'Databases',
    products: ['database'],
    features: ['database-enterprise'],
    start: nowSeconds - 90 * day,
    end: nowSeconds + 90 * day,
    allowOffline: true,
  }
  const [{ id }] = (await expectStatus(admin('VENDOR', 'POST', '/api/v1/contracts', terms), 201)).json as [
    { id: number },
  ]
  held.contract = id
  const [{ id: bound }] = (
    await expectStatus(admin('VENDOR', 'POST', `/api/v1/contracts/${id}/clusters`, [{ cluster: held.uid }]), 201)
  ).json as [{ id: number }]
  held.bound = bound
  const issued = await expectStatus(
    ofClient('POST', `/api/v1/user/contracts/${id}/clusters/${bound}/issue-license?org=${held.name}`),
    200,
  )
  const ca = await expectStatus(send('VENDOR', 'GET', '/api/v1/licenses/ca.pem'), 200)
  held.ca = join(folder, 'ca.pem')
  held.license = join(folder, 'license.pem')
  writeFileSync(held.ca, ca.text)
  writeFileSync(held.license, Buffer.from(issued.json.license as string, 'base64'))
  t.regex(openssl('verify', '-CAfile', held.ca, '-verify_hostname', held.uid, held.license), /OK\n$/)
  t.regex(openssl('x509', '-in', held.license, '-noout', '-subject'), /database-enterprise/)
})

step('A database feature is installed', async (t) => {
  const { clients, features } = walk
  const { set, featureSet, feature, namespace } = features
  const model = modelOf(featureSet, { [feature]: { replicas: 2 } }) as {
    resources: Record<string, { spec: Record<string, unknown> }>
  }
  for (const { spec } of Object.values(model.resources)) spec['targetNamespace'] = namespace
  const hub = `/api/v1/clusters/${clients.org}/hub/clustersets/${set}`
  await expectStatus(
    send('VENDOR', 'POST', `${hub}/install-featureset`, { token: clients.vendor.token, body: model }),
    200,
  )
  await until(`the release of ${feature}`, () => clients.hub.spoke.get(helmReleases, feature, namespace))
  const state = await until('the feature on the spoke', async () => {
    const path = `${hub}/sync-status/${feature}`
    const { json } = await expectStatus(send('VENDOR', 'GET', path, { token: clients.vendor.token }), 200)
    return json.insyncClusters.length > 0 ? json : undefined
  })
  t.deepEqual(state, { insyncClusters: [clients.spoke], outOfSyncClusters: [] })
})

step('The customer installs a chart', async (t) => {
  const { clients, charts } = walk
  const client = packageClient(
    (method, path, options) => send('VENDOR', method, path, options),
    held.client.token,
    `${held.name}/${clients.spoke}`,
  )
  const body = { ...chartSource(charts, 'minimal'), releaseName: 'web', namespace: held.name }
  const task = await client.done('POST', '/v3/releases/', body)
  t.is(task.state, 'succeeded', `${task.message} ${task.error}`)
  t.deepEqual((await clients.hub.spoke.get(configMaps, 'web-minimal', held.name))?.data, { value: 'one' })
  const listed = await expectStatus(client.send('GET', `/v3/releases/?namespace=${held.name}`), 200)
  t.deepEqual(
    listed.json.map(({ name, info }: { name: string; info: { status: string } }) => [name, info.status]),
    [['web', 'deployed']],
  )
  const elsewhere = await client.send('POST', '/v3/releases/', { ...body, namespace: 'default' })
  t.is(elsewhere.status, 403, elsewhere.text)
})

step('The dashboard reads the metrics of its own tenant', async (t) => {
  const { perses, upstream } = walk
  const body = { metrics: metricsOfPier, clusterUID: held.uid, default: true }
  const registered = await expectStatus(ofClient('POST', '/api/v1/tsproxy/dashB/register', body), 200)
  held.backend = `${held.id}.${held.uid}`
  t.like(registered.json, { datasource: held.backend, projectName: `user.${held.id}` })
  const credential = wordAt(perses.all(`user.${held.id}`, 'secrets')[0], 'spec', 'authorization', 'credentials')
  const query = `/metrics/${held.backend}/api/v1/query?query=up`
  const read = (token: string) => send('PROXY', 'GET', query, { token })
  t.deepEqual((await expectStatus(read(credential), 200)).json.data, { metricsOf: `user.${held.id}` })
  t.is((await read(walk.clients.vendor.token)).status, 401, 'the vendor is no member')
  t.is(upstream.seen.length, 1)
})

/** A token of a robot account of the customer, whose team may report usage. */
const meterToken = async (): Promise<string> => {
  const role = { name: 'meter', description: '', permissions: [{ namespace: 'usage_mgmt', action: 'report usage' }] }
  const { json: made } = await expectStatus(ofClient('POST', `/api/v1/authz/roles?org=${held.name}`, role), 201)
  const team = { name: 'meters', permission: 'custom', assignedRoleIDs: [made.id] }
  const { json: teamMade } = await expectStatus(ofClient('POST', `/api/v1/orgs/${held.name}/teams`, team), 201)
  const robots = `/api/v1/orgs/${held.name}/robots`
  await expectStatus(ofClient('POST', robots, { name: 'meter', team_ids: [teamMade.id] }), 201)
  const token = { name: 'cluster', scopes: ['write:billing'] }
  return (await expectStatus(ofClient('POST', `${robots}/meter/tokens`, token), 201)).json.sha1 as string
}

step('Usage is reported, and the month closes', async (t) => {
  const { service } = walk.clients
  const database = await openPatiently(service.databaseUrl)
  await database.query((k) =>
    k('contract_cluster_intervals')
      .where('contract_id', held.contract)
      .update({ bound_from: (nowSeconds - 80 * day) * 1000 }),
  )
  await database.close()
  const month = laterByMonths(monthOf(nowSeconds as UnixSeconds), -1)
  const [created, deleted] = [monthEnd(month) - 3 * day, monthEnd(month) - day]
  held.month = monthText(month).replace('-', '/')
  held.cores = (20 * 2 * day) / (monthEnd(month) - monthStart(month))
  const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()
  const object = {
    product: 'dbProduct',
    group: 'kubedb.com',
    kind: 'Postgres',
    uid: crypto.randomUUID(),
    namespace: held.name,
    namespaceUID: crypto.randomUUID(),
    name: 'orders',
    createdAt: iso(created),
  }
  const events = [
    { type: 'cluster.heartbeat', time: iso(created) },
    { type: 'cluster.mode-changed', time: iso(created), mode: 'prod' },
    {
      type: 'object.created',
      time: iso(created),
      generation: 1,
      milliCPU: 20_000,
      memoryMiB: 1024,
      replicas: 1,
      ...object,
    },
    { type: 'object.deleted', time: iso(deleted), generation: 2, ...object },
  ].map((event) => ({ id: crypto.randomUUID(), ...event }))
  const reported = await expectStatus(
    send('VENDOR', 'POST', `/api/v1/usage/${held.name}/events`, {
      token: await meterToken(),
      body: { clusterUID: held.uid, events },
    }),
    200,
  )
  t.deepEqual(
    reported.json.results.map(({ result }: { result: string }) => result),
    events.map(() => 'accepted'),
  )
  const closed = await expectStatus(
    admin('VENDOR', 'POST', `/api/v1/dashboard/summary/${held.month}/close?org=${held.name}&status=final`),
    200,
  )
  t.like(closed.json, { month: monthText(month), revision: 1, status: 'final', isNew: true })
})

step('The report, the license and the dashboard are right', async (t) => {
  const summary = `/api/v1/dashboard/summary/${held.month}`
  const view = await expectStatus(
    admin(
      'VENDOR',
      'GET',
      `${summary}/usage-report/products/dbProduct/views/objects-usage-view?org=${held.name}&view_type=billable`,
    ),
    200,
  )
  const cpu = Number(held.cores.toFixed(3))
  t.like(view.json, { revision: 1, status: 'final', totals: { cpu, prod: { cpu }, objectCount: 1 } })
  t.like(view.json.items[0], {
    clusterUID: held.uid,
    name: 'orders',
    uses: [{ contractID: held.contract, class: 'prod', cpu }],
  })
  const { baseUrl, adminToken } = walk.clients.service
  const report = `${summary}/download?org=${held.name}`
  await expectStatus(admin('VENDOR', 'GET', report), 200)
  const file = await fetch(`${baseUrl}${report}`, { headers: { authorization: `Bearer ${adminToken}` } })
  const { pages } = await readPdf(new Uint8Array(await file.arrayBuffer()))
  for (const part of ['orders', cpu.toFixed(3)]) t.true(pages.join(' ').includes(part), `${part}: ${pages.join(' ')}`)
  const licenses = await expectStatus(admin('VENDOR', 'GET', `/api/v1/contracts/${held.contract}/licenses`), 200)
  t.is(licenses.json.length, 1)
  const customers = await expectStatus(admin('VENDOR', 'GET', `${summary}/customers`), 200)
  t.like(
    customers.json.customers.find(({ account }: { account: string }) => account === held.name),
    { revision: 1, status: 'final', products: [{ product: 'dbProduct', cpu }] },
  )
  const read = await expectStatus(
    send('PROXY', 'GET', `/metrics/${held.backend}/api/v1/query?query=up`, { token: held.client.token }),
    200,
  )
  t.deepEqual(read.json.data, { metricsOf: `user.${held.id}` })
})

step('The subscription ends, and everything is revoked', async (t) => {
  await expectStatus(admin('MARKET', 'DELETE', subscriptionPath()), 200)
  t.like((await expectStatus(admin('MARKET', 'GET', subscriptionPath()), 200)).json, { state: 'Revoked' })
  await expectStatus(admin('VENDOR', 'POST', `/api/v1/contracts/${held.contract}/revoke`), 200)
  const refused = await ofClient(
    'POST',
    `/api/v1/user/contracts/${held.contract}/clusters/${held.bound}/issue-license?org=${held.name}`,
  )
  t.like(refused, { status: 405, json: { code: 'LicenseProhibited' } })
  const crl = await expectStatus(send('VENDOR', 'GET', '/api/v1/licenses/crl.pem'), 200)
  const lists = join(folder, 'crl.pem')
  writeFileSync(lists, crl.text)
  t.regex(openssl('verify', '-CAfile', held.ca, '-CRLfile', lists, '-crl_check', held.license), /certificate revoked/)
})

const kindsOfSpoke = [
  namespaces,
  serviceAccounts,
  secrets,
  configMaps,
  roleBindings,
  clusterRoles,
  clusterRoleBindings,
] as const

/** The objects of an API server that have a text anywhere, as `Secret acme/web`. */
const objectsNaming = async (client: KubeClient, kinds: readonly Kind<KubeObject>[], text: string) => {
  const lists = await Promise.all(kinds.map(async (kind) => ({ kind, ...(await client.list(kind)) })))
  return lists.flatMap(({ kind, items }) =>
    items
      .filter((each) => JSON.stringify(each).includes(text))
      .map(({ metadata }) => `${kind.kind} ${metadata.namespace ?? ''}/${metadata.name}`),
  )
}

step('Nothing is left on the cluster', async (t) => {
  const { clients, features, perses } = walk
  const { hub } = clients
  const { set, featureSet, feature, namespace } = features
  await expectStatus(ofClient('POST', '/api/v1/tsproxy/dashB/unregister', { clusterUID: held.uid }), 200)
  t.deepEqual(perses.all(`user.${held.id}`, 'datasources'), [])
  await expectStatus(
    send('VENDOR', 'POST', `/api/v1/clusters/${clients.org}/hub/clustersets/${set}/disable-featureset`, {
      token: clients.vendor.token,
      body: { clusterSet: set, featureSet },
    }),
    200,
  )
  await until('the removal of the feature', async () =>
    (await hub.spoke.get(helmReleases, feature, namespace)) === undefined &&
    (await hub.client.get(manifestWorks, featureSet, clients.spoke)) === undefined
      ? true
      : undefined,
  )
  const kept = await admin('VENDOR', 'DELETE', `/api/v1/user/client/delete/${held.id}`)
  t.like(kept, { status: 400, json: { code: 'ClientOrgInUse' } })
  t.is(kept.json.message, 'The client organization cannot be deleted while it owns contract Databases.')
  await expectStatus(
    admin('VENDOR', 'POST', `/api/v1/user/client/${held.name}/delete-cluster`, clients.cluster(clients.spoke)),
    200,
  )
  const task = await clients.settled(held.name)
  t.is(task.state, 'succeeded', JSON.stringify(task))
  const status = await expectStatus(admin('VENDOR', 'GET', `/api/v1/user/client/${held.name}/status`), 200)
  t.is(status.json.status, 'Deleted')
  t.deepEqual(await clients.namespacesOf(held.name), [])
  t.deepEqual(await objectsNaming(hub.spoke, [...kindsOfSpoke, helmReleases], held.name), [])
  const left = (await hub.client.list(accounts)).items.filter(
    ({ metadata }) => metadata.labels?.['authentication.k8s.appscode.com/hub-owner'] === String(held.id),
  )
  t.deepEqual(left, [])
  t.false((await walk.applied()).includes(featureSet))
  const read = await send('PROXY', 'GET', `/metrics/${held.backend}/api/v1/query?query=up`, {
    token: held.client.token,
  })
  t.is(read.status, 403)
})
