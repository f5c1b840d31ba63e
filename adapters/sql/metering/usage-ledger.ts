import type { BegunUsage, UsageLedger } from '../../../core/metering/ports.ts'
import type { UsageState } from '../../../core/metering/types.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { Num, Params, SqlDatabase } from '../kit/statement.ts'

interface UsageRow {
  readonly state: UsageState
  readonly answer: string
  readonly start_at: Num
  readonly end_at: Num
}

/** Characters of a text column that every database keeps. */
const longestAnswer = 16_000

/** UsageLedger over the tables `metering_usage` and `metering_calls`. */
export const makeSqlUsageLedger = (database: SqlDatabase): UsageLedger => {
  const statements = compose(database)
  const known = ({ state, answer }: UsageRow): BegunUsage =>
    state === 'accepted' ? { kind: 'accepted', answer } : { kind: 'send', isDoubtful: state !== 'refused' }
  return {
    async begin({ key, cloud, scope, start, end }, refusesOverlap, at) {
      const times = { start: start.getTime(), end: end.getTime() }
      // A row that another request inserts at the same moment is found in the second round.
      for (let round = 0; ; round += 1) {
        const row = await database.first<UsageRow>(statements.find, { key })
        if (row?.state === 'accepted') return known(row)
        const other = refusesOverlap
          ? await database.first<UsageRow>(statements.overlap, { scope, key, ...times })
          : undefined
        if (other !== undefined) {
          const { state, start_at, end_at } = other
          return { kind: 'overlap', start: new Date(Number(start_at)), end: new Date(Number(end_at)), state }
        }
        if (row !== undefined) {
          await database.run(statements.resend, {
            key,
            at: at.getTime(),
            state: row.state === 'refused' ? 'sent' : row.state,
          })
          return known(row)
        }
        try {
          await database.run(statements.insert, { key, cloud, scope, ...times, at: at.getTime() })
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
        await tx.run(statements.settle, { key, state, answer, at: at.getTime() })
        const row = { key, cloud, at: at.getTime(), askedBy, outcome, code: code.slice(0, 64), answer }
        await tx.run(statements.addCall, { ...row, attempts, milliseconds })
      })
    },
    async removeBefore(at, limit) {
      const binds = { at: at.getTime(), limit }
      const usage = await database.all<{ id: Num }>(statements.oldUsage, binds)
      for (const { id } of usage) await database.run(statements.removeUsage, { id: Number(id) })
      const calls = await database.all<{ id: Num }>(statements.oldCalls, binds)
      for (const { id } of calls) await database.run(statements.removeCall, { id: Number(id) })
      return usage.length + calls.length
    },
  }
}

const compose = ({ prepare }: SqlDatabase) => {
  const usage = 'metering_usage'
  const calls = 'metering_calls'
  const columns = ['state', 'answer', 'start_at', 'end_at']
  return {
    find: prepare((k, p: Params<'key'>) => k(usage).where('usage_key', p('key')).select(columns).limit(1)),
    overlap: prepare((k, p: Params<'scope' | 'key' | 'start' | 'end'>) =>
      k(usage)
        .where('scope', p('scope'))
        .where('start_at', '<', p('end'))
        .where('end_at', '>', p('start'))
        .whereNot('usage_key', p('key'))
        .whereNot('state', 'refused')
        .select(columns)
        .orderBy('start_at')
        .limit(1),
    ),
    insert: prepare((k, p: Params<'key' | 'cloud' | 'scope' | 'start' | 'end' | 'at'>) =>
      k(usage).insert({
        usage_key: p('key'),
        cloud: p('cloud'),
        scope: p('scope'),
        start_at: p('start'),
        end_at: p('end'),
        state: 'sent',
        answer: '',
        changed_at: p('at'),
      }),
    ),
    resend: prepare((k, p: Params<'key' | 'state' | 'at'>) =>
      k(usage)
        .where('usage_key', p('key'))
        .whereNot('state', 'accepted')
        .update({ state: p('state'), changed_at: p('at') }),
    ),
    // What was accepted stays so, whatever another request at the same moment gets.
    settle: prepare((k, p: Params<'key' | 'state' | 'answer' | 'at'>) =>
      k(usage)
        .where('usage_key', p('key'))
        .whereNot('state', 'accepted')
        .update({ state: p('state'), answer: p('answer'), changed_at: p('at') }),
    ),
    addCall: prepare(
      (
        k,
        p: Params<'key' | 'cloud' | 'at' | 'askedBy' | 'outcome' | 'code' | 'answer' | 'attempts' | 'milliseconds'>,
      ) =>
        k(calls).insert({
          usage_key: p('key'),
          cloud: p('cloud'),
          at: p('at'),
          asked_by: p('askedBy'),
          outcome: p('outcome'),
          code: p('code'),
          answer: p('answer'),
          attempts: p('attempts'),
          milliseconds: p('milliseconds'),
        }),
    ),
    oldUsage: prepare((k, p: Params<'at' | 'limit'>) =>
      k(usage).where('end_at', '<', p('at')).select('id').orderBy('end_at').limit(p('limit')),
    ),
    removeUsage: prepare((k, p: Params<'id'>) => k(usage).where('id', p('id')).delete()),
    oldCalls: prepare((k, p: Params<'at' | 'limit'>) =>
      k(calls).where('at', '<', p('at')).select('id').orderBy('at').limit(p('limit')),
    ),
    removeCall: prepare((k, p: Params<'id'>) => k(calls).where('id', p('id')).delete()),
  }
}
