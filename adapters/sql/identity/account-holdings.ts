import type { Knex } from 'knex'
import type { AccountHoldings } from '../../../core/identity/ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

/** Enough for a person to see what is in the way. */
const shown = 10
/** What `organizations.org_type` holds for a client organization. */
const clientOrgType = 2

const statements = (db: SqlDatabase) => ({
  organizations: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('org_members as m').join('accounts as a', 'a.id', 'm.org_id').where('m.user_id', p('id')).select('a.name').orderBy('a.lower_name').limit(shown),
  ),
  clusters: db.prepare((k, p: (n: 'id') => Knex.Value) => k('clusters').where('owner_id', p('id')).select('name').orderBy('name').limit(shown)),
  clientOrg: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('org_members as m')
      .join('organizations as o', 'o.id', 'm.org_id')
      .where('m.user_id', p('id'))
      .where('o.org_type', clientOrgType)
      .select('o.id')
      .limit(1),
  ),
})

/** Reads what other parts' tables hold of a user, so that identity need not know those parts. */
export const makeSqlAccountHoldings = (db: SqlDatabase): ((runner: SqlRunner) => AccountHoldings) => {
  const s = statements(db)
  return (runner) => ({
    async of(id) {
      const organizations = await runner.all<{ name: string }>(s.organizations, { id })
      const clusters = await runner.all<{ name: string }>(s.clusters, { id })
      return [...organizations.map((row) => `organization ${row.name}`), ...clusters.map((row) => `cluster ${row.name}`)]
    },
    async isClientOrgUser(id) {
      return (await runner.first(s.clientOrg, { id })) !== undefined
    },
  })
}
