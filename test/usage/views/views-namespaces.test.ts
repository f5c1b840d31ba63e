import { randomUUID } from 'node:crypto'
import test, { type ExecutionContext } from 'ava'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import type { UsageClusterId, UsageObjectId } from '../../../core/usage/types.ts'
import type { DatabaseInventory } from '../../../core/usage/views/ports.ts'
import { makeReportNamespaces } from '../../../core/usage/views/namespace-reports.ts'
import { unwrap } from '../../support/outcome.ts'
import { expectStatus, makePeople, type Person } from '../../clusters/cluster-fixture.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import { eachDatabase } from '../../support/databases.ts'
import { startService, type TestService } from '../../support/service.ts'

/** The reports on the databases of namespaces, as owners of contracts read them. */

const base = '/api/v1/dbaas/billing/reports'
const nowSeconds = Math.floor(Date.now() / 1000)
const day = 86_400
const instant = (seconds: number): string => new Date(seconds * 1000).toISOString()

for (const { name: database } of eachDatabase()) {
  let service: TestService
  let people: ReturnType<typeof makePeople>
  let owner: Person
  let stranger: Person
  let org: string

  const on = (title: string, run: (t: ExecutionContext) => Promise<void>): void =>
    void test(`${database}: ${title}`, run)

  test.before(async () => {
    service = await startService({
      database,
      settings: {
        MOORAGE_BILLING_ENABLED: 'true',
        MOORAGE_USAGE_REPORTERS: 'anyone',
        MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
      },
    })
    people = makePeople(service)
    owner = await people.person('owner')
    stranger = await people.person('stranger')
    org = await people.organization(owner)
  })
  test.after.always(() => service?.stop())

  const as = (person: Person, method: string, path: string, body?: unknown): Promise<ServiceAnswer> =>
    service.send(method, path, { token: person.token, ...(body === undefined ? {} : { body }) })

  /** A contract of an account with clusters bound to it. */
  const contractWith = async (
    account: string,
    clusters: readonly string[],
    enableClientBilling: boolean,
  ): Promise<void> => {
    const body = {
      orgOrUser: account,
      name: `Contract ${randomUUID()}`,
      products: ['database'],
      features: ['db-basic'],
      start: nowSeconds - day,
      end: nowSeconds + 30 * day,
      enableClientBilling,
    }
    const made = await expectStatus(service.send('POST', '/api/v1/contracts', { token: service.adminToken, body }), 201)
    const id = (made.json as { id: number }[])[0]!.id
    await expectStatus(
      service.send('POST', `/api/v1/contracts/${id}/clusters`, {
        token: service.adminToken,
        body: clusters.map((cluster) => ({ cluster, displayName: `of ${account}` })),
      }),
      201,
    )
  }

  const identity = (namespace: string, name: string) => ({
    product: 'dbProduct',
    group: 'kubedb.com',
    kind: 'Postgres',
    uid: randomUUID(),
    namespace,
    namespaceUID: randomUUID(),
    name,
    createdAt: instant(nowSeconds - 10 * day),
  })
  const sized = (generation: number, at: number, sizeMiB: number) => ({
    id: randomUUID(),
    type: generation === 1 ? 'object.created' : 'object.resized',
    time: instant(at),
    generation,
    milliCPU: 1500,
    memoryMiB: 6144,
    replicas: 3,
    details: {
      pods: [{ milliCPU: 500, memoryMiB: 2048, count: 3 }],
      volumes: [{ name: 'data-0', sizeMiB, createdAt: instant(nowSeconds - 10 * day) }],
    },
  })
  const report = async (
    person: Person,
    account: string,
    clusterUID: string,
    events: readonly object[],
  ): Promise<void> => {
    const { json } = await expectStatus(
      as(person, 'POST', `/api/v1/usage/${account}/events`, { clusterUID, events }),
      200,
    )
    for (const result of json.results as { result: string }[])
      if (result.result !== 'accepted') throw new Error(JSON.stringify(result))
  }

  on(
    'a contract in force must include reports for clients: 403 without one, for all clusters or for this one',
    async (t) => {
      const account = await people.organization(owner)
      const [without, withOne] = [randomUUID(), randomUUID()]
      const paths = [
        `${base}/namespaces?org=${account}`,
        `${base}/clusters/${without}/namespaces/shop?org=${account}`,
        `${base}/clusters/${withOne}/namespaces/none?org=${account}`,
      ]
      const codes = async () => Promise.all(paths.map(async (path) => (await as(owner, 'GET', path)).status))
      t.deepEqual(await codes(), [403, 403, 403])
      await contractWith(account, [without], false)
      await report(owner, account, without, [
        { ...identity('shop', 'orders'), ...sized(1, nowSeconds - 9 * day, 1024) },
      ])
      t.deepEqual(await codes(), [403, 403, 403])
      await contractWith(account, [withOne], true)
      await report(owner, account, withOne, [
        { ...identity('shop', 'orders'), ...sized(1, nowSeconds - 9 * day, 1024) },
      ])
      t.deepEqual(await codes(), [200, 403, 404])
      const { json } = await as(owner, 'GET', paths[0]!)
      t.deepEqual(
        (json.items as { clusterInfo: { uid: string; name: string } }[]).map(({ clusterInfo: { uid, name } }) => [
          uid,
          name,
        ]),
        [[withOne, `of ${account}`]],
        'the name that the views of months show too',
      )
    },
  )

  on('a namespace has its databases with pods and volumes, and a missing one is 404', async (t) => {
    const cluster = randomUUID()
    await contractWith(org, [cluster], true)
    const orders = identity('shop', 'orders')
    const observed = {
      id: randomUUID(),
      type: 'namespace.observed',
      time: instant(nowSeconds - day),
      namespace: 'shop',
      namespaceUID: orders.namespaceUID,
      createdAt: instant(nowSeconds - 20 * day),
      labels: { team: 'blue' },
      annotations: { note: '=1' },
    }
    await report(owner, org, cluster, [
      { ...orders, ...sized(1, nowSeconds - 9 * day, 10_240) },
      { ...orders, ...sized(2, nowSeconds - 5 * day, 20_480) },
      observed,
    ])
    await report(owner, org, cluster, [{ ...identity('other', 'cache'), ...sized(1, nowSeconds - 9 * day, 1024) }])
    const { json } = await expectStatus(
      as(owner, 'GET', `${base}/clusters/${cluster.toUpperCase()}/namespaces/shop?org=${org}`),
      200,
    )
    t.deepEqual(json.namespaceInfo, {
      name: 'shop',
      uid: orders.namespaceUID,
      labels: { team: 'blue' },
      annotations: { note: '=1' },
      createdAt: nowSeconds - 20 * day,
    })
    t.is(json.databases.length, 1)
    t.like(json.databases[0].databaseInfo, { name: 'orders', kind: 'Postgres', product: 'dbProduct', deletedAt: null })
    t.like(json.databases[0].podDetails[0], { flavor: { cpu: '500m', memory: '2Gi' }, count: 3 })
    t.deepEqual(json.databases[0].volumeDetails, [
      {
        name: 'data-0',
        initialSize: '10Gi',
        expansions: [{ size: '20Gi', at: nowSeconds - 5 * day }],
        createdAt: nowSeconds - 10 * day,
        deletedAt: null,
      },
    ])
    for (const missing of [
      `${cluster}/namespaces/none`,
      `${randomUUID()}/namespaces/shop`,
      `${cluster}/namespaces/%25`,
    ])
      t.is((await as(owner, 'GET', `${base}/clusters/${missing}?org=${org}`)).status, 404, missing)
    const all = (await expectStatus(as(owner, 'GET', `${base}/namespaces?org=${org}`), 200)).json.items as {
      clusterInfo: { uid: string }
      namespaceInfo: { name: string }
    }[]
    t.deepEqual(
      all.filter(({ clusterInfo }) => clusterInfo.uid === cluster).map(({ namespaceInfo }) => namespaceInfo.name),
      ['other', 'shop'],
    )
  })

  on('two accounts with the same cluster see what was reported to each; others are refused', async (t) => {
    const [cluster, theirOrg] = [randomUUID(), await people.organization(stranger)]
    for (const [person, account, namespace] of [
      [owner, org, 'mine'],
      [stranger, theirOrg, 'theirs'],
    ] as const) {
      await contractWith(account, [cluster], true)
      await report(person, account, cluster, [
        { ...identity(namespace, 'orders'), ...sized(1, nowSeconds - day, 1024) },
      ])
    }
    t.is((await as(owner, 'GET', `${base}/clusters/${cluster}/namespaces/mine?org=${org}`)).status, 200)
    t.is((await as(owner, 'GET', `${base}/clusters/${cluster}/namespaces/theirs?org=${org}`)).status, 404)
    t.false((await as(owner, 'GET', `${base}/namespaces?org=${org}`)).text.includes('theirs'))
    for (const path of [`${base}/namespaces`, `${base}/clusters/${cluster}/namespaces/mine`]) {
      t.is((await as(stranger, 'GET', `${path}?org=${org}`)).status, 403)
      t.is((await as(owner, 'GET', `${path}?org=org-of-nobody`)).status, 404)
      t.is((await as(owner, 'GET', path)).status, 400)
      t.is((await service.send('GET', `${path}?org=${org}`)).status, 401)
      t.is(
        (await service.send('GET', `${path}?org=${org}`, { token: service.adminToken })).status,
        200,
        'a site admin may',
      )
    }
    const viewer = await people.person('viewer')
    await people.teamWithRole(owner, org, [viewer], [{ namespace: 'usage_mgmt', action: 'view billing' }])
    t.is((await as(viewer, 'GET', `${base}/namespaces?org=${org}`)).status, 200, 'a role gives the right')
  })

  on('a user sees the reports of the own account', async (t) => {
    const [person, cluster] = [await people.person('person'), randomUUID()]
    await contractWith(person.login, [cluster], true)
    await report(person, person.login, cluster, [
      { ...identity('shop', 'orders'), ...sized(1, nowSeconds - day, 1024) },
    ])
    t.is((await expectStatus(as(person, 'GET', `${base}/namespaces?org=${person.login}`), 200)).json.items.length, 1)
  })
}

