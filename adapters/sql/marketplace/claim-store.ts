import type { ClaimStore } from '../../../core/marketplace/ports.ts'
import type { Claim, InstallerId } from '../../../core/marketplace/types.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface ClaimRow {
  readonly ref: string
  readonly installer_id: number
  readonly is_claimable: Num
  readonly attempts: number
  readonly next_check_at: number
  readonly claimed_at: number | null
}

const columns = ['ref', 'installer_id', 'is_claimable', 'attempts', 'next_check_at', 'claimed_at'] as const

const claimOf = (row: ClaimRow): Claim => ({
  ref: row.ref,
  installerId: row.installer_id as InstallerId,
  isClaimable: Number(row.is_claimable) === 1,
  attempts: Number(row.attempts),
  nextCheckAt: new Date(row.next_check_at),
  claimedAt: row.claimed_at === null ? undefined : new Date(row.claimed_at),
})

const statements = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: Params<'ref' | 'installer' | 'at'>) =>
    k('marketplace_claims').insert({
      ref: p('ref'),
      installer_id: p('installer'),
      is_claimable: 0,
      attempts: 0,
      next_check_at: p('at'),
      created_at: p('at'),
    }),
  ),
  find: db.prepare((k, p: Params<'ref'>) =>
    k('marketplace_claims')
      .where('ref', p('ref'))
      .select(...columns),
  ),
  lock: db.prepare((k, p: Params<'ref'>) =>
    k('marketplace_claims')
      .where('ref', p('ref'))
      .select(...columns)
      .forUpdate(),
  ),
  oldest: db.prepare((k) =>
    k('marketplace_claims')
      .where('is_claimable', 1)
      .whereNull('claimed_at')
      .orderBy('id')
      .limit(1)
      .select(...columns),
  ),
  reserve: db.prepare((k, p: Params<'ref' | 'attempts' | 'seen' | 'at'>) =>
    k('marketplace_claims')
      .where({ ref: p('ref'), attempts: p('seen') })
      .whereNull('claimed_at')
      .update({ attempts: p('attempts'), next_check_at: p('at') }),
  ),
  setClaimable: db.prepare((k, p: Params<'ref'>) =>
    k('marketplace_claims').where('ref', p('ref')).update({ is_claimable: 1 }),
  ),
  take: db.prepare((k, p: Params<'ref' | 'by' | 'org' | 'at'>) =>
    k('marketplace_claims')
      .where('ref', p('ref'))
      .update({ claimed_at: p('at'), claimed_by: p('by'), org_id: p('org') }),
  ),
})

/** ClaimStore over the table marketplace_claims. */
export const makeSqlClaimStore = (db: SqlDatabase): ((runner: SqlRunner) => ClaimStore) => {
  const s = statements(db)
  return (runner) => {
    const one = async (row: Promise<ClaimRow | undefined>): Promise<Claim | undefined> => {
      const found = await row
      return found === undefined ? undefined : claimOf(found)
    }
    return {
      async insert({ ref, installerId }, at) {
        await runner.run(s.insert, { ref, installer: installerId, at: at.getTime() })
      },
      find: (ref) => one(runner.first(s.find, { ref })),
      lock: (ref) => one(runner.first(s.lock, { ref })),
      oldestClaimable: () => one(runner.first(s.oldest, {})),
      async reserveCheck({ ref, attempts }, nextCheckAt) {
        const changed = await runner.run(s.reserve, {
          ref,
          seen: attempts,
          attempts: attempts + 1,
          at: nextCheckAt.getTime(),
        })
        return changed.affected === 1
      },
      async setClaimable(ref) {
        await runner.run(s.setClaimable, { ref })
      },
      async take(ref, by, orgId, at) {
        await runner.run(s.take, { ref, by, org: orgId ?? null, at: at.getTime() })
      },
    }
  }
}
