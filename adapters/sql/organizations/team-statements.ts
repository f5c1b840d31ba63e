import type { Knex } from 'knex'
import type { EntrantBind } from '../authz/letting-in.ts'
import { lettingIn } from '../authz/letting-in.ts'
import { listSlots, paddedList } from '../authz/padded-list.ts'
import { countOf } from '../counted-page.ts'
import type { SqlDatabase } from '../statement.ts'
import { teamColumns } from './rows.ts'

type P<N extends string> = (name: N) => Knex.Value & number
type PageBind = 'limit' | 'offset'
type SearchBind = 'orgId' | 'pattern' | 'inDescription' | 'memberId'

const teams = (k: Knex): Knex.QueryBuilder => k('teams as t')

const ownersFirst = (k: Knex, query: Knex.QueryBuilder, p: P<PageBind>): Knex.QueryBuilder =>
  query
    .select(...teamColumns)
    .orderByRaw(k.raw("case when t.permission = 'owner' then 0 else 1 end"))
    .orderBy('t.lower_name')
    .limit(p('limit'))
    .offset(p('offset'))

/** `memberId` 0 stands for no such condition, `inDescription` 1 for looking there as well. */
const searched = (k: Knex, p: P<SearchBind>): Knex.QueryBuilder =>
  teams(k)
    .where('t.org_id', p('orgId'))
    .where((any) =>
      any
        .whereRaw("t.lower_name like ? escape '!'", [p('pattern')])
        .orWhereRaw("(? = 1 and lower(t.description) like ? escape '!')", [p('inDescription'), p('pattern')]),
    )
    .where((any) =>
      any
        .whereRaw('? = 0', [p('memberId')])
        .orWhereExists(
          k('team_members as m').select(k.raw('1')).whereRaw('m.team_id = t.id').where('m.user_id', p('memberId')),
        ),
    )

type MineBind = 'userId' | 'onlyOrgId' | 'onlyPublic' | EntrantBind
/** `onlyOrgId` 0 stands for all organizations, `onlyPublic` 1 for the public ones. */
const ofUser = (k: Knex, p: P<MineBind>): Knex.QueryBuilder =>
  teams(k)
    .join('team_members as m', 'm.team_id', 't.id')
    .join('organizations as o', 'o.id', 't.org_id')
    .where('m.user_id', p('userId'))
    .where((any) => any.whereRaw('? = 0', [p('onlyOrgId')]).orWhere('m.org_id', p('onlyOrgId')))
    .where((any) => any.whereRaw('? = 0', [p('onlyPublic')]).orWhere('o.visibility', 'public'))
    .modify(lettingIn(k, p))

const reads = (db: SqlDatabase) => ({
  byId: db.prepare((k, p: P<'id'>) => teams(k).where('t.id', p('id')).select(...teamColumns)),
  list: db.prepare((k, p: P<'orgId' | PageBind>) => ownersFirst(k, teams(k).where('t.org_id', p('orgId')), p)),
  countList: db.prepare((k, p: P<'orgId'>) => countOf(k, teams(k).where('t.org_id', p('orgId')).select('t.id'))),
  search: db.prepare((k, p: P<SearchBind | PageBind>) => ownersFirst(k, searched(k, p), p)),
  countSearch: db.prepare((k, p: P<SearchBind>) => countOf(k, searched(k, p).select('t.id'))),
  ofUser: db.prepare((k, p: P<MineBind | PageBind>) =>
    ofUser(k, p).select(...teamColumns).orderBy('t.id').limit(p('limit')).offset(p('offset')),
  ),
  countOfUser: db.prepare((k, p: P<MineBind>) => countOf(k, ofUser(k, p).select('t.id'))),
  ofMember: db.prepare((k, p: P<'userId' | 'orgId'>) =>
    teams(k)
      .join('team_members as m', 'm.team_id', 't.id')
      .where('m.user_id', p('userId'))
      .where('m.org_id', p('orgId'))
      .select(...teamColumns)
      .orderBy('t.id'),
  ),
  byPermission: db.prepare((k, p: P<'orgId' | 'permission'>) =>
    teams(k).where('t.org_id', p('orgId')).where('t.permission', p('permission')).select(...teamColumns).orderBy('t.id').limit(1),
  ),
  rolesOf: paddedList((length) =>
    db.prepare((k, p: P<string>) =>
      k('team_roles').whereIn('team_id', listSlots(p, length)).select('team_id', 'role_id').orderBy('role_id'),
    ),
  ),
  rolePermissions: paddedList((length) =>
    db.prepare((k, p: P<string>) =>
      k('roles as r')
        .leftJoin('role_permissions as rp', 'rp.role_id', 'r.id')
        .where('r.org_id', p('orgId'))
        .whereIn('r.id', listSlots(p, length))
        .select('r.id', 'rp.namespace', 'rp.action')
        .forUpdate(),
    ),
  ),
})

