import type { SinkCounts, SinkEvent, SinkId, SinkStore } from '../../../core/rating/sinks/ports.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { Row } from '../kit/columns.ts'
import {
  aliased,
  columnsOf,
  computed,
  cutTo,
  int,
  long,
  nullable,
  orElse,
  pick,
  selectedAs,
  without,
} from '../kit/columns.ts'
import { databaseNow } from '../kit/fragments.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertAllInto, values } from '../kit/values.ts'
import { accounts } from '../tables/identity.ts'
import { ratingSinkCustomers, ratingSinkEvents, ratingSinkMonths, ratingSinks } from '../tables/rating.ts'

const ofEvents = aliased(ratingSinkEvents, 'e')
const waitingRow = { ...ofEvents, accountName: orElse(aliased(accounts, 'a').name, '') }
const dueRow = { ...ofEvents, externalId: aliased(ratingSinkCustomers, 'c').externalId }
const quantityRow = pick(ratingSinkEvents, 'contractId', 'product', 'measure', 'pricedUse', 'thousandths')

const eventOf = <R extends Row<typeof ofEvents>>({
  pricedUse,
  ...row
}: R): Omit<R, 'pricedUse'> & Pick<SinkEvent, 'use'> => ({
  ...row,
  use: pricedUse,
})

const sinkStatements = (db: SqlDatabase) => {
  const details = without(ratingSinks, 'id', 'failures', 'lastError')
  const { sinkId, ownerId, externalId } = columnsOf(ratingSinkCustomers)
  return {
    list: db.prepare({}, columnsOf(ratingSinks), (k) => k('rating_sinks').orderBy('name')),
    find: db.prepare(pick(ratingSinks, 'name'), columnsOf(ratingSinks), (k, p) =>
      k('rating_sinks').where('name', p.name).limit(1),
    ),
    lock: db.prepare(pick(ratingSinks, 'id'), columnsOf(ratingSinks), (k, p) =>
      k('rating_sinks').where('id', p.id).limit(1).forUpdate(),
    ),
    put: db.prepare(details, (k, p) =>
      k('rating_sinks').insert(assigned(details, p)).onConflict(['name']).merge(assigned(details, p)),
    ),
    claim: db.prepare(
      { ...pick(ratingSinks, 'id'), seen: ratingSinks.nextAttemptAt, until: ratingSinks.nextAttemptAt },
      (k, p) =>
        k('rating_sinks').where('id', p.id).where('next_attempt_at', p.seen).update({ next_attempt_at: p.until }),
    ),
    release: db.prepare(
      { ...pick(ratingSinks, 'id', 'nextAttemptAt', 'failures', 'lastError'), seen: ratingSinks.nextAttemptAt },
      (k, p) =>
        k('rating_sinks')
          .where('id', p.id)
          .where('next_attempt_at', p.seen)
          .update(
            values(ratingSinks, { nextAttemptAt: p.nextAttemptAt, failures: p.failures, lastError: p.lastError }),
          ),
    ),
    customer: db.prepare({ sinkId, ownerId }, { externalId }, (k, p) =>
      k('rating_sink_customers').where('sink_id', p.sinkId).where('owner_id', p.ownerId).limit(1),
    ),
    putCustomer: db.prepare({ sinkId, ownerId, externalId }, (k, p) =>
      k('rating_sink_customers')
        .insert(assigned({ sinkId, ownerId, externalId }, p))
        .onConflict(['sink_id', 'owner_id'])
        .merge(assigned({ externalId }, p)),
    ),
  }
}

