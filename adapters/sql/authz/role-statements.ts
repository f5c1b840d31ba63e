import type { Knex } from 'knex'
import type { SqlDatabase } from '../statement.ts'
import { listSlots, paddedList } from './padded-list.ts'
import { roleColumns } from './role-rows.ts'

const prepareRoles = (db: SqlDatabase) => ({
  list: db.prepare((k, p: (n: 'orgId' | 'limit' | 'offset') => number) =>
    k('roles').select(...roleColumns).where('org_id', p('orgId')).orderBy('id').limit(p('limit')).offset(p('offset')),
  ),
  count: db.prepare((k, p: (n: 'orgId') => number) => k('roles').count('* as total').where('org_id', p('orgId'))),
  get: db.prepare((k, p: (n: 'orgId' | 'id') => number) => k('roles').select(...roleColumns).where({ id: p('id'), org_id: p('orgId') })),
  lock: db.prepare((k, p: (n: 'orgId' | 'id') => number) =>
    k('roles').select(...roleColumns).where({ id: p('id'), org_id: p('orgId') }).forUpdate(),
  ),
  insert: db.prepare((k, p: (n: 'orgId' | 'name' | 'lowerName' | 'description' | 'at') => number) =>
    k('roles').insert({
      org_id: p('orgId'),
      name: p('name'),
      lower_name: p('lowerName'),
      description: p('description'),
      created_at: p('at'),
      updated_at: p('at'),
      version: 1,
    }),
  ),
  update: db.prepare((k, p: (n: 'orgId' | 'id' | 'name' | 'lowerName' | 'description' | 'at') => number) =>
    k('roles')
      .where({ id: p('id'), org_id: p('orgId') })
      .update({
        name: p('name'),
        lower_name: p('lowerName'),
        description: p('description'),
        updated_at: p('at'),
        version: k.raw('version + 1'),
      }),
  ),
  remove: db.prepare((k, p: (n: 'orgId' | 'id') => number) => k('roles').where({ id: p('id'), org_id: p('orgId') }).delete()),
})

const prepareParts = (db: SqlDatabase) => ({
  addPermission: db.prepare((k, p: (n: 'roleId' | 'namespace' | 'action') => number) =>
    k('role_permissions').insert({ role_id: p('roleId'), namespace: p('namespace'), action: p('action') }),
  ),
  dropPermissions: db.prepare((k, p: (n: 'roleId') => number) => k('role_permissions').where('role_id', p('roleId')).delete()),
  attachTeam: db.prepare((k, p: (n: 'orgId' | 'roleId' | 'teamId') => number) =>
    k('team_roles').insert({ team_id: p('teamId'), role_id: p('roleId'), org_id: p('orgId') }),
  ),
  detachTeams: db.prepare((k, p: (n: 'roleId') => number) => k('team_roles').where('role_id', p('roleId')).delete()),
  permissionsOf: paddedList((length) =>
    db.prepare((k, p: (name: string) => number) =>
      k('role_permissions')
        .select('role_id', 'namespace', 'action')
        .whereIn('role_id', listSlots(p, length))
        .orderBy(['role_id', 'namespace', 'action']),
    ),
  ),
  teamsOf: paddedList((length) =>
    db.prepare((k, p: (name: string) => number) =>
      k('team_roles').select('role_id', 'team_id').whereIn('role_id', listSlots(p, length)).orderBy(['role_id', 'team_id']),
    ),
  ),
  // In the order of their ids, so that two transactions that lock several teams wait rather than deadlock.
  lockTeams: paddedList((length) =>
    db.prepare((k, p: (name: string) => number) =>
      k('teams').select('id').where('org_id', p('orgId')).whereIn('id', listSlots(p, length)).orderBy('id').forUpdate(),
    ),
  ),
})

const preparePrincipals = (db: SqlDatabase) => ({
  principals: db.prepare((k, p: (n: 'orgId' | 'id' | 'limit' | 'offset') => number) =>
    teamPrincipals(k, p)
      .unionAll(userPrincipals(k, p))
      .orderBy([{ column: 'type' }, { column: 'id' }])
      .limit(p('limit'))
      .offset(p('offset')),
  ),
  countPrincipals: db.prepare((k, p: (n: 'orgId' | 'id') => number) =>
    k.count('* as total').from(teamPrincipals(k, p).unionAll(userPrincipals(k, p)).as('principals')),
  ),
})

/**
 * Every statement on roles, composed once. Those that a caller's id reaches name the organization, so that no id reaches
 * another tenant's role; the parts of a role are reached by a role that was found so.
 */
export const prepareRoleStatements = (db: SqlDatabase) => ({ ...prepareRoles(db), ...prepareParts(db), ...preparePrincipals(db) })

export type RoleStatements = ReturnType<typeof prepareRoleStatements>

type Slot = (name: 'orgId' | 'id') => number

const attachedTeams = (k: Knex, p: Slot): Knex.QueryBuilder =>
  k('team_roles as tr')
    .join('teams as t', (on) => on.on('t.id', 'tr.team_id').on('t.org_id', 'tr.org_id'))
    .where('tr.role_id', p('id'))
    .where('tr.org_id', p('orgId'))

const teamPrincipals = (k: Knex, p: Slot): Knex.QueryBuilder =>
  attachedTeams(k, p).select(k.raw("'team' as type"), 't.id as id', 't.name as name', 't.name as display_name', k.raw('null as via_team_id'))

/** People and robot accounts in the teams who are still members of the organization, each once with the first such team. */
const userPrincipals = (k: Knex, p: Slot): Knex.QueryBuilder =>
  attachedTeams(k, p)
    .join('team_members as tm', 'tm.team_id', 't.id')
    .join('org_members as m', (on) => on.on('m.user_id', 'tm.user_id').on('m.org_id', 't.org_id'))
    .join('accounts as a', 'a.id', 'tm.user_id')
    .join('users as u', 'u.id', 'tm.user_id')
    .groupBy('a.id', 'a.name', 'u.full_name')
    .select(k.raw("'user' as type"), 'a.id as id', 'a.name as name', 'u.full_name as display_name', k.raw('min(t.id) as via_team_id'))
