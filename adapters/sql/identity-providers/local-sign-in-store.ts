import type { Knex } from 'knex'
import type { LocalSignInFacts, LocalSignInStore } from '../../../core/identity-providers/ports.ts'
import { flag, pick, selectedAs } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { newRow } from '../kit/values.ts'
import { localSignInOffs } from '../tables/identity-providers.ts'
import { users } from '../tables/identity.ts'
import { ownerKeyOf } from './provider-store.ts'

const fact = selectedAs(flag())

/** The links of the user `u` with their active or inactive providers. */
const links = (k: Knex): Knex.QueryBuilder =>
  k('external_accounts as e')
    .join('identity_providers as p', 'p.id', 'e.provider_id')
    .whereRaw('e.user_id = u.id')
    .select(k.raw('1'))

const statements = (db: SqlDatabase) => ({
  facts: db.prepare(
    { userId: users.id },
    {
      isSiteOff: fact,
      isOrganizationOff: fact,
      isEnded: fact,
      isSiteAdmin: fact,
      hasSiteLink: fact,
      hasOtherAdmin: fact,
    },
    (k, p) =>
      k('users as u')
        .where('u.id', p.userId)
        .select(
          k.raw('exists ? as is_site_off', [k('local_sign_in_offs').where('owner_key', 0).select(k.raw('1'))]),
          k.raw('exists ? as is_organization_off', [
            links(k)
              .join('local_sign_in_offs as o', 'o.owner_key', 'p.owner_key')
              .join('org_members as m', (on) => on.on('m.org_id', 'p.org_id').andOn('m.user_id', 'e.user_id')),
          ]),
          k.raw('exists ? as is_ended', [links(k).where('e.is_created', 1).whereNotNull('e.ended_at')]),
          'u.is_admin as is_site_admin',
          k.raw('exists ? as has_site_link', [links(k).where('p.owner_key', 0).where('p.is_active', 1)]),
          k.raw('exists ? as has_other_admin', [
            k('users as x')
              .where('x.is_admin', 1)
              .where('x.is_active', 1)
              .where('x.prohibit_login', 0)
              .whereRaw('x.id <> u.id')
              .select(k.raw('1')),
          ]),
        ),
  ),
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

/** @param judge decides by the facts of a user. */
export const makeSqlLocalSignInStore = (
  db: SqlDatabase,
  judge: (facts: LocalSignInFacts) => boolean,
): ((runner: SqlRunner) => LocalSignInStore) => {
  const s = statements(db)
  return (runner) => ({
    async isOffFor(userId) {
      const facts = await runner.first(s.facts, { userId })
      return facts !== undefined && judge(facts)
    },
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
