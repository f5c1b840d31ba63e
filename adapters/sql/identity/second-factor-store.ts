import type { SecondFactorRecord, SecondFactorStore } from '../../../core/identity/second-factor/ports.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { Row } from '../kit/columns.ts'
import { long, pick, selectedAs } from '../kit/columns.ts'
import { insertAllInto, newRow, values } from '../kit/values.ts'
import { recoveryCodes, twoFactors, users } from '../tables/identity.ts'
import { secondFactorRef } from './rows.ts'

const recordRow = pick(twoFactors, 'userId', 'sealedSeed', 'ref', 'enrolledAt', 'lastStep')

const recordOf = (row: Row<typeof recordRow>): SecondFactorRecord => ({
  userId: row.userId,
  sealedSeed: row.sealedSeed,
  ref: row.ref,
  enrolledAt: row.enrolledAt,
  lastStep: row.enrolledAt === undefined ? undefined : row.lastStep,
})

const seedStatements = (db: SqlDatabase) => ({
  find: db.prepare({ userId: twoFactors.userId }, recordRow, (k, p) => k('two_factors').where('user_id', p.userId)),
  replaceOffer: db.prepare(
    { ...pick(twoFactors, 'userId', 'ref'), seed: twoFactors.sealedSeed, at: twoFactors.offeredAt },
    (k, p) =>
      k('two_factors')
        .where('user_id', p.userId)
        .whereNull('enrolled_at')
        .update(values(twoFactors, { sealedSeed: p.seed, ref: p.ref, offeredAt: p.at })),
  ),
  insertOffer: db.prepare(
    { ...pick(twoFactors, 'userId', 'ref'), seed: twoFactors.sealedSeed, at: twoFactors.offeredAt },
    (k, p) =>
      k('two_factors').insert(
        newRow(twoFactors, { userId: p.userId, sealedSeed: p.seed, ref: p.ref, offeredAt: p.at }),
      ),
  ),
  enroll: db.prepare(
    { ...pick(twoFactors, 'userId', 'ref'), step: twoFactors.lastStep, at: twoFactors.enrolledAt },
    (k, p) =>
      k('two_factors')
        .where('user_id', p.userId)
        .where('ref', p.ref)
        .whereNull('enrolled_at')
        .update(values(twoFactors, { enrolledAt: p.at, lastStep: p.step })),
  ),
  useStep: db.prepare({ ...pick(twoFactors, 'userId', 'ref'), step: twoFactors.lastStep }, (k, p) =>
    k('two_factors')
      .where('user_id', p.userId)
      .where('ref', p.ref)
      .whereNotNull('enrolled_at')
      .where('last_step', '<', p.step)
      .update(values(twoFactors, { lastStep: p.step })),
  ),
  remove: db.prepare({ userId: twoFactors.userId }, (k, p) => k('two_factors').where('user_id', p.userId).delete()),
  enrolledRef: db.prepare({ userId: users.id }, { secondFactorRef }, (k, p) => k('users as u').where('u.id', p.userId)),
})

const recoveryStatements = (db: SqlDatabase) => ({
  removeAll: db.prepare({ userId: recoveryCodes.userId }, (k, p) =>
    k('recovery_codes').where('user_id', p.userId).delete(),
  ),
  removeIdle: db.prepare({ userId: recoveryCodes.userId }, (k, p) =>
    k('recovery_codes')
      .where('user_id', p.userId)
      .whereNotExists(k('passkeys as pk').select('pk.id').whereRaw('pk.user_id = recovery_codes.user_id'))
      .whereNotExists(
        k('two_factors as f')
          .select('f.user_id')
          .whereRaw('f.user_id = recovery_codes.user_id')
          .whereNotNull('f.enrolled_at'),
      )
      .delete(),
  ),
  insert: insertAllInto(db, recoveryCodes, { omitted: ['usedAt'] }),
  use: db.prepare({ userId: recoveryCodes.userId, hash: recoveryCodes.codeHash, at: recoveryCodes.usedAt }, (k, p) =>
    k('recovery_codes')
      .where('user_id', p.userId)
      .where('code_hash', p.hash)
      .whereNull('used_at')
      .update(values(recoveryCodes, { usedAt: p.at })),
  ),
  find: db.prepare(
    { userId: recoveryCodes.userId, hash: recoveryCodes.codeHash },
    { userId: recoveryCodes.userId },
    (k, p) => k('recovery_codes').where('user_id', p.userId).where('code_hash', p.hash).whereNull('used_at'),
  ),
  countUnused: db.prepare({ userId: recoveryCodes.userId }, { total: selectedAs(long()) }, (k, p) =>
    k('recovery_codes').where('user_id', p.userId).whereNull('used_at').count({ total: '*' }),
  ),
})

/** Second factors on SQL. Seeds are stored sealed, recovery codes as hashes. Each use is one conditional update. */
export const makeSqlSecondFactorStore = (db: SqlDatabase): ((runner: SqlRunner) => SecondFactorStore) => {
  const seed = seedStatements(db)
  const recovery = recoveryStatements(db)
  return (runner) => ({
    async find(userId) {
      const row = await runner.first(seed.find, { userId })
      return row === undefined ? undefined : recordOf(row)
    },
    async offer(userId, sealedSeed, ref, at) {
      const binds = { userId, seed: sealedSeed, ref, at }
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
      return (await runner.run(seed.enroll, { userId, ref, step, at })).affected > 0
    },
    async useStep(userId, ref, step) {
      return (await runner.run(seed.useStep, { userId, ref, step })).affected > 0
    },
    async enrolledRef(userId) {
      return (await runner.first(seed.enrolledRef, { userId }))?.secondFactorRef
    },
    async remove(userId) {
      const isRemoved = (await runner.run(seed.remove, { userId })).affected > 0
      await runner.run(recovery.removeIdle, { userId })
      return isRemoved
    },
    async removeIdleRecoveryCodes(userId) {
      await runner.run(recovery.removeIdle, { userId })
    },
    async replaceRecoveryCodes(userId, hashes, at) {
      await runner.run(recovery.removeAll, { userId })
      await recovery.insert(
        runner,
        hashes.map((hash) => ({ userId, codeHash: hash, createdAt: at })),
      )
    },
    async useRecoveryCode(userId, hash, at) {
      return (await runner.run(recovery.use, { userId, hash, at })).affected > 0
    },
    async hasRecoveryCode(userId, hash) {
      return (await runner.first(recovery.find, { userId, hash })) !== undefined
    },
    async countRecoveryCodes(userId) {
      const row = await runner.first(recovery.countUnused, { userId })
      return row?.total ?? 0
    },
  })
}
