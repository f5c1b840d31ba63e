import type { Knex } from 'knex'
import type { AccountHoldings } from '../../../core/identity/ports.ts'
import type { OrgId, UserId } from '../../../core/kernel/ids.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

/** Enough for a person to see what is in the way. */
const shown = 10
/** What `organizations.org_type` holds for a client organization. */
const clientOrgType = 2

type Place = 'id' | 'orgId'

/** Owners of an organization other than one user. */
const otherOwners = (k: Knex, p: (n: 'id') => Knex.Value): Knex.QueryBuilder =>
  k('team_members as tm')
    .join('teams as t', 't.id', 'tm.team_id')
    .join('users as u', 'u.id', 'tm.user_id')
    .where('t.permission', 'owner')
    .whereNot('tm.user_id', p('id'))
    .select(k.raw('1'))

const isOwner = (k: Knex, p: (n: 'id') => Knex.Value): Knex.QueryBuilder =>
  k('team_members as own')
    .join('teams as ot', 'ot.id', 'own.team_id')
    .where('ot.permission', 'owner')
    .where('own.user_id', p('id'))
    .whereRaw('own.org_id = m.org_id')
    .select(k.raw('1'))

const statements = (db: SqlDatabase) => ({
  unattended: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('org_members as m')
      .join('accounts as a', 'a.id', 'm.org_id')
      .where('m.user_id', p('id'))
      .whereExists(isOwner(k, p))
      .whereNotExists(otherOwners(k, p).where('u.is_active', 1).whereRaw('tm.org_id = m.org_id'))
      .select('a.name')
      .orderBy('a.lower_name')
      .limit(shown),
  ),
  memberships: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('org_members as m').join('accounts as a', 'a.id', 'm.org_id').where('m.user_id', p('id')).select('m.org_id', 'a.name').orderBy('m.org_id'),
  ),
  lockOrganization: db.prepare((k, p: (n: 'orgId') => Knex.Value) => k('accounts').where('id', p('orgId')).select('id').forUpdate()),
  isOwner: db.prepare((k, p: (n: Place) => Knex.Value) =>
    k('org_members as m').where('m.user_id', p('id')).where('m.org_id', p('orgId')).whereExists(isOwner(k, p)).select('m.org_id'),
  ),
  otherOwner: db.prepare((k, p: (n: Place) => Knex.Value) => otherOwners(k, p).where('tm.org_id', p('orgId')).limit(1)),
  leaveTeams: db.prepare((k, p: (n: Place) => Knex.Value) =>
    k('team_members').where('user_id', p('id')).where('org_id', p('orgId')).delete(),
  ),
  leaveGrants: db.prepare((k, p: (n: Place) => Knex.Value) =>
    k('object_grants').where('subject_type', 'user').where('subject_id', p('id')).where('org_id', p('orgId')).delete(),
  ),
  leave: db.prepare((k, p: (n: Place) => Knex.Value) => k('org_members').where('user_id', p('id')).where('org_id', p('orgId')).delete()),
  organizations: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('org_members as m').join('accounts as a', 'a.id', 'm.org_id').where('m.user_id', p('id')).select('a.name').orderBy('a.lower_name').limit(shown),
  ),
  organizationOf: db.prepare((k, p: (n: 'id' | 'key') => Knex.Value) =>
    k('org_members as m')
      .join('accounts as a', 'a.id', 'm.org_id')
      .where('m.user_id', p('id'))
      .where('a.lower_name', p('key'))
      .select('m.org_id', 'a.name')
      .forUpdate(),
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
  /** The user's organizations, their rows held: whether somebody else is an owner of them is then decided once. */
  const heldMemberships = async (runner: SqlRunner, id: UserId): Promise<readonly { readonly orgId: number; readonly name: string }[]> => {
    const rows = await runner.all<{ org_id: number | string; name: string }>(s.memberships, { id })
    const held = rows.map((row) => ({ orgId: Number(row.org_id), name: row.name }))
    for (const { orgId } of held) await runner.first(s.lockOrganization, { orgId })
    return held
  }
  const leave = async (runner: SqlRunner, id: UserId, orgId: number): Promise<boolean> => {
    const mustStay = (await runner.first(s.isOwner, { id, orgId })) !== undefined && (await runner.first(s.otherOwner, { id, orgId })) === undefined
    if (mustStay) return false
    await runner.run(s.leaveTeams, { id, orgId })
    await runner.run(s.leaveGrants, { id, orgId })
    await runner.run(s.leave, { id, orgId })
    return true
  }
  return (runner) => ({
    async unattended(id) {
      await heldMemberships(runner, id)
      const organizations = await runner.all<{ name: string }>(s.unattended, { id })
      const clusters = await runner.all<{ name: string }>(s.clusters, { id })
      return [...organizations.map((row) => `organization ${row.name}`), ...clusters.map((row) => `cluster ${row.name}`)]
    },
    async leaveOrganizations(id) {
      const left: string[] = []
      for (const { orgId, name } of await heldMemberships(runner, id)) {
        if (await leave(runner, id, orgId)) left.push(name)
      }
      return left
    },
    async of(id) {
      const organizations = await runner.all<{ name: string }>(s.organizations, { id })
      const clusters = await runner.all<{ name: string }>(s.clusters, { id })
      return [...organizations.map((row) => `organization ${row.name}`), ...clusters.map((row) => `cluster ${row.name}`)]
    },
    async organizationOf(id, name) {
      const row = await runner.first<{ org_id: number | string; name: string }>(s.organizationOf, { id, key: name.toLowerCase() })
      return row === undefined ? undefined : { id: Number(row.org_id) as OrgId, name: row.name }
    },
    async isClientOrgUser(id) {
      return (await runner.first(s.clientOrg, { id })) !== undefined
    },
  })
}
