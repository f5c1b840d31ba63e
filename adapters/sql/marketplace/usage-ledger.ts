import type { BegunUsage, UsageLedger } from '../../../core/marketplace/metering/ports.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { Row } from '../kit/columns.ts'
import { cutTo, int, pick } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { meteringCalls, meteringUsage } from '../tables/metering.ts'

const usageRow = pick(meteringUsage, 'state', 'answer', 'start', 'end')

/** Characters of a text column that every database keeps. */
const longestAnswer = 16_000

/** UsageLedger over the tables `metering_usage` and `metering_calls`. */
export const makeSqlUsageLedger = (database: SqlDatabase): UsageLedger => {
  const statements = compose(database)
  const known = ({ state, answer }: Row<typeof usageRow>): BegunUsage =>
    state === 'accepted' ? { kind: 'accepted', answer } : { kind: 'send', isDoubtful: state !== 'refused' }
  return {
    async begin({ key, cloud, scope, start, end }, refusesOverlap, at) {
      const times = { start, end }
      // A row that another request inserts at the same moment is found in the second round.
      for (let round = 0; ; round += 1) {
        const row = await database.first(statements.find, { key })
        if (row?.state === 'accepted') return known(row)
        const other = refusesOverlap ? await database.first(statements.overlap, { scope, key, ...times }) : undefined
        if (other !== undefined) {
          return { kind: 'overlap', start: other.start, end: other.end, state: other.state }
        }
        if (row !== undefined) {
          await database.run(statements.resend, {
            key,
            changedAt: at,
            state: row.state === 'refused' ? 'sent' : row.state,
          })
          return known(row)
        }
        try {
          await database.run(statements.insert, { key, cloud, scope, ...times, changedAt: at })
          return { kind: 'send', isDoubtful: false }
        } catch (error) {
          if (!isUniqueViolation(error) || round > 0) throw error
        }
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
    async removeBefore(at, limit) {
      const binds = { at, limit }
      const usage = await database.all(statements.oldUsage, binds)
      for (const { id } of usage) await database.run(statements.removeUsage, { id })
      const calls = await database.all(statements.oldCalls, binds)
      for (const { id } of calls) await database.run(statements.removeCall, { id })
      return usage.length + calls.length
    },
  }
}

const compose = (database: SqlDatabase) => {
  const { prepare } = database
  const usage = 'metering_usage'
  const calls = 'metering_calls'
  return {
    find: prepare(pick(meteringUsage, 'key'), usageRow, (k, p) => k(usage).where('usage_key', p.key).limit(1)),
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
    insert: insertInto(database, meteringUsage, { omitted: ['id'], fixed: { state: 'sent', answer: '' } }),
    resend: prepare(pick(meteringUsage, 'key', 'state', 'changedAt'), (k, p) =>
      k(usage)
        .where('usage_key', p.key)
        .whereNot('state', 'accepted')
        .update(values(meteringUsage, { state: p.state, changedAt: p.changedAt })),
    ),
    // What was accepted stays so, whatever a request at the same moment got.
    settle: prepare(pick(meteringUsage, 'key', 'state', 'answer', 'changedAt'), (k, p) =>
      k(usage)
        .where('usage_key', p.key)
        .whereNot('state', 'accepted')
        .update(values(meteringUsage, { state: p.state, answer: p.answer, changedAt: p.changedAt })),
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
  }
}
