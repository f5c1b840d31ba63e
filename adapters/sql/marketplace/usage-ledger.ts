import type { Knex } from 'knex'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BegunUsage, UsageLedger } from '../../../core/marketplace/metering/ports.ts'
import type { RecordFilter, SentUsage, UsageKey, UsageState } from '../../../core/marketplace/metering/types.ts'
import { collisionAttempts, collisionPause, isRetryable } from '../kit/driver-errors.ts'
import type { Row } from '../kit/columns.ts'
import { columnsOf, computed, cutTo, int, long, orElse, pick, qualified, without } from '../kit/columns.ts'
import { databaseNow } from '../kit/fragments.ts'
import { filteredRows } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { meteringCalls, meteringScopes, meteringUsage } from '../tables/marketplace.ts'

const usageRow = pick(meteringUsage, 'state', 'answer', 'start', 'end')
/** For how much longer another caller has the usage, in milliseconds; negative if none has. */
const heldRow = (db: SqlDatabase) => ({
  ...usageRow,
  heldFor: computed(long(), `claimed_until - ${databaseNow(db.dialect)}`),
})

/** Characters of a text column that every database keeps. */
const longestAnswer = 16_000

interface LedgerTimes {
  /** For how long usage is claimed by who sends it: longer than a check and a report take together. */
  readonly claimMilliseconds: number
  /** How often usage that another caller has claimed is looked at. */
  readonly pollMilliseconds: number
}

/** How many claims of others a caller waits for: more than one, so that it takes over that of a process that ended. */
const patience = 1.2

const usualTimes: LedgerTimes = { claimMilliseconds: 30_000, pollMilliseconds: 100 }

/** UsageLedger over the tables `metering_usage`, `metering_scopes` and `metering_calls`. */
export const makeSqlUsageLedger = (database: SqlDatabase, times = usualTimes): UsageLedger => {
  const statements = compose(database)
  const claim = makeClaim(statements, times)
  const claimedOnce = async (usage: SentUsage, refusesOverlap: boolean, at: Date): Promise<BegunUsage | 'held'> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await database.transaction((tx) => claim(tx, usage, refusesOverlap, at))
      } catch (error) {
        if (attempt >= collisionAttempts || !isRetryable(error)) throw error
        await sleep(collisionPause(attempt))
      }
    }
  }
  const isHeld = async (key: UsageKey): Promise<boolean> =>
    ((await database.first(statements.find, { key }))?.heldFor ?? 0) > 0
  return {
    async begin(usage, refusesOverlap, at) {
      const giveUpAt = performance.now() + times.claimMilliseconds * patience
      for (;;) {
        const begun = await claimedOnce(usage, refusesOverlap, at)
        if (begun !== 'held') return begun
        if (performance.now() > giveUpAt) return { kind: 'busy' }
        do await sleep(times.pollMilliseconds)
        while (performance.now() <= giveUpAt && (await isHeld(usage.key)))
      }
    },
    async settle({ key, cloud, askedBy }, state, call, at) {
      const answer = call.answer.length > longestAnswer ? '{}' : call.answer
      const { outcome, code, attempts, milliseconds } = call
      await database.transaction(async (tx) => {
        await tx.run(statements.settle, { key, state, answer, changedAt: at })
        const row = { key, cloud, at, askedBy, outcome, code: cutTo(meteringCalls.code, code), answer }
        await tx.run(statements.addCall, { ...row, attempts, milliseconds })
      })
    },
    listUsage: (filter, page) =>
      filteredRows(
        database,
        listedUsage,
        (k) => k('metering_usage as u').modify(narrowed, filter, { at: 'u.start_at', outcome: 'u.state' }),
        (_, rows, cut) => cut(rows.orderBy('u.id', 'desc')),
        page,
      ),
    listCalls: (filter, page) =>
      filteredRows(
        database,
        listedCall,
        (k) =>
          k('metering_calls as c')
            .leftJoin('metering_usage as u', 'u.usage_key', 'c.usage_key')
            .modify(narrowed, filter, { at: 'c.at', outcome: 'c.outcome' }),
        (_, rows, cut) => cut(rows.orderBy('c.id', 'desc')),
        page,
      ),
    async removeBefore(at, limit) {
      const binds = { at, limit }
      const usage = await database.all(statements.oldUsage, binds)
      for (const { id } of usage) await database.run(statements.removeUsage, { id })
      const calls = await database.all(statements.oldCalls, binds)
      for (const { id } of calls) await database.run(statements.removeCall, { id })
      const scopes = await database.all(statements.oldScopes, binds)
      for (const { scope } of scopes) await database.run(statements.removeScope, { scope, at })
      return usage.length + calls.length + scopes.length
    },
  }
}

const listedUsage = qualified(without(meteringUsage, 'id', 'scope', 'claimedUntil'), 'u')

/** The usage of a call may have been removed before it. */
const listedCall = {
  ...qualified(columnsOf(meteringCalls), 'c'),
  product: orElse(qualified(pick(meteringUsage, 'product'), 'u').product, ''),
  dimension: orElse(qualified(pick(meteringUsage, 'dimension'), 'u').dimension, ''),
  quantity: orElse(qualified(pick(meteringUsage, 'quantity'), 'u').quantity, ''),
  consumer: orElse(qualified(pick(meteringUsage, 'consumer'), 'u').consumer, ''),
  subscriptionRef: orElse(qualified(pick(meteringUsage, 'subscriptionRef'), 'u').subscriptionRef, ''),
}

