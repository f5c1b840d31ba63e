import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import { accountNameKey } from '../../../core/kernel/ids.ts'
import type { OrgId, TeamId, UserId } from '../../../core/kernel/ids.ts'
import type { NewRobot, Robot, RobotStore } from '../../../core/organizations/ports.ts'
import { robotLogin, RobotNameTaken } from '../../../core/organizations/ports.ts'
import { listSlots, paddedList, rowsFor } from '../kit/fragments.ts'
import type { CountRow } from '../kit/page-query.ts'
import { countOf, pageQuery } from '../kit/page-query.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

/** No password hash has this form, so no password matches. */
const noPassword = '!'

const withAccount = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows
    .join('accounts as a', 'a.id', 'r.id')
    .join('users as u', 'u.id', 'r.id')
    .select(
      'r.id',
      'r.org_id',
      'r.name',
      'a.name as login',
      'r.description',
      'u.is_active',
      'u.created_at',
      'r.version',
    )

const robots = (k: Knex): Knex.QueryBuilder => withAccount(k('robot_accounts as r'))

const robotsOf = (k: Knex, p: Params<'orgId'>): Knex.QueryBuilder =>
  k('robot_accounts as r').where('r.org_id', p('orgId'))

const reads = (db: SqlDatabase) => ({
  list: pageQuery(db, robotsOf, (_, rows, cut) => cut(withAccount(rows).orderBy('r.name'))),
  count: db.prepare((k, p: Params<'orgId'>) => countOf(k, robotsOf(k, p).select('r.id'))),
  byId: db.prepare((k, p: Params<'orgId' | 'id'>) => robots(k).where('r.org_id', p('orgId')).where('r.id', p('id'))),
  teams: paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      k('team_members')
        .whereIn('user_id', listSlots(p, length))
        .where('org_id', p('orgId'))
        .select('user_id', 'team_id')
        .orderBy('team_id'),
    ),
  ),
})

const writes = (db: SqlDatabase) => ({
  insertAccount: db.prepare((k, p: Params<'login' | 'key' | 'at'>) =>
    k('accounts').insert({ kind: 'user', name: p('login'), lower_name: p('key'), created_at: p('at') }),
  ),
  insertUser: db.prepare((k, p: Params<'id' | 'orgId' | 'at'>) =>
    k('users').insert({
      id: p('id'),
      password_hash: noPassword,
      allow_create_organization: 0,
      visibility: 'private',
      robot_org_id: p('orgId'),
      created_at: p('at'),
    }),
  ),
  insert: db.prepare((k, p: Params<'id' | 'orgId' | 'name' | 'description'>) =>
    k('robot_accounts').insert({ id: p('id'), org_id: p('orgId'), name: p('name'), description: p('description') }),
  ),
  addMember: db.prepare((k, p: Params<'id' | 'orgId' | 'at'>) =>
    k('org_members').insert({ org_id: p('orgId'), user_id: p('id'), is_public: 0, created_at: p('at') }),
  ),
  // A bind that is null leaves its column unchanged.
  update: db.prepare((k, p: Params<'orgId' | 'id' | 'description' | 'expectedVersion'>) =>
    k('robot_accounts')
      .where('org_id', p('orgId'))
      .where('id', p('id'))
      .where('version', k.raw('coalesce(?, version)', [p('expectedVersion')]))
      .update({ description: k.raw('coalesce(?, description)', [p('description')]), version: k.raw('version + 1') }),
  ),
  setActive: db.prepare((k, p: Params<'orgId' | 'id' | 'isActive'>) =>
    k('users')
      .where('id', p('id'))
      .where('robot_org_id', p('orgId'))
      .update({ is_active: p('isActive') }),
  ),
  removeGrants: db.prepare((k, p: Params<'orgId' | 'id'>) =>
    k('object_grants').where('subject_type', 'user').where('subject_id', p('id')).where('org_id', p('orgId')).delete(),
  ),
  remove: db.prepare((k, p: Params<'id'>) => k('accounts').where('id', p('id')).delete()),
})

interface RobotRow {
  readonly id: Num
  readonly org_id: Num
  readonly name: string
  readonly login: string
  readonly description: string
  readonly is_active: Num
  readonly created_at: Num
  readonly version: Num
}

const robotOf = (row: RobotRow, teamIds: readonly TeamId[]): Robot => ({
  id: Number(row.id) as UserId,
  orgId: Number(row.org_id) as OrgId,
  name: row.name,
  login: row.login,
  description: row.description,
  isActive: Number(row.is_active) === 1,
  teamIds,
  createdAt: new Date(Number(row.created_at)),
  version: Number(row.version),
})

/** Robot accounts on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlRobotStore = (db: SqlDatabase): ((runner: SqlRunner) => RobotStore) => {
  const [r, w] = [reads(db), writes(db)]
  const withTeams = async (runner: SqlRunner, orgId: OrgId, rows: readonly RobotRow[]): Promise<readonly Robot[]> => {
    if (rows.length === 0) return []
    const teams = await rowsFor<{ user_id: Num; team_id: Num }>(
      runner,
      r.teams,
      rows.map((row) => Number(row.id)),
      { orgId },
    )
    const ofRobot = Map.groupBy(teams, ({ user_id }) => Number(user_id))
    const teamsOf = (id: Num) => (ofRobot.get(Number(id)) ?? []).map((team) => Number(team.team_id) as TeamId)
    return rows.map((row) => robotOf(row, teamsOf(row.id)))
  }
  const insert = async (
    runner: SqlRunner,
    { orgId, orgName, name, description, createdAt }: NewRobot,
  ): Promise<UserId> => {
    const login = robotLogin(orgName, name)
    const at = createdAt.getTime()
    const id = (await runner.run(w.insertAccount, { login, key: accountNameKey(login), at })).insertId as UserId
    await runner.run(w.insertUser, { id, orgId, at })
    await runner.run(w.insert, { id, orgId, name, description })
    await runner.run(w.addMember, { id, orgId, at })
    return id
  }
  return (runner) => ({
    async list(orgId, page) {
      const found = await r.list<RobotRow>(runner, { orgId }, page)
      return { ...found, items: await withTeams(runner, orgId, found.items) }
    },
    async find(orgId, id) {
      return (await withTeams(runner, orgId, await runner.all<RobotRow>(r.byId, { orgId, id })))[0]
    },
    async count(orgId) {
      return Number((await runner.first<CountRow>(r.count, { orgId }))?.total ?? 0)
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
      const binds = { orgId, id, description: description ?? null, expectedVersion: expectedVersion ?? null }
      if ((await runner.run(w.update, binds)).affected === 0) return false
      if (isActive !== undefined) await runner.run(w.setActive, { orgId, id, isActive: isActive ? 1 : 0 })
      return true
    },
    async remove(orgId, id) {
      if ((await runner.first(r.byId, { orgId, id })) === undefined) return
      await runner.run(w.removeGrants, { orgId, id })
      await runner.run(w.remove, { id })
    },
  })
}
