import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { toWireJson } from '../../../core/kernel/json.ts'
import type { SealedPlace, SecretBox } from '../../../core/kernel/secret.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type {
  SubscriptionChanges,
  SubscriptionContent,
  SubscriptionKey,
  SubscriptionStore,
} from '../../../core/marketplace/ports.ts'
import type { Lifecycle, Subscription, SubscriptionId } from '../../../core/marketplace/types.ts'
import type { Row } from '../kit/columns.ts'
import { computed, cutTo, exact, flag, int, nullable, pick, without } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { marketplaceEvents, marketplaceSubscriptions } from '../tables/marketplace.ts'

const subscriptionRow = {
  ...without(marketplaceSubscriptions, 'keyHash', 'meteringToken'),
  hasMeteringToken: computed(flag(), 'metering_token is not null'),
}

/** Returns the place of a sealed token. */
const tokenPlace = (ref: string): SealedPlace => ({
  table: 'marketplace_subscriptions',
  column: 'metering_token',
  tenantId: 0,
  rowRef: ref,
})

const subscriptionOf = ({ installerRef, ...row }: Row<typeof subscriptionRow>): Subscription => ({
  ...row,
  installerRef: installerRef === '' ? undefined : installerRef,
})

/** What identifies a subscription may be longer than an index takes. */
const keyHash = ({ marketplace, text }: SubscriptionKey): Uint8Array =>
  createHash('sha256')
    .update(toWireJson([marketplace, text]))
    .digest()

/** A subscription as it is inserted. */
const newSubscription = (
  id: SubscriptionId,
  lifecycle: Lifecycle,
  content: SubscriptionContent,
  identity: Pick<Subscription, 'ref' | 'marketplace' | 'applicationId' | 'createdAt' | 'updatedAt'>,
): Subscription => {
  const { ref, marketplace, applicationId, createdAt, updatedAt } = identity
  return {
    id,
    ...lifecycle,
    ...content,
    ...{ ref, marketplace, applicationId, createdAt, updatedAt },
    accountId: undefined,
    claimedBy: undefined,
    clusterId: '',
    contractIds: [],
    alerts: 0,
    alertedAt: undefined,
    consoleUrl: '',
    hasMeteringToken: false,
    reports: 0,
    reportedAt: undefined,
    formerRef: '',
    floorTicks: undefined,
  }
}

/** The key of a subscription that was followed by another one: no provider names it. */
const formerKey = (ref: string): Uint8Array =>
  createHash('sha256')
    .update(toWireJson(['former', ref]))
    .digest()

const noPlan = { publisher: '', product: '', name: '', version: '' }

/** The columns of a lifecycle. */
const lifecycleValues = ({ state, installerRef, isProvisioned, isTombstone, lastTicks }: Lifecycle) =>
  ({ state, installerRef: installerRef ?? '', isProvisioned, isTombstone, lastTicks }) satisfies Record<
    keyof Lifecycle,
    unknown
  >

const reads = (db: SqlDatabase) => {
  const subscriptions = (k: Knex) => k('marketplace_subscriptions')
  return {
    list: typedPage(
      db,
      {},
      // The ticks, which are not shown, need not be read exactly.
      {
        ...subscriptionRow,
        lastTicks: computed(nullable(exact()), 'null'),
        floorTicks: computed(nullable(exact()), 'null'),
      },
      (k) => subscriptions(k).where('is_tombstone', 0),
      (_, rows, cut) => cut(rows.orderBy('id', 'desc')),
    ),
    find: db.prepare(pick(marketplaceSubscriptions, 'marketplace', 'ref'), subscriptionRow, (k, p) =>
      subscriptions(k).where(
        values(marketplaceSubscriptions, { ref: p.ref, marketplace: p.marketplace, isTombstone: false }),
      ),
    ),
    findById: db.prepare(pick(marketplaceSubscriptions, 'id'), subscriptionRow, (k, p) =>
      subscriptions(k).where('id', p.id),
    ),
    lock: db.prepare(pick(marketplaceSubscriptions, 'keyHash'), subscriptionRow, (k, p) =>
      subscriptions(k).where('key_hash', p.keyHash).forUpdate(),
    ),
    lockById: db.prepare(pick(marketplaceSubscriptions, 'id'), subscriptionRow, (k, p) =>
      subscriptions(k).where('id', p.id).forUpdate(),
    ),
    lockByRef: db.prepare(pick(marketplaceSubscriptions, 'marketplace', 'ref'), subscriptionRow, (k, p) =>
      subscriptions(k)
        .where(values(marketplaceSubscriptions, { ref: p.ref, marketplace: p.marketplace }))
        .forUpdate(),
    ),
    live: db.prepare({ ...pick(marketplaceSubscriptions, 'marketplace'), limit: int() }, subscriptionRow, (k, p) =>
      subscriptions(k)
        .where(values(marketplaceSubscriptions, { marketplace: p.marketplace, isTombstone: false }))
        .whereIn('state', ['Bounded', 'Running'])
        .orderBy('id')
        .limit(p.limit),
    ),
    token: db.prepare(pick(marketplaceSubscriptions, 'id'), pick(marketplaceSubscriptions, 'meteringToken'), (k, p) =>
      subscriptions(k).where('id', p.id),
    ),
    history: db.prepare(
      { ...pick(marketplaceEvents, 'subscriptionId'), limit: int() },
      without(marketplaceEvents, 'subscriptionId'),
      (k, p) => k('marketplace_events').where('subscription_id', p.subscriptionId).orderBy('id', 'desc').limit(p.limit),
    ),
  }
}

