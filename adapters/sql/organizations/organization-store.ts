import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { OrgId } from '../../../core/kernel/ids.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { OrganizationStore } from '../../../core/organizations/ports.ts'
import { OrganizationNameTaken, robotLogin } from '../../../core/organizations/ports.ts'
import type { Organization, OrganizationProfile, Visibility } from '../../../core/organizations/types.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { HeldObjects } from '../kit/object-rows.ts'
import type { Shown } from '../kit/page-query.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Bind, Num, Params, SqlDatabase, SqlRunner, Statement } from '../kit/statement.ts'
import type { OrganizationRow } from './rows.ts'
import { organizationColumns, organizationOf } from './rows.ts'

type VisibilityBind = 'visible1' | 'visible2' | 'visible3'

const withAccount = (rows: Knex.QueryBuilder): Knex.QueryBuilder => rows.join('accounts as a', 'a.id', 'o.id')

const organizations = (k: Knex): Knex.QueryBuilder => withAccount(k('organizations as o'))

const visible = (p: Params<VisibilityBind>): Knex.Value[] => [p('visible1'), p('visible2'), p('visible3')]

const ofUser = (k: Knex, p: Params<'userId'>): Knex.QueryBuilder =>
  k('organizations as o').join('org_members as m', 'm.org_id', 'o.id').where('m.user_id', p('userId'))

/**
 * Narrows to public memberships of organizations that are visible to the viewer, and to organizations of the viewer.
 */
const seenBy = (k: Knex, p: Params<'userId' | 'viewerId' | VisibilityBind>): Knex.QueryBuilder =>
  ofUser(k, p).where((any) =>
    any
      .where((shown) => shown.where('m.is_public', 1).whereIn('o.visibility', visible(p)))
      .orWhereExists(
        k('org_members as own').select(k.raw('1')).whereRaw('own.org_id = o.id').where('own.user_id', p('viewerId')),
      ),
  )

const byLowerName: Shown = (_, rows, cut) =>
  cut(
    withAccount(rows)
      .select(...organizationColumns)
      .orderBy('a.lower_name'),
  )

const orphaned = (k: Knex): Knex.QueryBuilder =>
  k('organizations as o').whereNotExists(
    k('team_members as tm')
      .join('teams as t', 't.id', 'tm.team_id')
      .where('t.permission', 'owner')
      .whereRaw('tm.org_id = o.id')
      .select(k.raw('1')),
  )

