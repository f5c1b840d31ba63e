import type { BegunUsage, UsageLedger } from '../../../core/metering/ports.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { Row } from '../kit/columns.ts'
import { cutTo, int, pick, without } from '../kit/columns.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { assigned, newRow } from '../kit/values.ts'
import { meteringCalls as calls, meteringUsage as usage } from '../tables/metering.ts'

const usageRow = pick(usage, 'state', 'answer', 'start', 'end')
type UsageRow = Row<typeof usageRow>

/** Characters of a text column that every database keeps. */
const longestAnswer = 16_000

/** UsageLedger over the tables `metering_usage` and `metering_calls`. */
export const makeSqlUsageLedger = (database: SqlDatabase): UsageLedger => {
  const statements = compose(database)
  const known = ({ state, answer }: UsageRow): BegunUsage =>
    state === 'accepted' ? { kind: 'accepted', answer } : { kind: 'send', isDoubtful: state !== 'refused' }
  return {
    async begin({ key, cloud, scope, start, end }, refusesOverlap, at) {
      // A row that another request inserts at the same moment is found in the second round.
      for (let round = 0; ; round += 1) {
        const row = await database.first(statements.find, { key })
        if (row?.state === 'accepted') return known(row)
        const other = refusesOverlap ? await database.first(statements.overlap, { scope, key, start, end }) : undefined
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
          await database.run(statements.insert, { key, cloud, scope, start, end, changedAt: at })
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
        const row = { key, cloud, at, askedBy, outcome, code: cutTo(calls.code, code), answer }
        await tx.run(statements.addCall, { ...row, attempts, milliseconds })
      })
    },
    async removeBefore(at, limit) {
      const oldUsage = await database.all(statements.oldUsage, { at, limit })
      for (const { id } of oldUsage) await database.run(statements.removeUsage, { id })
      const oldCalls = await database.all(statements.oldCalls, { at, limit })
      for (const { id } of oldCalls) await database.run(statements.removeCall, { id })
      return oldUsage.length + oldCalls.length
    },
  }
}

const compose = ({ prepare }: SqlDatabase) => {
  const call = without(calls, 'id')
  const settled = pick(usage, 'state', 'answer', 'changedAt')
  const resent = pick(usage, 'state', 'changedAt')
  return {
    find: prepare(pick(usage, 'key'), usageRow, (k, p) => k('metering_usage').where('usage_key', p.key).limit(1)),
    overlap: prepare(pick(usage, 'scope', 'key', 'start', 'end'), usageRow, (k, p) =>
      k('metering_usage')
        .where('scope', p.scope)
        .where('start_at', '<', p.end)
        .where('end_at', '>', p.start)
        .whereNot('usage_key', p.key)
        .whereNot('state', 'refused')
        .orderBy('start_at')
        .limit(1),
    ),
    insert: prepare(pick(usage, 'key', 'cloud', 'scope', 'start', 'end', 'changedAt'), (k, p) =>
      k('metering_usage').insert(newRow(usage, { ...p, state: 'sent', answer: '' })),
    ),
    resend: prepare({ ...pick(usage, 'key'), ...resent }, (k, p) =>
      k('metering_usage').where('usage_key', p.key).whereNot('state', 'accepted').update(assigned(resent, p)),
    ),
    // What was accepted stays so, whatever a request at the same moment got.
    settle: prepare({ ...pick(usage, 'key'), ...settled }, (k, p) =>
      k('metering_usage').where('usage_key', p.key).whereNot('state', 'accepted').update(assigned(settled, p)),
    ),
    addCall: prepare(call, (k, p) => k('metering_calls').insert(assigned(call, p))),
    oldUsage: prepare({ at: usage.end, limit: int() }, pick(usage, 'id'), (k, p) =>
      k('metering_usage').where('end_at', '<', p.at).orderBy('end_at').limit(p.limit),
    ),
    removeUsage: prepare(pick(usage, 'id'), (k, p) => k('metering_usage').where('id', p.id).delete()),
    oldCalls: prepare({ at: calls.at, limit: int() }, pick(calls, 'id'), (k, p) =>
      k('metering_calls').where('at', '<', p.at).orderBy('at').limit(p.limit),
    ),
    removeCall: prepare(pick(calls, 'id'), (k, p) => k('metering_calls').where('id', p.id).delete()),
  }
}
