import { left, right } from 'fp-ts/lib/Either.js'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import type { OrgId } from '../../../core/kernel/ids.ts'
import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import { OrganizationNameTaken } from '../../../core/organizations/ports.ts'
import type { OrganizationStore } from '../../../core/organizations/ports.ts'
import { robotLogin } from '../../../core/organizations/robot-ports.ts'
import type { Organization, OrganizationProfile, Visibility } from '../../../core/organizations/types.ts'
import type { CountRow } from '../counted-page.ts'
import { pageOf } from '../counted-page.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { Bind, Num, SqlDatabase, SqlRunner, Statement } from '../statement.ts'
import { organizationStatements } from './organization-statements.ts'
import type { OrganizationRow } from './rows.ts'
import { organizationOf } from './rows.ts'

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

/** Three binds, whatever the number; a repeated value finds nothing more. */
const visibleBinds = (visible: readonly Visibility[]): Binds => {
  const last = visible.at(-1) ?? ''
  return { visible1: visible[0] ?? last, visible2: visible[1] ?? last, visible3: visible[2] ?? last }
}

/** Organizations on SQL: statements composed once, the store bound to the pool or to a transaction. */
export const makeSqlOrganizationStore = (db: SqlDatabase): ((runner: SqlRunner) => OrganizationStore) => {
  const s = organizationStatements(db)
  return (runner) => ({ ...reading(s, runner), ...changing(s, runner) })
}

type Reading = 'findByName' | 'findById' | 'findByIds' | 'findByFormerName' | 'list' | 'listOfUser' | 'listOrphaned' | 'isOrphaned' | 'listOfUserSeenBy' | 'blockingObjects' | 'mayCreate'

const reading = (s: Statements, runner: SqlRunner): Pick<OrganizationStore, Reading> => {
  const one = async (statement: Statement, binds: Binds): Promise<Organization | undefined> => {
    const row = await runner.first<OrganizationRow>(statement, binds)
    return row === undefined ? undefined : organizationOf(row)
  }
  const page = async (rows: Statement, count: Statement, binds: Binds, request: PageRequest): Promise<Page<Organization>> => {
    const found = await runner.all<OrganizationRow>(rows, { ...binds, limit: request.limit, offset: pageOffset(request) })
    return pageOf(found.map(organizationOf), await runner.first<CountRow>(count, binds))
  }
  return {
    findByName: (name) => one(s.byName, { key: accountNameKey(name) }),
    findById: (id) => one(s.byId, { id }),
    findByFormerName: (name) => one(s.byFormerName, { key: accountNameKey(name) }),
    async findByIds(ids) {
      if (ids.length === 0) return []
      const { statement, binds } = s.byIds(ids)
      const rows = await runner.all<OrganizationRow>(statement, binds)
      return rows.map(organizationOf)
    },
    list: (visible, request) => page(s.list, s.countList, visibleBinds(visible), request),
    listOrphaned: (request) => page(s.orphaned, s.countOrphaned, {}, request),
    async isOrphaned(id) {
      return (await runner.first(s.isOrphaned, { id })) !== undefined
    },
    listOfUser: (userId, request) => page(s.ofUser, s.countOfUser, { userId }, request),
    listOfUserSeenBy: (userId, viewerId, visible, request) =>
      page(s.seenBy, s.countSeenBy, { userId, viewerId: viewerId ?? 0, ...visibleBinds(visible) }, request),
    async blockingObjects(id, limit) {
      const rows = await runner.all<{ name: string }>(s.clusters, { id, limit })
      return rows.map(({ name }) => ({ type: 'cluster', name }))
    },
    async mayCreate(userId) {
      const row = await runner.first<{ allow_create_organization: Num }>(s.mayCreate, { userId })
      return row !== undefined && Number(row.allow_create_organization) === 1
    },
  }
}

const nameTaken = (name: string) => left(OrganizationNameTaken(`The name "${name}" is taken by a user or an organization.`))

/** At most as many as an organization may have. */
const robotsOf = (s: Statements, runner: SqlRunner, id: OrgId): Promise<readonly { readonly id: Num; readonly name: string }[]> =>
  runner.all<{ id: Num; name: string }>(s.robotNames, { id })

const changing = (s: Statements, runner: SqlRunner): Omit<OrganizationStore, Reading> => ({
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
