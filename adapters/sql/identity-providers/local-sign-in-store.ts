import type { LocalSignInStore } from '../../../core/identity-providers/ports.ts'
import { pick } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { newRow } from '../kit/values.ts'
import { localSignInOffs } from '../tables/identity-providers.ts'
import { ownerKeyOf } from './provider-store.ts'

const statements = (db: SqlDatabase) => ({
  isOff: db.prepare(pick(localSignInOffs, 'ownerKey'), pick(localSignInOffs, 'ownerKey'), (k, p) =>
    k('local_sign_in_offs').where('owner_key', p.ownerKey),
  ),
  switchOff: db.prepare(pick(localSignInOffs, 'ownerKey', 'orgId', 'since'), (k, p) =>
    k('local_sign_in_offs')
      .insert(newRow(localSignInOffs, { ownerKey: p.ownerKey, orgId: p.orgId, since: p.since }))
      .onConflict('owner_key')
      .ignore(),
  ),
  switchOn: db.prepare(pick(localSignInOffs, 'ownerKey'), (k, p) =>
    k('local_sign_in_offs').where('owner_key', p.ownerKey).delete(),
  ),
})

/** LocalSignInStore on SQL. */
export const makeSqlLocalSignInStore = (db: SqlDatabase): ((runner: SqlRunner) => LocalSignInStore) => {
  const s = statements(db)
  return (runner) => ({
    async isOff(owner) {
      return (await runner.first(s.isOff, { ownerKey: ownerKeyOf(owner) })) !== undefined
    },
    async setOff(owner, isOff, at) {
      const ownerKey = ownerKeyOf(owner)
      if (((await runner.first(s.isOff, { ownerKey })) !== undefined) === isOff) return false
      if (isOff) await runner.run(s.switchOff, { ownerKey, orgId: owner, since: at })
      else await runner.run(s.switchOn, { ownerKey })
      return true
    },
  })
}