test('only the databases of the current namespace are in memory', async (t) => {
  const read: number[][] = []
  const cluster = {
    id: 1 as UsageClusterId,
    uid: 'u',
    name: 'n',
    kubernetesVersion: '',
    provider: '',
    nodeCount: 0,
    isEnabled: true,
  }
  const inventory: DatabaseInventory = {
    isEnabled: async () => true,
    clustersOf: async () => [cluster],
    databaseIdsOf: async () => new Map(['shop', 'bank', 'tax'].map((name, at) => [name, [at as UsageObjectId]])),
    async *databases(ids) {
      read.push([...ids])
      yield []
    },
    databasesIn: () => t.fail() as never,
    namespacesOf: async () => [],
  }
  const answer = unwrap(
    await makeReportNamespaces({ inventory, clock: { now: () => new Date(0) } })({} as SignedInCall<never>, {
      ownerId: 1 as AccountId,
    }),
  )
  const seen: string[] = []
  for await (const text of answer.json()) {
    seen.push(...[...text.matchAll(/"namespaceInfo":\{"name":"(\w+)"/g)].map(([, name]) => name ?? ''))
    t.is(read.length, seen.length)
  }
  t.deepEqual(seen, ['bank', 'shop', 'tax'])
  t.deepEqual(read, [[1], [0], [2]])
})

test('databases deleted in the last six months are shown', async (t) => {
  const sinceAt = async (now: string): Promise<string> => {
    let shownSince = 0
    const inventory: DatabaseInventory = {
      isEnabled: async () => true,
      clustersOf: async () => [
        {
          id: 1 as UsageClusterId,
          uid: randomUUID(),
          name: '',
          kubernetesVersion: '',
          provider: '',
          nodeCount: 0,
          isEnabled: true,
        },
      ],
      databaseIdsOf: async (_cluster, since) => ((shownSince = since), new Map()),
      databases: () => t.fail() as never,
      databasesIn: () => t.fail() as never,
      namespacesOf: async () => [],
    }
    const answer = unwrap(
      await makeReportNamespaces({ inventory, clock: { now: () => new Date(now) } })({} as SignedInCall<never>, {
        ownerId: 1 as AccountId,
      }),
    )
    for await (const _ of answer.json());
    return new Date(shownSince * 1000).toISOString().slice(0, 16)
  }
  t.is(await sinceAt('2026-08-31T10:00:00Z'), '2026-02-28T10:00')
  t.is(await sinceAt('2028-08-30T10:00:00Z'), '2028-02-29T10:00')
  t.is(await sinceAt('2026-10-31T10:00:00Z'), '2026-04-30T10:00')
  t.is(await sinceAt('2026-03-31T10:00:00Z'), '2025-09-30T10:00')
  t.is(await sinceAt('2026-11-24T10:00:00Z'), '2026-05-24T10:00')
})