/** What an event of the provider sets. */
const applied = pick(
  marketplaceSubscriptions,
  'state',
  'installerRef',
  'isProvisioned',
  'isTombstone',
  'lastTicks',
  'plan',
  'resourceUsageId',
  'error',
  'updatedAt',
)

/** What a new subscription does not have. */
const setLater = [
  'id',
  'accountId',
  'claimedBy',
  'clusterId',
  'alerts',
  'alertedAt',
  'consoleUrl',
  'meteringToken',
  'reports',
  'reportedAt',
  'formerRef',
  'floorTicks',
] as const

const writes = (db: SqlDatabase) => ({
  obtain: insertInto(
    db,
    marketplaceSubscriptions,
    {
      omitted: ['resourceUsageId', 'error', ...setLater],
      fixed: { plan: noPlan, contractIds: [] },
    },
    (insert) => insert.onConflict('key_hash').merge(['key_hash']),
  ),
  // An existing row is changed, so that one row counts as inserted and two as not, and it is locked.
  insert: insertInto(
    db,
    marketplaceSubscriptions,
    {
      omitted: setLater,
      fixed: { contractIds: [] },
    },
    (insert, k) => {
      const known = insert.onConflict('key_hash')
      return db.dialect === 'mysql' ? known.merge({ updated_at: k.raw('updated_at + 1') }) : known.ignore()
    },
  ),
  // The key is given to the subscription that follows.
  release: db.prepare(pick(marketplaceSubscriptions, 'id', 'keyHash'), (k, p) =>
    k('marketplace_subscriptions')
      .where('id', p.id)
      .update(assigned(pick(marketplaceSubscriptions, 'keyHash'), p)),
  ),
  follow: db.prepare(pick(marketplaceSubscriptions, 'id', 'formerRef', 'floorTicks'), (k, p) =>
    k('marketplace_subscriptions')
      .where('id', p.id)
      .update(assigned(pick(marketplaceSubscriptions, 'formerRef', 'floorTicks'), p)),
  ),
  apply: db.prepare({ id: marketplaceSubscriptions.id, ...applied }, (k, p) =>
    k('marketplace_subscriptions').where('id', p.id).update(assigned(applied, p)),
  ),
  setConsole: db.prepare(pick(marketplaceSubscriptions, 'id', 'consoleUrl', 'meteringToken', 'updatedAt'), (k, p) =>
    k('marketplace_subscriptions')
      .where('id', p.id)
      .update(assigned(pick(marketplaceSubscriptions, 'consoleUrl', 'meteringToken', 'updatedAt'), p)),
  ),
  record: insertInto(db, marketplaceEvents, { omitted: ['id'] }),
  oldTombstones: db.prepare(
    { since: marketplaceSubscriptions.updatedAt, limit: int() },
    pick(marketplaceSubscriptions, 'id'),
    (k, p) =>
      k('marketplace_subscriptions')
        .where('is_tombstone', 1)
        .where('updated_at', '<', p.since)
        .orderBy('id')
        .limit(p.limit),
  ),
  removeTombstone: db.prepare(pick(marketplaceSubscriptions, 'id'), (k, p) =>
    k('marketplace_subscriptions')
      .where(values(marketplaceSubscriptions, { id: p.id, isTombstone: true }))
      .delete(),
  ),
})