const eventStatements = (db: SqlDatabase) => {
  const monthRow = columnsOf(ratingSinkMonths)
  return {
    collected: db.prepare(
      { sinkId: monthRow.sinkId, first: monthRow.month },
      without(ratingSinkMonths, 'sinkId'),
      (k, p) => k('rating_sink_months').where('sink_id', p.sinkId).where('month', '>=', p.first),
    ),
    setCollected: db.prepare(monthRow, (k, p) =>
      k('rating_sink_months')
        .insert(assigned(monthRow, p))
        .onConflict(['sink_id', 'month', 'owner_id'])
        .merge(assigned({ revision: monthRow.revision }, p)),
    ),
    sums: db.prepare(pick(ratingSinkEvents, 'sinkId', 'ownerId', 'month'), quantityRow, (k, p) =>
      k('rating_sink_events').where('sink_id', p.sinkId).where('owner_id', p.ownerId).where('month', p.month),
    ),
    add: insertAllInto(db, ratingSinkEvents, { omitted: ['id', 'reason', 'attemptedAt'] }),
    mapped: db.prepare(pick(ratingSinkEvents, 'sinkId', 'ownerId'), (k, p) =>
      k('rating_sink_events')
        .where('sink_id', p.sinkId)
        .where('owner_id', p.ownerId)
        .where('state', 'unmapped')
        .update({ state: 'pending' }),
    ),
    due: db.prepare({ ...pick(ratingSinkEvents, 'sinkId'), limit: int() }, dueRow, (k, p) =>
      k('rating_sink_events as e')
        .join('rating_sink_customers as c', (on) => on.on('c.sink_id', 'e.sink_id').on('c.owner_id', 'e.owner_id'))
        .where('e.sink_id', p.sinkId)
        .where('e.state', 'pending')
        .orderBy('e.id')
        .limit(p.limit),
    ),
    attempted: db.prepare(pick(ratingSinkEvents, 'id', 'attemptedAt'), (k, p) =>
      k('rating_sink_events').where('id', p.id).update({ attempted_at: p.attemptedAt }),
    ),
    state: db.prepare(pick(ratingSinkEvents, 'id', 'state', 'reason'), (k, p) =>
      k('rating_sink_events')
        .where('id', p.id)
        .update(values(ratingSinkEvents, { state: p.state, reason: p.reason })),
    ),
    waiting: typedPage(
      db,
      pick(ratingSinkEvents, 'sinkId'),
      waitingRow,
      (k, p) =>
        k('rating_sink_events as e')
          .leftJoin('accounts as a', 'a.id', 'e.owner_id')
          .where('e.sink_id', p.sinkId)
          .whereIn('e.state', ['unmapped', 'pending', 'refused', 'unknown']),
      (_, rows, cut) => cut(rows.orderBy('e.id')),
    ),
    lockEvent: db.prepare(pick(ratingSinkEvents, 'id', 'sinkId'), waitingRow, (k, p) =>
      k('rating_sink_events as e')
        .leftJoin('accounts as a', 'a.id', 'e.owner_id')
        .where('e.id', p.id)
        .where('e.sink_id', p.sinkId)
        .limit(1)
        .forUpdate(),
    ),
    counts: db.prepare(
      pick(ratingSinkEvents, 'sinkId'),
      {
        state: ratingSinkEvents.state,
        count: selectedAs(long()),
        age: computed(nullable(long()), `${databaseNow(db.dialect)} - min(created_at)`),
      },
      (k, p) =>
        k('rating_sink_events')
          .where('sink_id', p.sinkId)
          .whereIn('state', ['unmapped', 'pending', 'refused', 'unknown'])
          .count({ count: '*' })
          .groupBy('state'),
    ),
  }
}

type CountRow = { readonly state: string; readonly count: number; readonly age: number | undefined }

const countsOf = (rows: readonly CountRow[]): SinkCounts => {
  const of = (state: string) => rows.find((row) => row.state === state)
  const count = (state: string) => of(state)?.count ?? 0
  return {
    unmapped: count('unmapped'),
    pending: count('pending'),
    refused: count('refused'),
    unknown: count('unknown'),
    oldestSeconds: Math.max(0, of('pending')?.age ?? 0) / 1000,
  }
}

/** SinkStore over the tables rating_sinks, rating_sink_customers, rating_sink_months and rating_sink_events. */
export const makeSqlSinkStore = (db: SqlDatabase): ((runner: SqlRunner) => SinkStore) => {
  const s = sinkStatements(db)
  const e = eventStatements(db)
  return (runner) => ({
    list: () => runner.all(s.list, {}),
    find: (name) => runner.first(s.find, { name }),
    lock: (id) => runner.first(s.lock, { id }),
    async put(sink) {
      await runner.run(s.put, sink)
    },
    claim: async ({ id, nextAttemptAt }, until) =>
      (await runner.run(s.claim, { id, seen: nextAttemptAt, until })).affected === 1,
    async release(id, leasedUntil, { lastError, ...next }) {
      await runner.run(s.release, {
        ...next,
        id,
        seen: leasedUntil,
        lastError: cutTo(ratingSinks.lastError, lastError),
      })
    },
    customerOf: async (sinkId, ownerId) => (await runner.first(s.customer, { sinkId, ownerId }))?.externalId,
    async putCustomer(sinkId, ownerId, externalId) {
      await runner.run(s.putCustomer, { sinkId, ownerId, externalId })
      await runner.run(e.mapped, { sinkId, ownerId })
    },
    collectedSince: (sinkId, first) => runner.all(e.collected, { sinkId, first }),
    async setCollected(sinkId, ownerId, month, revision) {
      await runner.run(e.setCollected, { sinkId, ownerId, month, revision })
    },
    async sumsOf(sinkId, ownerId, month) {
      const rows = await runner.all(e.sums, { sinkId, ownerId, month })
      return rows.map(({ pricedUse: use, ...row }) => ({ ...row, use }))
    },
    add: (events) =>
      e.add(
        runner,
        events.map(({ use: pricedUse, ...event }) => ({ ...event, pricedUse })),
      ),
    due: async (sinkId, limit) => (await runner.all(e.due, { sinkId, limit })).map(eventOf),
    async setAttempted(ids, attemptedAt) {
      for (const id of ids) await runner.run(e.attempted, { id, attemptedAt })
    },
    async setState(ids, state, reason) {
      for (const id of ids) await runner.run(e.state, { id, state, reason: cutTo(ratingSinkEvents.reason, reason) })
    },
    waiting: async (sinkId, page) => mapPage(await e.waiting(runner, { sinkId }, page), eventOf),
    async lockEvent(sinkId, id) {
      const row = await runner.first(e.lockEvent, { id, sinkId })
      return row === undefined ? undefined : eventOf(row)
    },
    async counts() {
      const counts = new Map<SinkId, SinkCounts>()
      // Of each sink apart, by the index: what was sent is the most of the table.
      for (const { id } of await runner.all(s.list, {}))
        counts.set(id, countsOf(await runner.all(e.counts, { sinkId: id })))
      return counts
    },
  })
}
