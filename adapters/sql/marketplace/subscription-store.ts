import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import type { ContractId } from '../../../core/contracts/types.ts'
import type { AccountId, UserId } from '../../../core/kernel/ids.ts'
import { fromWireJson, toWireJson } from '../../../core/kernel/json.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { SubscriptionChanges, SubscriptionKey, SubscriptionStore } from '../../../core/marketplace/ports.ts'
import type {
  Lifecycle,
  Marketplace,
  Plan,
  ProviderError,
  Subscription,
  SubscriptionEvent,
  SubscriptionId,
  SubscriptionState,
} from '../../../core/marketplace/types.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Bind, Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface SubscriptionRow {
  readonly id: number
  readonly ref: string
  readonly marketplace: string
  readonly state: string
  readonly installer_ref: string
  readonly is_provisioned: Num
  readonly is_tombstone: Num
  /** As text: beyond 2^53. */
  readonly last_ticks: string | null
  readonly application_id: string
  readonly resource_usage_id: string
  readonly plan: string
  readonly error: string | null
  readonly contract_ids: string
  readonly account_id: number | null
  readonly claimed_by: number | null
  readonly cluster_id: string
  readonly alerts: number
  readonly alerted_at: number | null
  readonly created_at: number
  readonly updated_at: number
}

const columns = [
  'id',
  'ref',
  'marketplace',
  'state',
  'installer_ref',
  'is_provisioned',
  'is_tombstone',
  'application_id',
  'resource_usage_id',
  'plan',
  'error',
  'contract_ids',
  'account_id',
  'claimed_by',
  'cluster_id',
  'alerts',
  'alerted_at',
  'created_at',
  'updated_at',
] as const

const subscriptionOf = (row: SubscriptionRow): Subscription => ({
  id: row.id as SubscriptionId,
  ref: row.ref,
  marketplace: row.marketplace as Marketplace,
  state: row.state as SubscriptionState,
  installerRef: row.installer_ref === '' ? undefined : row.installer_ref,
  isProvisioned: Number(row.is_provisioned) === 1,
  isTombstone: Number(row.is_tombstone) === 1,
  lastTicks: row.last_ticks === null ? undefined : BigInt(row.last_ticks),
  applicationId: row.application_id,
  resourceUsageId: row.resource_usage_id,
  plan: fromWireJson(row.plan) as Plan,
  error: row.error === null ? undefined : (fromWireJson(row.error) as ProviderError),
  contractIds: fromWireJson(row.contract_ids) as readonly ContractId[],
  accountId: row.account_id === null ? undefined : (row.account_id as AccountId),
  claimedBy: row.claimed_by === null ? undefined : (row.claimed_by as UserId),
  clusterId: row.cluster_id,
  alerts: Number(row.alerts),
  alertedAt: row.alerted_at === null ? undefined : new Date(row.alerted_at),
  createdAt: new Date(row.created_at),
  updatedAt: new Date(row.updated_at),
})

/** What identifies a subscription may be longer than an index takes. */
const keyHash = ({ marketplace, text }: SubscriptionKey): Uint8Array =>
  createHash('sha256')
    .update(toWireJson([marketplace, text]))
    .digest()

const noPlan = toWireJson({ publisher: '', product: '', name: '', version: '' } satisfies Plan)

const reads = (db: SqlDatabase) => {
  const select = (k: Knex): Knex.QueryBuilder =>
    k('marketplace_subscriptions').select(
      ...columns,
      k.raw(`cast(last_ticks as ${db.dialect === 'sqlite' ? 'text' : 'char'}) as last_ticks`),
    )
  return {
    list: pageQuery(
      db,
      (k) => k('marketplace_subscriptions').where('is_tombstone', 0),
      (k, rows, cut) => cut(rows.select(...columns, k.raw('null as last_ticks')).orderBy('id', 'desc')),
    ),
    find: db.prepare((k, p: Params<'marketplace' | 'ref'>) =>
      select(k).where({ ref: p('ref'), marketplace: p('marketplace'), is_tombstone: 0 }),
    ),
    findById: db.prepare((k, p: Params<'id'>) => select(k).where('id', p('id'))),
    lock: db.prepare((k, p: Params<'key'>) => select(k).where('key_hash', p('key')).forUpdate()),
    lockById: db.prepare((k, p: Params<'id'>) => select(k).where('id', p('id')).forUpdate()),
    lockByRef: db.prepare((k, p: Params<'marketplace' | 'ref'>) =>
      select(k)
        .where({ ref: p('ref'), marketplace: p('marketplace') })
        .forUpdate(),
    ),
    history: db.prepare((k, p: Params<'id' | 'limit'>) =>
      k('marketplace_events')
        .where('subscription_id', p('id'))
        .select('id', 'at', 'operation', 'outcome', 'description', 'state')
        .orderBy('id', 'desc')
        .limit(p('limit')),
    ),
  }
}

type LifecycleBind = 'state' | 'installer' | 'provisioned' | 'tombstone' | 'ticks'
const lifecycleIn = (p: Params<LifecycleBind>) => ({
  state: p('state'),
  installer_ref: p('installer'),
  is_provisioned: p('provisioned'),
  is_tombstone: p('tombstone'),
  last_ticks: p('ticks'),
})
const lifecycleBinds = (lifecycle: Lifecycle): Record<LifecycleBind, Bind> => ({
  state: lifecycle.state,
  installer: lifecycle.installerRef ?? '',
  provisioned: lifecycle.isProvisioned,
  tombstone: lifecycle.isTombstone,
  ticks: lifecycle.lastTicks ?? null,
})

