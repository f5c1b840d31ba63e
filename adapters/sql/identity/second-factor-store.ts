import type { Knex } from 'knex'
import type { UserId } from '../../../core/kernel/ids.ts'
import type { SecondFactorRecord, SecondFactorStore } from '../../../core/identity/second-factor/ports.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { optionalInstant } from './rows.ts'

interface SecondFactorRow {
  readonly user_id: number | string
  readonly sealed_seed: Uint8Array
  readonly ref: string
  readonly enrolled_at: number | string | null
  readonly last_step: number | string | null
}

const recordOf = (row: SecondFactorRow): SecondFactorRecord => ({
  userId: Number(row.user_id) as UserId,
  sealedSeed: row.sealed_seed,
  ref: row.ref,
  enrolledAt: optionalInstant(row.enrolled_at),
  lastStep: row.enrolled_at === null ? undefined : Number(row.last_step),
})

type OfferBind = 'userId' | 'seed' | 'ref' | 'at'

const seedStatements = (db: SqlDatabase) => ({
  find: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('two_factors').where('user_id', p('userId')).select('user_id', 'sealed_seed', 'ref', 'enrolled_at', 'last_step'),
  ),
  replaceOffer: db.prepare((k, p: (n: OfferBind) => Knex.Value) =>
    k('two_factors')
      .where('user_id', p('userId'))
      .whereNull('enrolled_at')
      .update({ sealed_seed: p('seed'), ref: p('ref'), offered_at: p('at') }),
  ),
  insertOffer: db.prepare((k, p: (n: OfferBind) => Knex.Value) =>
    k('two_factors').insert({ user_id: p('userId'), sealed_seed: p('seed'), ref: p('ref'), offered_at: p('at') }),
  ),
  enroll: db.prepare((k, p: (n: 'userId' | 'ref' | 'step' | 'at') => Knex.Value) =>
    k('two_factors')
      .where('user_id', p('userId'))
      .where('ref', p('ref'))
      .whereNull('enrolled_at')
      .update({ enrolled_at: p('at'), last_step: p('step') }),
  ),
  useStep: db.prepare((k, p: (n: 'userId' | 'ref' | 'step') => Knex.Value) =>
    k('two_factors')
      .where('user_id', p('userId'))
      .where('ref', p('ref'))
      .whereNotNull('enrolled_at')
      .where('last_step', '<', p('step'))
      .update({ last_step: p('step') }),
  ),
  remove: db.prepare((k, p: (n: 'userId') => Knex.Value) => k('two_factors').where('user_id', p('userId')).delete()),
})

const recoveryStatements = (db: SqlDatabase) => ({
  removeAll: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('recovery_codes').where('user_id', p('userId')).delete(),
  ),
  insert: insertRows(db, 'recovery_codes', (p: Params<'userId' | 'hash' | 'at'>) => ({
    user_id: p('userId'),
    code_hash: p('hash'),
    created_at: p('at'),
  })),
  use: db.prepare((k, p: (n: 'userId' | 'hash' | 'at') => Knex.Value) =>
    k('recovery_codes')
      .where('user_id', p('userId'))
      .where('code_hash', p('hash'))
      .whereNull('used_at')
      .update({ used_at: p('at') }),
  ),
  find: db.prepare((k, p: (n: 'userId' | 'hash') => Knex.Value) =>
    k('recovery_codes')
      .where('user_id', p('userId'))
      .where('code_hash', p('hash'))
      .whereNull('used_at')
      .select('user_id'),
  ),
  countUnused: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('recovery_codes').where('user_id', p('userId')).whereNull('used_at').count({ total: '*' }),
  ),
})

/** Second factors on SQL. Seeds are stored sealed, recovery codes as hashes. Each use is one conditional update. */
export const makeSqlSecondFactorStore = (db: SqlDatabase): ((runner: SqlRunner) => SecondFactorStore) => {
  const seed = seedStatements(db)
  const recovery = recoveryStatements(db)
  return (runner) => ({
    async find(userId) {
      const row = await runner.first<SecondFactorRow>(seed.find, { userId })
      return row === undefined ? undefined : recordOf(row)
    },
    async offer(userId, sealedSeed, ref, at) {
      const binds = { userId, seed: sealedSeed, ref, at: at.getTime() }
      if ((await runner.run(seed.replaceOffer, binds)).affected > 0) return true
      try {
        await runner.run(seed.insertOffer, binds)
        return true
      } catch (error) {
        if (isUniqueViolation(error)) return false
        throw error
      }
    },
    async enroll(userId, ref, step, at) {
      return (await runner.run(seed.enroll, { userId, ref, step, at: at.getTime() })).affected > 0
    },
    async useStep(userId, ref, step) {
      return (await runner.run(seed.useStep, { userId, ref, step })).affected > 0
    },
    async remove(userId) {
      await runner.run(recovery.removeAll, { userId })
      return (await runner.run(seed.remove, { userId })).affected > 0
    },
    async replaceRecoveryCodes(userId, hashes, at) {
      await runner.run(recovery.removeAll, { userId })
      await recovery.insert(
        runner,
        hashes.map((hash) => ({ userId, hash, at: at.getTime() })),
      )
    },
    async useRecoveryCode(userId, hash, at) {
      return (await runner.run(recovery.use, { userId, hash, at: at.getTime() })).affected > 0
    },
    async hasRecoveryCode(userId, hash) {
      return (await runner.first(recovery.find, { userId, hash })) !== undefined
    },
    async countRecoveryCodes(userId) {
      const row = await runner.first<{ total: number | string }>(recovery.countUnused, { userId })
      return Number(row?.total ?? 0)
    },
  })
}