/** Returns the columns that changes set. A lifecycle without ticks has none. */
const changedColumns = (
  k: Knex,
  { lifecycle, ...changes }: SubscriptionChanges,
  at: Date,
): Record<string, Knex.Value> => {
  const next = lifecycle === undefined ? undefined : lifecycleValues(lifecycle)
  return values(marketplaceSubscriptions, {
    ...changes,
    ...(next && { ...next, lastTicks: next.lastTicks ?? null }),
    alerts: changes.alertedAt === undefined ? undefined : k.raw('alerts + 1'),
    reports: changes.reportedAt === undefined ? undefined : k.raw('reports + 1'),
    updatedAt: at,
  })
}

/** SubscriptionStore over the tables marketplace_subscriptions and marketplace_events. */
export const makeSqlSubscriptionStore = (
  db: SqlDatabase,
  secretBox: SecretBox,
): ((runner: SqlRunner) => SubscriptionStore) => {
  const s = { ...reads(db), ...writes(db) }
  return (runner) => {
    const one = async (row: Promise<Row<typeof subscriptionRow> | undefined>): Promise<Subscription | undefined> => {
      const found = await row
      return found === undefined ? undefined : subscriptionOf(found)
    }
    const insert: SubscriptionStore['insert'] = async ({ key, ref, applicationId }, lifecycle, content, at) => {
      const { marketplace } = key
      const identity = { ref, marketplace, keyHash: keyHash(key), applicationId, createdAt: at, updatedAt: at }
      const row = { ...lifecycleValues(lifecycle), ...content, ...identity }
      const { affected, insertId } = await runner.run(s.insert, row)
      return affected === 1 ? newSubscription(insertId as SubscriptionId, lifecycle, content, identity) : undefined
    }
    return {
      list: async (page) => mapPage(await s.list(runner, {}, page), subscriptionOf),
      find: (marketplace, ref) => one(runner.first(s.find, { marketplace, ref })),
      findById: (id) => one(runner.first(s.findById, { id })),
      lock: (key) => one(runner.first(s.lock, { keyHash: keyHash(key) })),
      lockById: (id) => one(runner.first(s.lockById, { id })),
      lockByRef: (marketplace, ref) => one(runner.first(s.lockByRef, { marketplace, ref })),
      async obtain({ key, ref, applicationId }, lifecycle, at) {
        const { marketplace } = key
        const row = { ref, marketplace, keyHash: keyHash(key), applicationId, createdAt: at, updatedAt: at }
        await runner.run(s.obtain, { ...lifecycleValues(lifecycle), ...row })
        const found = await one(runner.first(s.lock, { keyHash: keyHash(key) }))
        if (found === undefined) throw new Error('A subscription that was just inserted does not exist.')
        return found
      },
      async update(id, changes, at) {
        await runner.query((k) =>
          k('marketplace_subscriptions')
            .where('id', id)
            .update(changedColumns(k, changes, at)),
        )
      },
      insert,
      async begin(former, subscription, lifecycle, content, at) {
        await runner.run(s.release, { id: former.id, keyHash: formerKey(former.ref) })
        const next = await insert(subscription, lifecycle, content, at)
        if (next === undefined) throw new Error('The key of a locked subscription is another one’s.')
        const followed = { formerRef: former.ref, floorTicks: former.lastTicks }
        await runner.run(s.follow, { id: next.id, ...followed })
        return { ...next, ...followed }
      },
      async apply(id, lifecycle, content, at) {
        await runner.run(s.apply, { id, ...lifecycleValues(lifecycle), ...content, updatedAt: at })
      },
      live: async (marketplace, limit) => (await runner.all(s.live, { marketplace, limit })).map(subscriptionOf),
      async setConsole({ id, ref }, { url, token }, at) {
        const meteringToken = token === undefined ? undefined : await secretBox.seal(token, tokenPlace(ref))
        await runner.run(s.setConsole, { id, consoleUrl: url, meteringToken, updatedAt: at })
      },
      async meteringToken({ id, ref }) {
        const box = (await runner.first(s.token, { id }))?.meteringToken
        return box === undefined ? undefined : secretBox.open(box, tokenPlace(ref))
      },
      async record(subscriptionId, { at, operation, outcome, description, state }) {
        await runner.run(s.record, {
          subscriptionId,
          at,
          operation: cutTo(marketplaceEvents.operation, operation),
          outcome,
          description: cutTo(marketplaceEvents.description, description),
          state,
        })
      },
      async history(subscriptionId, limit) {
        return (await runner.all(s.history, { subscriptionId, limit })).reverse()
      },
      async removeTombstones(unchangedSince, limit) {
        const rows = await runner.all(s.oldTombstones, { since: unchangedSince, limit })
        for (const row of rows) await runner.run(s.removeTombstone, row)
        return rows.length
      },
    }
  }
}
