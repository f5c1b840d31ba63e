import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { OrgId, UserId } from '../../../core/kernel/ids.ts'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import { pickFields } from '../../../core/kernel/json.ts'
import type { OrganizationStore } from '../../../core/organizations/ports.ts'
import { OrganizationNameTaken, robotLogin } from '../../../core/organizations/ports.ts'
import type { OrganizationProfile, Visibility } from '../../../core/organizations/types.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { HeldObjects } from '../kit/object-rows.ts'
import type { Shown } from '../kit/page-query.ts'
import type { Slot, Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { organizationRow, profileOfOrganization } from './rows.ts'
import type { Binds } from '../kit/columns.ts'
import { aliased, int, nullable, nullableColumns, pick, present } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import { insertInto, newRow, unlessNull, values } from '../kit/values.ts'
import { objectGrants } from '../tables/authz.ts'
import { accessTokens, accountRedirects, accounts, users } from '../tables/identity.ts'
import { organizations, orgMembers, robotAccounts } from '../tables/organizations.ts'

const visibleParams = {
  visible1: organizations.visibility,
  visible2: organizations.visibility,
  visible3: organizations.visibility,
}
const seenParams = { userId: orgMembers.userId, viewerId: int(), ...visibleParams }

const withAccount = (rows: Knex.QueryBuilder): Knex.QueryBuilder => rows.join('accounts as a', 'a.id', 'o.id')

const fromOrganizations = (k: Knex): Knex.QueryBuilder => withAccount(k('organizations as o'))

const visible = (p: Slots<typeof visibleParams>): readonly Slot<'text'>[] => [p.visible1, p.visible2, p.visible3]

const ofUser = (k: Knex, p: { readonly userId: Slot<'integer'> }): Knex.QueryBuilder =>
  k('organizations as o').join('org_members as m', 'm.org_id', 'o.id').where('m.user_id', p.userId)

/**
 * Narrows to public memberships of organizations that are visible to the viewer, and to organizations of the viewer.
 */
const seenBy = (k: Knex, p: Slots<typeof seenParams>): Knex.QueryBuilder =>
  ofUser(k, p).where((any) =>
    any
      .where((shown) => shown.where('m.is_public', 1).whereIn('o.visibility', visible(p)))
      .orWhereExists(
        k('org_members as own').select(k.raw('1')).whereRaw('own.org_id = o.id').where('own.user_id', p.viewerId),
      ),
  )

const byLowerName: Shown = (_, rows, cut) => cut(withAccount(rows).orderBy('a.lower_name'))

const orphaned = (k: Knex): Knex.QueryBuilder =>
  k('organizations as o').whereNotExists(
    k('team_members as tm')
      .join('teams as t', 't.id', 'tm.team_id')
      .where('t.permission', 'owner')
      // The index of teams begins with their organization.
      .whereRaw('t.org_id = o.id')
      .select(k.raw('1')),
  )

const reads = (db: SqlDatabase) => ({
  orphaned: typedPage(db, {}, organizationRow, orphaned, byLowerName),
  isOrphaned: db.prepare({ id: organizations.id }, { id: aliased(organizations, 'o').id }, (k, p) =>
    orphaned(k).where('o.id', p.id),
  ),
  byName: db.prepare({ key: accounts.lowerName }, organizationRow, (k, p) =>
    fromOrganizations(k).where('a.lower_name', p.key),
  ),
  byId: db.prepare({ id: organizations.id }, organizationRow, (k, p) => fromOrganizations(k).where('o.id', p.id)),
  byFormerName: db.prepare({ key: accountRedirects.lowerName }, organizationRow, (k, p) =>
    fromOrganizations(k).join('account_redirects as r', 'r.account_id', 'o.id').where('r.lower_name', p.key),
  ),
  list: typedPage(
    db,
    visibleParams,
    organizationRow,
    (k, p) => k('organizations as o').whereIn('o.visibility', visible(p)),
    byLowerName,
  ),
  ofUser: typedPage(db, { userId: orgMembers.userId }, organizationRow, ofUser, byLowerName),
  seenBy: typedPage(db, seenParams, organizationRow, seenBy, byLowerName),
  lock: db.prepare({ id: accounts.id }, { id: accounts.id }, (k, p) =>
    k('accounts').where('id', p.id).where('kind', 'organization').forUpdate(),
  ),
  mayCreate: db.prepare({ userId: users.id }, { allowCreateOrganization: users.allowCreateOrganization }, (k, p) =>
    k('users').where('id', p.userId),
  ),
})

/** An update leaves a field as it is that is undefined. */
const changed = nullableColumns(profileOfOrganization)

const writes = (db: SqlDatabase) => ({
  insertAccount: db.prepare({ name: accounts.name, key: accounts.lowerName, at: accounts.createdAt }, (k, p) =>
    k('accounts').insert(newRow(accounts, { kind: 'organization', name: p.name, lowerName: p.key, createdAt: p.at })),
  ),
  insert: insertInto(db, organizations, {
    omitted: ['version', 'twoFactorFrom', 'twoFactorGraceDays', 'maxTokenLifeDays', 'requiresPasskey', 'policyVersion'],
  }),
  // A bind that is null leaves its column unchanged.
  update: db.prepare({ ...changed, id: organizations.id, expectedVersion: nullable(organizations.version) }, (k, p) =>
    k('organizations')
      .where('id', p.id)
      .where('version', k.raw('coalesce(?, version)', [p.expectedVersion]))
      .update({ ...unlessNull(k, changed, p), version: k.raw('version + 1') }),
  ),
  dropRedirect: db.prepare({ key: accountRedirects.lowerName }, (k, p) =>
    k('account_redirects').where('lower_name', p.key).delete(),
  ),
  insertRedirect: db.prepare({ key: accountRedirects.lowerName, id: accountRedirects.accountId }, (k, p) =>
    k('account_redirects').insert(newRow(accountRedirects, { lowerName: p.key, accountId: p.id })),
  ),
  rename: db.prepare({ ...pick(accounts, 'id', 'name'), key: accounts.lowerName }, (k, p) =>
    k('accounts')
      .where('id', p.id)
      .update(values(accounts, { name: p.name, lowerName: p.key })),
  ),
  robotNames: db.prepare({ id: robotAccounts.orgId }, pick(robotAccounts, 'id', 'name'), (k, p) =>
    k('robot_accounts').where('org_id', p.id),
  ),
  bumpVersion: db.prepare({ id: organizations.id }, (k, p) =>
    k('organizations')
      .where('id', p.id)
      .update(values(organizations, { version: k.raw('version + 1') })),
  ),
  removeGrants: db.prepare({ id: objectGrants.orgId }, (k, p) => k('object_grants').where('org_id', p.id).delete()),
  removeTokens: db.prepare({ id: present(accessTokens.onlyOrgId) }, (k, p) =>
    k('access_tokens').where('only_org_id', p.id).delete(),
  ),
  // Deleted one by one: with a subquery MariaDB would read, and lock, every account.
  removeRobot: db.prepare({ id: accounts.id }, (k, p) =>
    k('accounts').where('id', p.id).where('kind', 'user').delete(),
  ),
  remove: db.prepare({ id: accounts.id }, (k, p) =>
    k('accounts').where('id', p.id).where('kind', 'organization').delete(),
  ),
})

const organizationStatements = (db: SqlDatabase): ReturnType<typeof reads> & ReturnType<typeof writes> => ({
  ...reads(db),
  ...writes(db),
})

type Statements = ReturnType<typeof organizationStatements>

const profileBinds = (profile: Partial<OrganizationProfile>): Binds<typeof changed> =>
  pickFields(changed, profile as Binds<typeof changed>)

/** A word that no row has. */
const noVisibility = '' as Visibility

/** Returns three binds, regardless of the number of visibilities; a repeated value matches nothing more. */
const visibleBinds = (visible: readonly Visibility[]): Binds<typeof visibleParams> => {
  const last = visible.at(-1) ?? noVisibility
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
  return {
    findByName: (name) => runner.first(s.byName, { key: accountNameKey(name) }),
    findById: (id) => runner.first(s.byId, { id }),
    findByFormerName: (name) => runner.first(s.byFormerName, { key: accountNameKey(name) }),
    list: (visible, request) => s.list(runner, visibleBinds(visible), request),
    listOrphaned: (request) => s.orphaned(runner, {}, request),
    async isOrphaned(id) {
      return (await runner.first(s.isOrphaned, { id })) !== undefined
    },
    listOfUser: (userId, request) => s.ofUser(runner, { userId }, request),
    listOfUserSeenBy: (userId, viewerId, visible, request) =>
      s.seenBy(runner, { userId, viewerId: viewerId ?? 0, ...visibleBinds(visible) }, request),
    async mayCreate(userId) {
      const row = await runner.first(s.mayCreate, { userId })
      return row?.allowCreateOrganization === true
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
): Promise<readonly { readonly id: UserId; readonly name: string }[]> => runner.all(s.robotNames, { id })

const changing = (s: Statements, runner: SqlRunner): Omit<OrganizationStore, Reading | 'blockingObjects'> => ({
  async insert(organization) {
    const { name, createdAt } = organization
    const key = accountNameKey(name)
    const at = createdAt
    try {
      const id = (await runner.run(s.insertAccount, { name, key, at })).insertId as OrgId
      await runner.run(s.dropRedirect, { key })
      await runner.run(s.insert, { ...organization, id })
      return right(id)
    } catch (error) {
      if (isUniqueViolation(error, 'lower_name')) return nameTaken(name)
      throw error
    }
  },
  async update(id, changes, expectedVersion) {
    const done = await runner.run(s.update, { id, expectedVersion, ...profileBinds(changes) })
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
      await runner.run(s.rename, { id: robot.id, name: login, key: accountNameKey(login) })
    }
    await runner.run(s.bumpVersion, { id })
    return right(undefined)
  },
  async remove(id) {
    await runner.run(s.removeGrants, { id })
    await runner.run(s.removeTokens, { id })
    for (const robot of await robotsOf(s, runner, id)) await runner.run(s.removeRobot, { id: robot.id })
    await runner.run(s.remove, { id })
  },
  async lock(id) {
    return (await runner.first(s.lock, { id })) !== undefined
  },
})