const peopleOf = (k: Knex, p: P<'id'>): Knex.QueryBuilder =>
  k('team_members as m').join('users as u', 'u.id', 'm.user_id').where('m.team_id', p('id')).whereNull('u.robot_org_id')

const memberReads = (db: SqlDatabase) => ({
  members: db.prepare((k, p: P<'id' | PageBind>) =>
    peopleOf(k, p)
      .join('accounts as a', 'a.id', 'm.user_id')
      .where('m.team_id', p('id'))
      .select('m.user_id')
      .orderBy('a.lower_name')
      .limit(p('limit'))
      .offset(p('offset')),
  ),
  countMembers: db.prepare((k, p: P<'id'>) => countOf(k, peopleOf(k, p).select('m.user_id'))),
  firstMembers: db.prepare((k, p: P<'id' | 'limit'>) => k('team_members').where('team_id', p('id')).select('user_id').limit(p('limit'))),
  hasMember: db.prepare((k, p: P<'id' | 'userId'>) =>
    k('team_members').where('team_id', p('id')).where('user_id', p('userId')).select('user_id'),
  ),
})

const writes = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: P<'orgId' | 'name' | 'key' | 'description' | 'permission' | 'type' | 'at'>) =>
    k('teams').insert({
      org_id: p('orgId'),
      name: p('name'),
      lower_name: p('key'),
      description: p('description'),
      permission: p('permission'),
      type: p('type'),
      created_at: p('at'),
    }),
  ),
  // A bind that is null leaves its column as it is.
  update: db.prepare((k, p: P<'id' | 'expectedVersion' | 'name' | 'key' | 'description' | 'permission' | 'type'>) =>
    k('teams')
      .where('id', p('id'))
      .where('version', k.raw('coalesce(?, version)', [p('expectedVersion')]))
      .update({
        name: k.raw('coalesce(?, name)', [p('name')]),
        lower_name: k.raw('coalesce(?, lower_name)', [p('key')]),
        description: k.raw('coalesce(?, description)', [p('description')]),
        permission: k.raw('coalesce(?, permission)', [p('permission')]),
        type: k.raw('coalesce(?, ??)', [p('type'), 'type']),
        version: k.raw('version + 1'),
      }),
  ),
  removeGrants: db.prepare((k, p: P<'id'>) => k('object_grants').where('subject_type', 'team').where('subject_id', p('id')).delete()),
  remove: db.prepare((k, p: P<'id'>) => k('teams').where('id', p('id')).delete()),
  detachRoles: db.prepare((k, p: P<'id'>) => k('team_roles').where('team_id', p('id')).delete()),
  attachRole: db.prepare((k, p: P<'id' | 'roleId' | 'orgId'>) =>
    k('team_roles').insert({ team_id: p('id'), role_id: p('roleId'), org_id: p('orgId') }),
  ),
  addMember: db.prepare((k, p: P<'id' | 'orgId' | 'userId' | 'at'>) =>
    k('team_members').insert({ team_id: p('id'), user_id: p('userId'), org_id: p('orgId'), created_at: p('at') }),
  ),
  removeMember: db.prepare((k, p: P<'id' | 'userId'>) =>
    k('team_members').where('team_id', p('id')).where('user_id', p('userId')).delete(),
  ),
})

type Statements = ReturnType<typeof reads> & ReturnType<typeof memberReads> & ReturnType<typeof writes>

/** Every statement of the team store. */
export const teamStatements = (db: SqlDatabase): Statements => ({ ...reads(db), ...memberReads(db), ...writes(db) })
