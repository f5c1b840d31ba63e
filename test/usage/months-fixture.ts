import type { ClosingWatch } from '../../composition/parts/usage/closing-process.ts'
import { noTracing } from '../../core/platform/ports.ts'
import { unwatchedHelpers } from '../support/child-processes.ts'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { makeHmacDigest } from '../../adapters/security/digests.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlBindingStore } from '../../adapters/sql/contracts/binding-store.ts'
import { makeSqlContractStore } from '../../adapters/sql/contracts/contract-store.ts'
import { makeSqlUnitOfWork, unaudited } from '../../adapters/sql/engine/unit-of-work.ts'
import { makeSqlLeaseStore } from '../../adapters/sql/kernel/instance-store.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlUsageClusterStore } from '../../adapters/sql/usage/cluster-store.ts'
import { makeSqlUsageUpkeepStore } from '../../adapters/sql/usage/interval-store.ts'
import { makeSqlFinalMonthOutbox, makeSqlMonthStore } from '../../adapters/sql/usage/month-store.ts'
import { makeSqlUsageInputs } from '../../adapters/sql/usage/usage-inputs.ts'
import { makeSqlUsageViewStore } from '../../adapters/sql/usage/view-store.ts'
import { makeSpools } from '../../adapters/system/spools.ts'
import { makeAuditChain } from '../../core/audit/audit-chain.ts'
import type { ContractTerms } from '../../core/contracts/types.ts'
import { newDetails, newTerms } from '../../core/contracts/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { SettleMonth } from '../../core/usage/events/ports.ts'
import { makeSettleMonth } from '../../core/usage/events/upkeep.ts'
import { daySeconds, monthEnd, monthKey, monthStart } from '../../core/usage/month.ts'
import type { CloseDeps } from '../../core/usage/months/close.ts'
import { makeCloseMonth } from '../../core/usage/months/close.ts'
import type { MonthWork } from '../../core/usage/months/month-work.ts'
import { makeMonthWork } from '../../core/usage/months/month-work.ts'
import type { Spools, UsageInputs } from '../../core/usage/months/ports.ts'
import { makeGatherMonth } from '../../core/usage/months/product-month.ts'
import type { UnixSeconds } from '../../core/usage/types.ts'
import type { UsageViewSink } from '../../core/usage/views/view-writer.ts'
import { storeFixture } from '../authz/stored-fixture.ts'

export const owner = 11 as AccountId
export const month = monthKey(2026, 10)
export const start = monthStart(month)
export const end = monthEnd(month)

/** A digest of texts as the service makes it. */
const sha256 = () => {
  const hash = createHash('sha256')
  return { add: (text: string) => void hash.update(text), end: () => hash.digest('hex') }
}

const contractTerms: ContractTerms = {
  ...newTerms,
  ...newDetails,
  name: 'Databases',
  product: 'database',
  quota: { ...newTerms.quota, metric: 'cpu_core_month' },
  startsAt: new Date(start * 1000),
  endsAt: new Date((end + 90 * daySeconds) * 1000),
  allowsTrials: true,
  maxTrials: 100,
}

export interface Occupied {
  readonly from: number
  readonly to: number
  readonly milliCpu: number
  readonly memoryMib: number
  readonly cutAt?: number
}