const reads = (db: SqlDatabase) => ({
  orphaned: pageQuery(db, orphaned, byLowerName),
  isOrphaned: db.prepare((k, p: Params<'id'>) => orphaned(k).where('o.id', p('id')).select('o.id')),
  byName: db.prepare((k, p: Params<'key'>) =>
    organizations(k)
      .where('a.lower_name', p('key'))
      .select(...organizationColumns),
  ),
  byId: db.prepare((k, p: Params<'id'>) =>
    organizations(k)
      .where('o.id', p('id'))
      .select(...organizationColumns),
  ),
  byFormerName: db.prepare((k, p: Params<'key'>) =>
    organizations(k)
      .join('account_redirects as r', 'r.account_id', 'o.id')
      .where('r.lower_name', p('key'))
      .select(...organizationColumns),
  ),
  list: pageQuery(
    db,
    (k, p: Params<VisibilityBind>) => k('organizations as o').whereIn('o.visibility', visible(p)),
    byLowerName,
  ),
  ofUser: pageQuery(db, ofUser, byLowerName),
  seenBy: pageQuery(db, seenBy, byLowerName),
  lock: db.prepare((k, p: Params<'id'>) =>
    k('accounts').where('id', p('id')).where('kind', 'organization').select('id').forUpdate(),
  ),
  mayCreate: db.prepare((k, p: Params<'userId'>) =>
    k('users').where('id', p('userId')).select('allow_create_organization'),
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
const profile = (
  value: (column: string, bind: ProfileBind) => Knex.Value | Knex.Raw,
): Record<string, Knex.Value | Knex.Raw> =>
  Object.fromEntries(Object.entries(profileColumns).map(([column, bind]) => [column, value(column, bind)]))

const writes = (db: SqlDatabase) => ({
  insertAccount: db.prepare((k, p: Params<'name' | 'key' | 'at'>) =>
    k('accounts').insert({ kind: 'organization', name: p('name'), lower_name: p('key'), created_at: p('at') }),
  ),
  insert: db.prepare((k, p: Params<'id' | 'orgType' | 'at' | ProfileBind>) =>
    k('organizations').insert({
      id: p('id'),
      org_type: p('orgType'),
      created_at: p('at'),
      ...profile((_, bind) => p(bind)),
    }),
  ),
  // A bind that is null leaves its column unchanged.
  update: db.prepare((k, p: Params<'id' | 'expectedVersion' | ProfileBind>) =>
    k('organizations')
      .where('id', p('id'))
      .where('version', k.raw('coalesce(?, version)', [p('expectedVersion')]))
      .update({
        ...profile((column, bind) => k.raw('coalesce(?, ??)', [p(bind), column])),
        version: k.raw('version + 1'),
      }),
  ),
  dropRedirect: db.prepare((k, p: Params<'key'>) => k('account_redirects').where('lower_name', p('key')).delete()),
  insertRedirect: db.prepare((k, p: Params<'key' | 'id'>) =>
    k('account_redirects').insert({ lower_name: p('key'), account_id: p('id') }),
  ),
  rename: db.prepare((k, p: Params<'id' | 'name' | 'key'>) =>
    k('accounts')
      .where('id', p('id'))
      .update({ name: p('name'), lower_name: p('key') }),
  ),
  robotNames: db.prepare((k, p: Params<'id'>) => k('robot_accounts').where('org_id', p('id')).select('id', 'name')),
  bumpVersion: db.prepare((k, p: Params<'id'>) =>
    k('organizations')
      .where('id', p('id'))
      .update({ version: k.raw('version + 1') }),
  ),
  removeGrants: db.prepare((k, p: Params<'id'>) => k('object_grants').where('org_id', p('id')).delete()),
  removeTokens: db.prepare((k, p: Params<'id'>) => k('access_tokens').where('only_org_id', p('id')).delete()),
  // Deleted one by one: with a subquery MariaDB would read, and lock, every account.
  removeRobot: db.prepare((k, p: Params<'id'>) => k('accounts').where('id', p('id')).where('kind', 'user').delete()),
  remove: db.prepare((k, p: Params<'id'>) => k('accounts').where('id', p('id')).where('kind', 'organization').delete()),
})

const organizationStatements = (db: SqlDatabase): ReturnType<typeof reads> & ReturnType<typeof writes> => ({
  ...reads(db),
  ...writes(db),
})

type Statements = ReturnType<typeof organizationStatements>
type Binds = Readonly<Record<string, Bind>>

const profileBinds = (profile: Partial<OrganizationProfile>): Binds => ({
  fullName: profile.fullName ?? null,
  email: profile.email ?? null,
  description: profile.description ?? null,
  website: profile.website ?? null,
  location: profile.location ?? null,
  visibility: profile.visibility ?? null,
  fleetEndpoint: profile.fleetEndpoint ?? null,
})

/** Returns three binds, regardless of the number of visibilities; a repeated value matches nothing more. */
const visibleBinds = (visible: readonly Visibility[]): Record<VisibilityBind, string> => {
  const last = visible.at(-1) ?? ''
  return { visible1: visible[0] ?? last, visible2: visible[1] ?? last, visible3: visible[2] ?? last }
}

/** Organizations on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlOrganizationStore = (
  db: SqlDatabase,
  held: HeldObjects,
): ((runner: SqlRunner) => OrganizationStore) => {
  const s = organizationStatements(db)
  return (runner) => ({
    ...reading(s, runner),
    ...changing(s, runner),
    blockingObjects: (id, limit) => held(runner, id, limit),
  })
}

type Reading =
  | 'findByName'
  | 'findById'
  | 'findByFormerName'
  | 'list'
  | 'listOfUser'
  | 'listOrphaned'
  | 'isOrphaned'
  | 'listOfUserSeenBy'
  | 'mayCreate'

const reading = (s: Statements, runner: SqlRunner): Pick<OrganizationStore, Reading> => {
  const one = async (statement: Statement, binds: Binds): Promise<Organization | undefined> => {
    const row = await runner.first<OrganizationRow>(statement, binds)
    return row === undefined ? undefined : organizationOf(row)
  }
  return {
    findByName: (name) => one(s.byName, { key: accountNameKey(name) }),
    findById: (id) => one(s.byId, { id }),
    findByFormerName: (name) => one(s.byFormerName, { key: accountNameKey(name) }),
    list: async (visible, request) =>
      mapPage(await s.list<OrganizationRow>(runner, visibleBinds(visible), request), organizationOf),
    listOrphaned: async (request) => mapPage(await s.orphaned<OrganizationRow>(runner, {}, request), organizationOf),
    async isOrphaned(id) {
      return (await runner.first(s.isOrphaned, { id })) !== undefined
    },
    listOfUser: async (userId, request) =>
      mapPage(await s.ofUser<OrganizationRow>(runner, { userId }, request), organizationOf),
    listOfUserSeenBy: async (userId, viewerId, visible, request) =>
      mapPage(
        await s.seenBy<OrganizationRow>(runner, { userId, viewerId: viewerId ?? 0, ...visibleBinds(visible) }, request),
        organizationOf,
      ),
    async mayCreate(userId) {
      const row = await runner.first<{ allow_create_organization: Num }>(s.mayCreate, { userId })
      return row !== undefined && Number(row.allow_create_organization) === 1
    },
  }
}

const nameTaken = (name: string) =>
  left(OrganizationNameTaken(`The name "${name}" is already in use by a user or an organization.`))

/** Returns at most as many as an organization may have. */
const robotsOf = (
  s: Statements,
  runner: SqlRunner,
  id: OrgId,
): Promise<readonly { readonly id: Num; readonly name: string }[]> =>
  runner.all<{ id: Num; name: string }>(s.robotNames, { id })

const changing = (s: Statements, runner: SqlRunner): Omit<OrganizationStore, Reading | 'blockingObjects'> => ({
  async insert(organization) {
    const { name, orgType, createdAt } = organization
    const key = accountNameKey(name)
    const at = createdAt.getTime()
    try {
      const id = (await runner.run(s.insertAccount, { name, key, at })).insertId as OrgId
      await runner.run(s.dropRedirect, { key })
      await runner.run(s.insert, { id, orgType, at, ...profileBinds(organization) })
      return right(id)
    } catch (error) {
      if (isUniqueViolation(error, 'lower_name')) return nameTaken(name)
      throw error
    }
  },
  async update(id, changes, expectedVersion) {
    const done = await runner.run(s.update, { id, expectedVersion: expectedVersion ?? null, ...profileBinds(changes) })
    return done.affected > 0
  },
  async rename(id, from, to) {
    const [oldKey, key] = [accountNameKey(from), accountNameKey(to)]
    try {
      await runner.run(s.rename, { id, name: to, key })
    } catch (error) {
      if (isUniqueViolation(error, 'lower_name')) return nameTaken(to)
      throw error
    }
    await runner.run(s.dropRedirect, { key })
    if (oldKey !== key) await runner.run(s.insertRedirect, { key: oldKey, id })
    for (const robot of await robotsOf(s, runner, id)) {
      const login = robotLogin(to, robot.name)
      await runner.run(s.rename, { id: Number(robot.id), name: login, key: accountNameKey(login) })
    }
    await runner.run(s.bumpVersion, { id })
    return right(undefined)
  },
  async remove(id) {
    await runner.run(s.removeGrants, { id })
    await runner.run(s.removeTokens, { id })
    for (const robot of await robotsOf(s, runner, id)) await runner.run(s.removeRobot, { id: Number(robot.id) })
    await runner.run(s.remove, { id })
  },
  async lock(id) {
    return (await runner.first(s.lock, { id })) !== undefined
  },
})
