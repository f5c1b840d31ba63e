import type { ClaimStore } from '../../../core/marketplace/ports.ts'
import { pick, without } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { marketplaceClaims } from '../tables/marketplace.ts'

const claimRow = without(marketplaceClaims, 'id', 'claimedBy', 'orgId', 'createdAt')

const statements = (db: SqlDatabase) => ({
  insert: insertInto(db, marketplaceClaims, {
    omitted: ['id', 'claimedAt', 'claimedBy', 'orgId'],
    fixed: { isClaimable: false, attempts: 0 },
  }),
  find: db.prepare(pick(marketplaceClaims, 'ref'), claimRow, (k, p) => k('marketplace_claims').where('ref', p.ref)),
  lock: db.prepare(pick(marketplaceClaims, 'ref'), claimRow, (k, p) =>
    k('marketplace_claims').where('ref', p.ref).forUpdate(),
  ),
  oldest: db.prepare({}, claimRow, (k) =>
    k('marketplace_claims').where('is_claimable', 1).whereNull('claimed_at').orderBy('id').limit(1),
  ),
  reserve: db.prepare(
    { ...pick(marketplaceClaims, 'ref', 'attempts', 'nextCheckAt'), seen: marketplaceClaims.attempts },
    (k, p) =>
      k('marketplace_claims')
        .where(values(marketplaceClaims, { ref: p.ref, attempts: p.seen }))
        .whereNull('claimed_at')
        .update(values(marketplaceClaims, { attempts: p.attempts, nextCheckAt: p.nextCheckAt })),
  ),
  setClaimable: db.prepare(pick(marketplaceClaims, 'ref'), (k, p) =>
    k('marketplace_claims')
      .where('ref', p.ref)
      .update(values(marketplaceClaims, { isClaimable: true })),
  ),
  endWait: db.prepare(pick(marketplaceClaims, 'installerId', 'nextCheckAt'), (k, p) =>
    k('marketplace_claims')
      .where('installer_id', p.installerId)
      .update(values(marketplaceClaims, { attempts: 0, nextCheckAt: p.nextCheckAt })),
  ),
  take: db.prepare(pick(marketplaceClaims, 'ref', 'claimedAt', 'claimedBy', 'orgId'), (k, p) =>
    k('marketplace_claims')
      .where('ref', p.ref)
      .update(values(marketplaceClaims, { claimedAt: p.claimedAt, claimedBy: p.claimedBy, orgId: p.orgId })),
  ),
})

/** ClaimStore over the table marketplace_claims. */
export const makeSqlClaimStore = (db: SqlDatabase): ((runner: SqlRunner) => ClaimStore) => {
  const s = statements(db)
  return (runner) => ({
    async insert({ ref, installerId }, at) {
      await runner.run(s.insert, { ref, installerId, nextCheckAt: at, createdAt: at })
    },
    find: (ref) => runner.first(s.find, { ref }),
    lock: (ref) => runner.first(s.lock, { ref }),
    oldestClaimable: () => runner.first(s.oldest, {}),
    async reserveCheck({ ref, attempts: seen }, nextCheckAt) {
      return (await runner.run(s.reserve, { ref, seen, attempts: seen + 1, nextCheckAt })).affected === 1
    },
    async setClaimable(ref) {
      await runner.run(s.setClaimable, { ref })
    },
    async endWait(installerId, at) {
      await runner.run(s.endWait, { installerId, nextCheckAt: at })
    },
    async take(ref, by, orgId, at) {
      await runner.run(s.take, { ref, claimedBy: by, orgId, claimedAt: at })
    },
  })
}