/** Months over a database with the organization 11, its tables filled by hand, and a clock that the test moves. */
export const makeMonthsFixture = async (db: SqlDatabase, isEmpty = true) => {
  if (isEmpty)
    await storeFixture(db, {
      users: [1],
      orgs: [{ id: owner, visibility: 'private', members: [1], teams: [], roles: [], grants: [] }],
      clusters: [],
      tokens: [],
    })
  let now = new Date((end + 3600) * 1000)
  const clock = { now: () => now }
  const finalMonths = makeSqlFinalMonthOutbox(db)
  const [contracts, bindings, months, views] = [
    makeSqlContractStore(db, clock)(db),
    makeSqlBindingStore(db, clock)(db),
    makeSqlMonthStore(db),
    makeSqlUsageViewStore(db)(db),
  ]
  const [inputs, spools] = [makeSqlUsageInputs(db), makeSpools(tmpdir())]
  /** Reads where it is called, with other ports in place of some. */
  const gatherWith = (
    changes: {
      readonly settle?: SettleMonth
      readonly inputs?: UsageInputs
      readonly spools?: Spools
      readonly views?: UsageViewSink
      readonly work?: MonthWork
      readonly lanes?: MonthWork['lanes']
    } = {},
  ) => {
    // The tables are filled as if they were settled.
    const ports = { settle: async () => undefined, inputs, spools, views, digest: sha256, ...changes }
    const here = makeMonthWork(ports)
    return makeGatherMonth({ ...ports, work: changes.work ?? { ...here, lanes: changes.lanes ?? here.lanes } })
  }
  const deps: CloseDeps = {
    gather: gatherWith(),
    digest: sha256,
    clock,
    leases: makeSqlLeaseStore(db),
    newHolder: randomUUID,
    months: months(db),
    unitOfWork: makeSqlUnitOfWork(
      db,
      (tx, audit) => ({
        months: months(tx),
        audit,
        mail: { post: async () => undefined },
        events: finalMonths(tx),
        contractsIn: async () => [],
      }),
      makeSqlAuditTrail(db, makeAuditChain(makeHmacDigest(new Uint8Array(randomBytes(32))))),
    ),
    report: { write: async () => undefined },
  }
  const [clusters, upkeep] = [makeSqlUsageClusterStore(db), makeSqlUsageUpkeepStore(db)]
  const upkeepWork = makeSqlUnitOfWork(db, (tx) => ({ clusters: clusters(tx), upkeep: upkeep(tx) }), unaudited)
  const insert = (
    table: string,
    rows: Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[],
  ) => db.query((k) => k(table).insert(rows))
  const count = async (table: string): Promise<number> =>
    Number((await db.query<{ readonly n: number | string }>((k) => k(table).count('* as n')))[0]?.n)
  let rows = 0
  return {
    db,
    deps,
    inputs,
    spools,
    views,
    contracts,
    close: makeCloseMonth(deps),
    gatherWith,
    closeWith: (changes: Partial<CloseDeps>) => makeCloseMonth({ ...deps, ...changes }),
    finalMonths: finalMonths(db),
    settle: makeSettleMonth({ clock: deps.clock, clusters: clusters(db), unitOfWork: upkeepWork }),
    setNow: (seconds: number) => void (now = new Date(seconds * 1000)),
    count,
    /** A cluster that was heard in all hours of a month. */
    async cluster(uid: string = randomUUID(), inMonth = month) {
      const id = (rows += 1)
      await insert('usage_clusters', {
        id,
        owner_id: owner,
        cluster_uid: uid,
        first_heard: monthStart(inMonth),
        last_heard: monthEnd(inMonth) - 3600,
        carried_month: inMonth,
      })
      await insert('usage_presence', { cluster_id: id, month: inMonth, hours: Buffer.alloc(93, 0xff) })
      return { id, uid }
    },
    async kind(product = 'dbProduct', kind = 'Postgres') {
      const id = (rows += 1)
      await insert('usage_kinds', { id, product, api_group: 'kubedb.example', kind })
      return id
    },
    async object(
      clusterId: number,
      kindId: number,
      occupied: readonly Occupied[],
      about: {
        readonly uid?: string
        readonly trialEndsAt?: number
        readonly month?: number
        readonly namespace?: string
        readonly name?: string
      } = {},
    ) {
      const id = (rows += 1)
      const uid = about.uid ?? randomUUID()
      await insert('usage_objects', {
        id,
        cluster_id: clusterId,
        object_uid: uid,
        kind_id: kindId,
        namespace: about.namespace ?? 'shop',
        namespace_uid: `n-${about.namespace ?? 'shop'}`,
        name: about.name ?? `db-${id}`,
        created_at: occupied[0]?.from ?? start,
        deleted_at: null,
        trial_ends_at: about.trialEndsAt ?? null,
        last_heard_day: Math.floor(end / daySeconds),
        sends_heartbeats: false,
      })
      if (about.trialEndsAt !== undefined) {
        await insert('usage_trials', {
          object_id: id,
          cluster_id: clusterId,
          object_uid: uid,
          kind_id: kindId,
          namespace: about.namespace ?? 'shop',
          name: about.name ?? `db-${id}`,
          created_at: occupied[0]?.from ?? start,
        })
      }
      const intervals = occupied.map(({ from, to, cutAt, milliCpu, memoryMib }, index) => ({
        month: about.month ?? month,
        cluster_id: clusterId,
        object_id: id,
        from_at: from,
        to_at: to,
        cut_at: cutAt ?? to,
        kind_id: kindId,
        milli_cpu: milliCpu,
        memory_mib: memoryMib,
        generation: index + 1,
        replicas: 1,
      }))
      if (intervals.length > 0) await insert('usage_intervals', intervals)
      return { id, uid }
    },
    /** A namespace as it was reported with labels. */
    namespace: (clusterId: number, uid: string, name: string, labels: Readonly<Record<string, string>>) =>
      insert('usage_namespaces', {
        cluster_id: clusterId,
        namespace_uid: uid,
        namespace: name,
        created_at: start,
        labels: JSON.stringify(labels),
        annotations: '{}',
        observed_at: start,
      }),
    mode: (clusterId: number, at: number, mode: 'prod' | 'non-prod') =>
      insert('usage_modes', { cluster_id: clusterId, at, event_id: `m-${at}`, mode }),
    async contract(changes: Partial<ContractTerms>, clusterUid: string, boundFrom: number = start) {
      const id = await contracts.insert(owner, { ...contractTerms, ...changes }, new Date(start * 1000))
      await bindings.add(
        { id, ownerId: owner },
        [{ clusterUid, displayName: `cluster ${clusterUid}` }],
        new Date(boundFrom * 1000),
      )
      return id
    },
    /** What a reader sees of the newest revision: the facts and each view as JSON. */
    async shown(
      viewName: 'objects-usage-view' | 'contracts-usage-view' | 'clusters-usage-view' | 'namespaces-usage-view',
      viewType: 'total' | 'billable' = 'billable',
      revision?: number,
    ) {
      const found = await views.find(owner, month, { product: 'dbProduct', view: viewName, viewType }, revision)
      if (found === undefined) return undefined
      const items: string[] = []
      for await (const piece of views.pieces(found)) items.push(piece)
      return {
        revision: found.month.revision,
        status: found.month.status,
        json: JSON.parse(`${found.head}${items.join(',')}${found.tail}`) as Readonly<Record<string, unknown>>,
      }
    },
    /** Rows of revisions that no reader sees, and of views without a revision. */
    async leftovers() {
      const hidden = await db.query((k) => k('usage_months').whereNull('is_published').select('id'))
      const views = await db.query((k) =>
        k('usage_views')
          .whereNotIn('month_id', k('usage_months').where('is_published', true).select('id'))
          .select('id'),
      )
      const pieces = await db.query((k) =>
        k('usage_view_pieces').whereNotIn('view_id', k('usage_views').select('id')).select('view_id'),
      )
      return hidden.length + views.length + pieces.length
    },
  }
}
export type MonthsFixture = Awaited<ReturnType<typeof makeMonthsFixture>>