const writes = (db: SqlDatabase) => ({
  obtain: db.prepare((k, p: Params<LifecycleBind | 'ref' | 'marketplace' | 'key' | 'application' | 'plan' | 'at'>) =>
    k('marketplace_subscriptions')
      .insert({
        ...lifecycleIn(p),
        ref: p('ref'),
        marketplace: p('marketplace'),
        key_hash: p('key'),
        application_id: p('application'),
        plan: p('plan'),
        contract_ids: '[]',
        created_at: p('at'),
        updated_at: p('at'),
      })
      .onConflict('key_hash')
      .merge(['key_hash']),
  ),
  record: db.prepare((k, p: Params<'id' | 'at' | 'operation' | 'outcome' | 'description' | 'state'>) =>
    k('marketplace_events').insert({
      subscription_id: p('id'),
      at: p('at'),
      operation: p('operation'),
      outcome: p('outcome'),
      description: p('description'),
      state: p('state'),
    }),
  ),
  oldTombstones: db.prepare((k, p: Params<'since' | 'limit'>) =>
    k('marketplace_subscriptions')
      .where('is_tombstone', 1)
      .where('updated_at', '<', p('since'))
      .orderBy('id')
      .limit(p('limit'))
      .select('id'),
  ),
  removeTombstone: db.prepare((k, p: Params<'id'>) =>
    k('marketplace_subscriptions')
      .where({ id: p('id'), is_tombstone: 1 })
      .delete(),
  ),
})

/** Returns the columns that changes set. */
const changedColumns = (changes: SubscriptionChanges, at: Date): Record<string, Bind> => ({
  updated_at: at.getTime(),
  ...(changes.lifecycle === undefined
    ? {}
    : {
        state: changes.lifecycle.state,
        installer_ref: changes.lifecycle.installerRef ?? '',
        is_provisioned: changes.lifecycle.isProvisioned ? 1 : 0,
        is_tombstone: changes.lifecycle.isTombstone ? 1 : 0,
        last_ticks: changes.lifecycle.lastTicks?.toString() ?? null,
      }),
  ...(changes.plan === undefined ? {} : { plan: toWireJson(changes.plan) }),
  ...(changes.resourceUsageId === undefined ? {} : { resource_usage_id: changes.resourceUsageId }),
  ...(changes.error === undefined ? {} : { error: toWireJson(changes.error) }),
  ...(changes.clusterId === undefined ? {} : { cluster_id: changes.clusterId }),
  ...(changes.accountId === undefined ? {} : { account_id: changes.accountId }),
  ...(changes.claimedBy === undefined ? {} : { claimed_by: changes.claimedBy }),
  ...(changes.contractIds === undefined ? {} : { contract_ids: toWireJson(changes.contractIds) }),
  ...(changes.alertedAt === undefined ? {} : { alerted_at: changes.alertedAt.getTime() }),
})

interface EventRow {
  readonly id: number
  readonly at: number
  readonly operation: string
  readonly outcome: string
  readonly description: string
  readonly state: string
}

const eventOf = (row: EventRow): SubscriptionEvent => ({
  id: row.id,
  at: new Date(row.at),
  operation: row.operation,
  outcome: row.outcome as SubscriptionEvent['outcome'],
  description: row.description,
  state: row.state as SubscriptionState,
})

/** SubscriptionStore over the tables marketplace_subscriptions and marketplace_events. */
export const makeSqlSubscriptionStore = (db: SqlDatabase): ((runner: SqlRunner) => SubscriptionStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => {
    const one = async (row: Promise<SubscriptionRow | undefined>): Promise<Subscription | undefined> => {
      const found = await row
      return found === undefined ? undefined : subscriptionOf(found)
    }
    return {
      list: async (page) => mapPage(await s.list<SubscriptionRow>(runner, {}, page), subscriptionOf),
      find: (marketplace, ref) => one(runner.first(s.find, { marketplace, ref })),
      findById: (id) => one(runner.first(s.findById, { id })),
      lock: (key) => one(runner.first(s.lock, { key: keyHash(key) })),
      lockById: (id) => one(runner.first(s.lockById, { id })),
      lockByRef: (marketplace, ref) => one(runner.first(s.lockByRef, { marketplace, ref })),
      async obtain({ key, ref, applicationId }, lifecycle, at) {
        await runner.run(s.obtain, {
          ...lifecycleBinds(lifecycle),
          ref,
          marketplace: key.marketplace,
          key: keyHash(key),
          application: applicationId,
          plan: noPlan,
          at: at.getTime(),
        })
        const found = await one(runner.first(s.lock, { key: keyHash(key) }))
        if (found === undefined) throw new Error('A subscription that was just inserted does not exist.')
        return found
      },
      async update(id, changes, at) {
        await runner.query((k) =>
          k('marketplace_subscriptions')
            .where('id', id)
            .update({
              ...changedColumns(changes, at),
              ...(changes.alertedAt === undefined ? {} : { alerts: k.raw('alerts + 1') }),
            }),
        )
      },
      async record(id, { at, operation, outcome, description, state }) {
        await runner.run(s.record, {
          id,
          at: at.getTime(),
          operation: operation.slice(0, 80),
          outcome,
          description: description.slice(0, 512),
          state,
        })
      },
      async history(id, limit) {
        return (await runner.all<EventRow>(s.history, { id, limit })).map(eventOf).reverse()
      },
      async removeTombstones(unchangedSince, limit) {
        const rows = await runner.all<{ readonly id: number }>(s.oldTombstones, {
          since: unchangedSince.getTime(),
          limit,
        })
        for (const { id } of rows) await runner.run(s.removeTombstone, { id })
        return rows.length
      },
    }
  }
}
