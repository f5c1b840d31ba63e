import type { Knex } from 'knex'
import { listSlots, paddedList } from '../authz/padded-list.ts'
import { countOf } from '../counted-page.ts'
import type { SqlDatabase } from '../statement.ts'
import { organizationColumns } from './rows.ts'

type P<N extends string> = (name: N) => Knex.Value & number
type PageBind = 'limit' | 'offset'
type VisibilityBind = 'visible1' | 'visible2' | 'visible3'

const organizations = (k: Knex): Knex.QueryBuilder => k('organizations as o').join('accounts as a', 'a.id', 'o.id')

const visible = (p: P<VisibilityBind>): Knex.Value[] => [p('visible1'), p('visible2'), p('visible3')]

const ofUser = (k: Knex, p: P<'userId'>): Knex.QueryBuilder =>
  organizations(k).join('org_members as m', 'm.org_id', 'o.id').where('m.user_id', p('userId'))

/** Public membership of an organization that is visible anyway, or an organization that the viewer is in. */
const seenBy = (k: Knex, p: P<'userId' | 'viewerId' | VisibilityBind>): Knex.QueryBuilder =>
  ofUser(k, p).where((any) =>
    any
      .where((shown) => shown.where('m.is_public', 1).whereIn('o.visibility', visible(p)))
      .orWhereExists(
        k('org_members as own').select(k.raw('1')).whereRaw('own.org_id = o.id').where('own.user_id', p('viewerId')),
      ),
  )

const paged = (query: Knex.QueryBuilder, p: P<PageBind>): Knex.QueryBuilder =>
  query.select(...organizationColumns).orderBy('a.lower_name').limit(p('limit')).offset(p('offset'))

const orphaned = (k: Knex): Knex.QueryBuilder =>
  organizations(k).whereNotExists(
    k('team_members as tm').join('teams as t', 't.id', 'tm.team_id').where('t.permission', 'owner').whereRaw('tm.org_id = o.id').select(k.raw('1')),
  )

const reads = (db: SqlDatabase) => ({
  orphaned: db.prepare((k, p: P<PageBind>) => paged(orphaned(k), p)),
  countOrphaned: db.prepare((k) => countOf(k, orphaned(k).select('o.id'))),
  isOrphaned: db.prepare((k, p: P<'id'>) => orphaned(k).where('o.id', p('id')).select('o.id')),
  byName: db.prepare((k, p: P<'key'>) => organizations(k).where('a.lower_name', p('key')).select(...organizationColumns)),
  byId: db.prepare((k, p: P<'id'>) => organizations(k).where('o.id', p('id')).select(...organizationColumns)),
  byIds: paddedList((length) =>
    db.prepare((k, p: P<string>) => organizations(k).whereIn('o.id', listSlots(p, length)).select(...organizationColumns)),
  ),
  byFormerName: db.prepare((k, p: P<'key'>) =>
    organizations(k).join('account_redirects as r', 'r.account_id', 'o.id').where('r.lower_name', p('key')).select(...organizationColumns),
  ),
  list: db.prepare((k, p: P<VisibilityBind | PageBind>) => paged(organizations(k).whereIn('o.visibility', visible(p)), p)),
  countList: db.prepare((k, p: P<VisibilityBind>) =>
    countOf(k, k('organizations as o').select('o.id').whereIn('o.visibility', visible(p))),
  ),
  ofUser: db.prepare((k, p: P<'userId' | PageBind>) => paged(ofUser(k, p), p)),
  countOfUser: db.prepare((k, p: P<'userId'>) => countOf(k, ofUser(k, p).select('o.id'))),
  seenBy: db.prepare((k, p: P<'userId' | 'viewerId' | VisibilityBind | PageBind>) => paged(seenBy(k, p), p)),
  countSeenBy: db.prepare((k, p: P<'userId' | 'viewerId' | VisibilityBind>) => countOf(k, seenBy(k, p).select('o.id'))),
  lock: db.prepare((k, p: P<'id'>) =>
    k('accounts').where('id', p('id')).where('kind', 'organization').select('id').forUpdate(),
  ),
  mayCreate: db.prepare((k, p: P<'userId'>) => k('users').where('id', p('userId')).select('allow_create_organization')),
  clusters: db.prepare((k, p: P<'id' | 'limit'>) =>
    k('clusters').where('owner_id', p('id')).select('name').orderBy('name').limit(p('limit')),
  ),
})

type ProfileBind = 'fullName' | 'email' | 'description' | 'website' | 'location' | 'visibility' | 'fleetEndpoint'
const profileColumns: Readonly<Record<string, ProfileBind>> = {
  full_name: 'fullName',
  email: 'email',
  description: 'description',
  website: 'website',
  location: 'location',
  visibility: 'visibility',
  fleet_endpoint: 'fleetEndpoint',
}
const profile = (value: (column: string, bind: ProfileBind) => Knex.Value | Knex.Raw): Record<string, Knex.Value | Knex.Raw> =>
  Object.fromEntries(Object.entries(profileColumns).map(([column, bind]) => [column, value(column, bind)]))

const writes = (db: SqlDatabase) => ({
  insertAccount: db.prepare((k, p: P<'name' | 'key' | 'at'>) =>
    k('accounts').insert({ kind: 'organization', name: p('name'), lower_name: p('key'), created_at: p('at') }),
  ),
  insert: db.prepare((k, p: P<'id' | 'orgType' | 'at' | ProfileBind>) =>
    k('organizations').insert({
      id: p('id'),
      org_type: p('orgType'),
      created_at: p('at'),
      ...profile((_, bind) => p(bind)),
    }),
  ),
  // A bind that is null leaves its column as it is.
  update: db.prepare((k, p: P<'id' | 'expectedVersion' | ProfileBind>) =>
    k('organizations')
      .where('id', p('id'))
      .where('version', k.raw('coalesce(?, version)', [p('expectedVersion')]))
      .update({
        ...profile((column, bind) => k.raw('coalesce(?, ??)', [p(bind), column])),
        version: k.raw('version + 1'),
      }),
  ),
  dropRedirect: db.prepare((k, p: P<'key'>) => k('account_redirects').where('lower_name', p('key')).delete()),
  insertRedirect: db.prepare((k, p: P<'key' | 'id'>) => k('account_redirects').insert({ lower_name: p('key'), account_id: p('id') })),
  rename: db.prepare((k, p: P<'id' | 'name' | 'key'>) =>
    k('accounts').where('id', p('id')).update({ name: p('name'), lower_name: p('key') }),
  ),
  robotNames: db.prepare((k, p: P<'id'>) => k('robot_accounts').where('org_id', p('id')).select('id', 'name')),
  bumpVersion: db.prepare((k, p: P<'id'>) =>
    k('organizations').where('id', p('id')).update({ version: k.raw('version + 1') }),
  ),
  removeGrants: db.prepare((k, p: P<'id'>) => k('object_grants').where('org_id', p('id')).delete()),
  removeTokens: db.prepare((k, p: P<'id'>) => k('access_tokens').where('only_org_id', p('id')).delete()),
  // One by one: with a subquery MariaDB would read, and lock, every account.
  removeRobot: db.prepare((k, p: P<'id'>) => k('accounts').where('id', p('id')).where('kind', 'user').delete()),
  remove: db.prepare((k, p: P<'id'>) => k('accounts').where('id', p('id')).where('kind', 'organization').delete()),
})

/** Every statement of the organization store. */
export const organizationStatements = (db: SqlDatabase): ReturnType<typeof reads> & ReturnType<typeof writes> => ({
  ...reads(db),
  ...writes(db),
})