/** Two clusters, of which one is in production for half of the month under a contract, with objects that change. */
export const fillMonth = async (fixture: MonthsFixture) => {
  const kind = await fixture.kind()
  const [a, b] = [
    await fixture.cluster('00000000-0000-4000-8000-00000000000a'),
    await fixture.cluster('00000000-0000-4000-8000-00000000000b'),
  ]
  await fixture.mode(a.id, start + 15 * daySeconds, 'prod')
  const contract = await fixture.contract({ name: 'Databases' }, a.uid, start + 3600)
  const half = start + 10 * daySeconds
  await fixture.object(
    a.id,
    kind,
    [
      { from: start, to: half, milliCpu: 500, memoryMib: 1024 },
      { from: half, to: end, milliCpu: 1500, memoryMib: 2048 },
    ],
    { uid: '10000000-0000-4000-8000-000000000001' },
  )
  await fixture.object(a.id, kind, [{ from: start + 7200, to: end, milliCpu: 100, memoryMib: 10 }], {
    uid: '10000000-0000-4000-8000-000000000000',
    trialEndsAt: start + 20 * daySeconds,
  })
  await fixture.object(b.id, kind, [{ from: half, to: end, milliCpu: 333, memoryMib: 777, cutAt: half + 12_345 }], {
    uid: '20000000-0000-4000-8000-000000000001',
  })
  return { kind, a, b, contract }
}

export const second = (at: number): UnixSeconds => at as UnixSeconds

/** Of a process that closes months nothing is told. */
export const unwatchedClosing: ClosingWatch = {
  helpers: unwatchedHelpers,
  tracing: noTracing,
  traces: undefined,
  log: { warn: () => undefined },
}