/** Adds the conditions of a filter. */
const narrowed = (
  rows: Knex.QueryBuilder,
  { subscriptionRef, since, until, outcome }: RecordFilter<string>,
  columns: { readonly at: string; readonly outcome: string },
): void => {
  if (subscriptionRef !== undefined) rows.where('u.subscription_ref', subscriptionRef)
  if (since !== undefined) rows.where(columns.at, '>=', since.getTime())
  if (until !== undefined) rows.where(columns.at, '<', until.getTime())
  if (outcome !== undefined) rows.where(columns.outcome, outcome)
}

const resent = (state: UsageState): UsageState => (state === 'refused' ? 'sent' : state)

/**
 * Claims usage in a transaction. The row of its scope is locked first: of two reports of one metric that begin in the
 * same instant, the second finds the first. Returns `held` while another caller sends the same usage.
 */
const makeClaim =
  (statements: ReturnType<typeof compose>, { claimMilliseconds }: LedgerTimes) =>
  async (tx: SqlRunner, usage: SentUsage, refusesOverlap: boolean, at: Date): Promise<BegunUsage | 'held'> => {
    const { key, cloud, scope, start, end, askedBy: _, ...words } = usage
    const known = ({ state, answer }: Row<typeof usageRow>): BegunUsage =>
      state === 'accepted' ? { kind: 'accepted', answer } : { kind: 'send', isDoubtful: state !== 'refused' }
    await tx.run(statements.lockScope, { scope, usedAt: at })
    const row = await tx.first(statements.find, { key })
    if (row?.state === 'accepted') return known(row)
    if ((row?.heldFor ?? 0) > 0) return 'held'
    const other = refusesOverlap ? await tx.first(statements.overlap, { scope, key, start, end }) : undefined
    if (other !== undefined) return { kind: 'overlap', start: other.start, end: other.end, state: other.state }
    if (row !== undefined) {
      await tx.run(statements.claim, { key, changedAt: at, state: resent(row.state), for: claimMilliseconds })
      return known(row)
    }
    await tx.run(statements.insert, { key, cloud, scope, start, end, changedAt: at, ...words })
    await tx.run(statements.claim, { key, changedAt: at, state: 'sent', for: claimMilliseconds })
    return { kind: 'send', isDoubtful: false }
  }

const compose = (database: SqlDatabase) => {
  const { prepare, dialect } = database
  const usage = 'metering_usage'
  const calls = 'metering_calls'
  const later = `${databaseNow(dialect)} + cast(? as ${dialect === 'mysql' ? 'signed' : 'integer'})`
  return {
    lockScope: insertInto(database, meteringScopes, {}, (insert) => insert.onConflict('scope').merge(['used_at'])),
    find: prepare(pick(meteringUsage, 'key'), heldRow(database), (k, p) => k(usage).where('usage_key', p.key).limit(1)),
    overlap: prepare(pick(meteringUsage, 'scope', 'key', 'start', 'end'), usageRow, (k, p) =>
      k(usage)
        .where('scope', p.scope)
        .where('start_at', '<', p.end)
        .where('end_at', '>', p.start)
        .whereNot(values(meteringUsage, { key: p.key }))
        .whereNot('state', 'refused')
        .orderBy('start_at')
        .limit(1),
    ),
    insert: insertInto(database, meteringUsage, {
      omitted: ['id', 'claimedUntil'],
      fixed: { state: 'sent', answer: '' },
    }),
    claim: prepare({ ...pick(meteringUsage, 'key', 'state', 'changedAt'), for: long() }, (k, p) =>
      k(usage)
        .where('usage_key', p.key)
        .update(values(meteringUsage, { state: p.state, changedAt: p.changedAt, claimedUntil: k.raw(later, [p.for]) })),
    ),
    // What was accepted stays so, whatever a request at the same moment got.
    settle: prepare(pick(meteringUsage, 'key', 'state', 'answer', 'changedAt'), (k, p) =>
      k(usage)
        .where('usage_key', p.key)
        .whereNot('state', 'accepted')
        .update(
          values(meteringUsage, {
            state: p.state,
            answer: p.answer,
            changedAt: p.changedAt,
            claimedUntil: k.raw('0'),
          }),
        ),
    ),
    addCall: insertInto(database, meteringCalls, { omitted: ['id'] }),
    oldUsage: prepare({ at: meteringUsage.end, limit: int() }, pick(meteringUsage, 'id'), (k, p) =>
      k(usage).where('end_at', '<', p.at).orderBy('end_at').limit(p.limit),
    ),
    removeUsage: prepare(pick(meteringUsage, 'id'), (k, p) => k(usage).where('id', p.id).delete()),
    oldCalls: prepare({ at: meteringCalls.at, limit: int() }, pick(meteringCalls, 'id'), (k, p) =>
      k(calls).where('at', '<', p.at).orderBy('at').limit(p.limit),
    ),
    removeCall: prepare(pick(meteringCalls, 'id'), (k, p) => k(calls).where('id', p.id).delete()),
    oldScopes: prepare({ at: meteringScopes.usedAt, limit: int() }, pick(meteringScopes, 'scope'), (k, p) =>
      k('metering_scopes').where('used_at', '<', p.at).orderBy('used_at').limit(p.limit),
    ),
    removeScope: prepare({ ...pick(meteringScopes, 'scope'), at: meteringScopes.usedAt }, (k, p) =>
      k('metering_scopes').where('scope', p.scope).where('used_at', '<', p.at).delete(),
    ),
  }
}
