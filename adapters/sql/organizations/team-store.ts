import { left, right } from 'fp-ts/lib/Either.js'
import type { RoleId, TeamId, UserId } from '../../../core/kernel/ids.ts'
import type { Page, PageRequest } from '../../../core/kernel/page.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import type { PermissionRef } from '../../../core/kernel/access.ts'
import { TeamNameTaken } from '../../../core/organizations/ports.ts'
import type { TeamStore } from '../../../core/organizations/ports.ts'
import { teamNameKey } from '../../../core/organizations/types.ts'
import type { Team } from '../../../core/organizations/types.ts'
import { entrantBinds } from '../authz/letting-in.ts'
import type { CountRow } from '../counted-page.ts'
import { pageOf } from '../counted-page.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { Bind, Num, SqlDatabase, SqlRunner, Statement } from '../statement.ts'
import type { TeamRow } from './rows.ts'
import { teamOf } from './rows.ts'
import { teamStatements } from './team-statements.ts'

type Statements = ReturnType<typeof teamStatements>
type Binds = Readonly<Record<string, Bind>>
type Reading = 'findById' | 'list' | 'search' | 'listOfUser' | 'listOfMember' | 'findByPermission' | 'rolePermissions'
type Members = 'listMembers' | 'hasMember' | 'countMembers' | 'addMember' | 'removeMember'

interface RolePermissionRow {
  readonly id: Num
  readonly namespace: string | null
  readonly action: string | null
}

/** Teams on SQL: statements composed once, the store bound to the pool or to a transaction. */
export const makeSqlTeamStore = (db: SqlDatabase): ((runner: SqlRunner) => TeamStore) => {
  const s = teamStatements(db)
  return (runner) => ({ ...reading(s, runner), ...members(s, runner), ...changing(s, runner) })
}

const withRoles = async (s: Statements, runner: SqlRunner, rows: readonly TeamRow[]): Promise<Team[]> => {
  if (rows.length === 0) return []
  const { statement, binds } = s.rolesOf(rows.map((row) => Number(row.id)))
  const attached = await runner.all<{ team_id: Num; role_id: Num }>(statement, binds)
  return rows.map((row) =>
    teamOf(
      row,
      attached.filter(({ team_id }) => Number(team_id) === Number(row.id)).map(({ role_id }) => Number(role_id) as RoleId),
    ),
  )
}

/** Text that stands for itself in a LIKE pattern with `!` as escape. */
const literally = (text: string): string => text.replace(/[!%_]/g, '!$&')

const reading = (s: Statements, runner: SqlRunner): Pick<TeamStore, Reading> => {
  const page = async (rows: Statement, count: Statement, binds: Binds, request: PageRequest): Promise<Page<Team>> => {
    const found = await runner.all<TeamRow>(rows, { ...binds, limit: request.limit, offset: pageOffset(request) })
    return pageOf(await withRoles(s, runner, found), await runner.first<CountRow>(count, binds))
  }
  const one = async (statement: Statement, binds: Binds): Promise<Team | undefined> => {
    const row = await runner.first<TeamRow>(statement, binds)
    return row === undefined ? undefined : (await withRoles(s, runner, [row]))[0]
  }
  return {
    findById: (id) => one(s.byId, { id }),
    list: (orgId, request) => page(s.list, s.countList, { orgId }, request),
    search: (orgId, { text, includesDescription, memberId }, request) => {
      const pattern = `%${literally(teamNameKey(text))}%`
      return page(s.search, s.countSearch, { orgId, pattern, inDescription: includesDescription ? 1 : 0, memberId: memberId ?? 0 }, request)
    },
    listOfUser: (userId, { onlyOrgId, onlyPublic, entrant }, request) =>
      page(s.ofUser, s.countOfUser, { userId, onlyOrgId: onlyOrgId ?? 0, onlyPublic: onlyPublic ? 1 : 0, ...entrantBinds(entrant) }, request),
    async listOfMember(orgId, userId) {
      return (await runner.all<TeamRow>(s.ofMember, { orgId, userId })).map((row) => teamOf(row, []))
    },
    findByPermission: (orgId, permission) => one(s.byPermission, { orgId, permission }),
    async rolePermissions(orgId, roleIds) {
      const found = new Map<RoleId, PermissionRef[]>()
      if (roleIds.length === 0) return found
      const { statement, binds } = s.rolePermissions(roleIds)
      const rows = await runner.all<RolePermissionRow>(statement, { ...binds, orgId })
      for (const { id, namespace, action } of rows) {
        const permissions = found.get(Number(id) as RoleId) ?? []
        found.set(Number(id) as RoleId, permissions)
        if (namespace !== null && action !== null) permissions.push({ namespace, action })
      }
      return found
    },
  }
}

const members = (s: Statements, runner: SqlRunner): Pick<TeamStore, Members> => ({
  async listMembers(id, request) {
    const rows = await runner.all<{ user_id: Num }>(s.members, { id, limit: request.limit, offset: pageOffset(request) })
    return pageOf(
      rows.map((row) => Number(row.user_id) as UserId),
      await runner.first<CountRow>(s.countMembers, { id }),
    )
  },
  async hasMember(id, userId) {
    return (await runner.first(s.hasMember, { id, userId })) !== undefined
  },
  async countMembers(id, limit) {
    return (await runner.all(s.firstMembers, { id, limit })).length
  },
  async addMember(team, userId, at) {
    await runner.run(s.addMember, { id: team.id, orgId: team.orgId, userId, at: at.getTime() })
  },
  async removeMember(id, userId) {
    await runner.run(s.removeMember, { id, userId })
  },
})

const nameTaken = (name: string) => left(TeamNameTaken(`The organization has a team "${name}" already.`))

const changing = (s: Statements, runner: SqlRunner): Omit<TeamStore, Reading | Members> => ({
  async insert(team) {
    const { orgId, name, description, permission, type, createdAt } = team
    try {
      const binds = { orgId, name, key: teamNameKey(name), description, permission, type, at: createdAt.getTime() }
      return right((await runner.run(s.insert, binds)).insertId as TeamId)
    } catch (error) {
      if (isUniqueViolation(error, 'lower_name')) return nameTaken(name)
      throw error
    }
  },
  async update(id, { name, description, permission, type }, expectedVersion) {
    try {
      const done = await runner.run(s.update, {
        id,
        name: name ?? null,
        key: name === undefined ? null : teamNameKey(name),
        description: description ?? null,
        permission: permission ?? null,
        type: type ?? null,
        expectedVersion: expectedVersion ?? null,
      })
      return right(done.affected > 0)
    } catch (error) {
      if (isUniqueViolation(error, 'lower_name')) return nameTaken(name ?? '')
      throw error
    }
  },
  async remove(id) {
    await runner.run(s.removeGrants, { id })
    await runner.run(s.remove, { id })
  },
  async replaceRoles(team, roleIds) {
    await runner.run(s.detachRoles, { id: team.id })
    for (const roleId of roleIds) await runner.run(s.attachRole, { id: team.id, roleId, orgId: team.orgId })
  },
})
