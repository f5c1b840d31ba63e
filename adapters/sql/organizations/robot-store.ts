import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import type { OrgId, UserId } from '../../../core/kernel/ids.ts'
import type { NewRobot, Robot, RobotStore } from '../../../core/organizations/ports.ts'
import { robotLogin, RobotNameTaken } from '../../../core/organizations/ports.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import { countOf, typedPage } from '../kit/page-query.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { Slot, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, columnsOf, long, nullable, pick, present, qualified, selectedAs } from '../kit/columns.ts'
import { insertInto, newRow, values } from '../kit/values.ts'
import { objectGrants } from '../tables/authz.ts'
import { accounts, users } from '../tables/identity.ts'
import { orgMembers, robotAccounts, teamMembers } from '../tables/organizations.ts'

/** No password hash has this form, so no password matches. */
const noPassword = '!'

const u = aliased(users, 'u')
/** A robot account `r` with its account `a` and its user `u`. */
const robotRow = {
  ...qualified(columnsOf(robotAccounts), 'r'),
  login: aliased(accounts, 'a').name,
  ...pick(u, 'isActive', 'createdAt'),
}

const withAccount = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows.join('accounts as a', 'a.id', 'r.id').join('users as u', 'u.id', 'r.id')

const robots = (k: Knex): Knex.QueryBuilder => withAccount(k('robot_accounts as r'))

const robotsOf = (k: Knex, p: { readonly orgId: Slot<'integer'> }): Knex.QueryBuilder =>
  k('robot_accounts as r').where('r.org_id', p.orgId)

const reads = (db: SqlDatabase) => ({
  list: typedPage(db, { orgId: robotAccounts.orgId }, robotRow, robotsOf, (_, rows, cut) =>
    cut(withAccount(rows).orderBy('r.name')),
  ),
  count: db.prepare({ orgId: robotAccounts.orgId }, { total: selectedAs(long()) }, (k, p) =>
    countOf(k, robotsOf(k, p).select('r.id')),
  ),
  byId: db.prepare(pick(robotAccounts, 'orgId', 'id'), robotRow, (k, p) =>
    robots(k).where('r.org_id', p.orgId).where('r.id', p.id),
  ),
  teams: idList(
    db,
    robotAccounts.id,
    { orgId: teamMembers.orgId },
    pick(teamMembers, 'userId', 'teamId'),
    (k, p, ids) => k('team_members').whereIn('user_id', ids).where('org_id', p.orgId).orderBy('team_id'),
  ),
})

const writes = (db: SqlDatabase) => ({
  insertAccount: db.prepare({ login: accounts.name, key: accounts.lowerName, at: accounts.createdAt }, (k, p) =>
    k('accounts').insert(newRow(accounts, { kind: 'user', name: p.login, lowerName: p.key, createdAt: p.at })),
  ),
  insertUser: db.prepare({ id: users.id, orgId: users.robotOrgId, at: users.createdAt }, (k, p) =>
    k('users').insert(
      newRow(users, {
        id: p.id,
        passwordHash: noPassword,
        allowCreateOrganization: false,
        visibility: 'private',
        robotOrgId: p.orgId,
        createdAt: p.at,
      }),
    ),
  ),
  insert: insertInto(db, robotAccounts, { omitted: ['version'] }),
  addMember: db.prepare({ orgId: orgMembers.orgId, id: orgMembers.userId, at: orgMembers.createdAt }, (k, p) =>
    k('org_members').insert(newRow(orgMembers, { orgId: p.orgId, userId: p.id, isPublic: false, createdAt: p.at })),
  ),
  // A bind that is null leaves its column unchanged.
  update: db.prepare(
    {
      ...pick(robotAccounts, 'orgId', 'id'),
      description: nullable(robotAccounts.description),
      expectedVersion: nullable(robotAccounts.version),
    },
    (k, p) =>
      k('robot_accounts')
        .where('org_id', p.orgId)
        .where('id', p.id)
        .where('version', k.raw('coalesce(?, version)', [p.expectedVersion]))
        .update(
          values(robotAccounts, {
            description: k.raw('coalesce(?, description)', [p.description]),
            version: k.raw('version + 1'),
          }),
        ),
  ),
  setActive: db.prepare({ ...pick(users, 'id', 'isActive'), orgId: present(users.robotOrgId) }, (k, p) =>
    k('users')
      .where('id', p.id)
      .where('robot_org_id', p.orgId)
      .update(values(users, { isActive: p.isActive })),
  ),
  removeGrants: db.prepare({ orgId: objectGrants.orgId, id: objectGrants.subjectId }, (k, p) =>
    k('object_grants').where('subject_type', 'user').where('subject_id', p.id).where('org_id', p.orgId).delete(),
  ),
  remove: db.prepare({ id: accounts.id }, (k, p) => k('accounts').where('id', p.id).delete()),
})

/** Robot accounts on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlRobotStore = (db: SqlDatabase): ((runner: SqlRunner) => RobotStore) => {
  const [r, w] = [reads(db), writes(db)]
  const withTeams = async (
    runner: SqlRunner,
    orgId: OrgId,
    rows: readonly Row<typeof robotRow>[],
  ): Promise<readonly Robot[]> => {
    if (rows.length === 0) return []
    const teams = await rowsOfIds(
      runner,
      r.teams,
      rows.map((row) => row.id),
      { orgId },
    )
    const ofRobot = Map.groupBy(teams, ({ userId }) => userId)
    return rows.map((row) => ({ ...row, teamIds: (ofRobot.get(row.id) ?? []).map((team) => team.teamId) }))
  }
  const insert = async (
    runner: SqlRunner,
    { orgId, orgName, name, description, createdAt }: NewRobot,
  ): Promise<UserId> => {
    const login = robotLogin(orgName, name)
    const at = createdAt
    const id = (await runner.run(w.insertAccount, { login, key: accountNameKey(login), at })).insertId as UserId
    await runner.run(w.insertUser, { id, orgId, at })
    await runner.run(w.insert, { id, orgId, name, description })
    await runner.run(w.addMember, { id, orgId, at })
    return id
  }
  return (runner) => ({
    async list(orgId, page) {
      const found = await r.list(runner, { orgId }, page)
      return { ...found, items: await withTeams(runner, orgId, found.items) }
    },
    async find(orgId, id) {
      return (await withTeams(runner, orgId, await runner.all(r.byId, { orgId, id })))[0]
    },
    async count(orgId) {
      return (await runner.first(r.count, { orgId }))?.total ?? 0
    },
    async insert(robot) {
      try {
        return right(await insert(runner, robot))
      } catch (error) {
        const isTaken = isUniqueViolation(error, 'lower_name') || isUniqueViolation(error, 'name')
        if (isTaken)
          return left(
            RobotNameTaken(`The name "${robot.name}" is already in use by a robot account of the organization.`),
          )
        throw error
      }
    },
    async update(orgId, id, { description, isActive }, expectedVersion) {
      const binds = { orgId, id, description, expectedVersion }
      if ((await runner.run(w.update, binds)).affected === 0) return false
      if (isActive !== undefined) await runner.run(w.setActive, { orgId, id, isActive })
      return true
    },
    async remove(orgId, id) {
      if ((await runner.first(r.byId, { orgId, id })) === undefined) return
      await runner.run(w.removeGrants, { orgId, id })
      await runner.run(w.remove, { id })
    },
  })
}
