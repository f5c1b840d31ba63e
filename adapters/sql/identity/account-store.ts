import type { Knex } from 'knex'
import type { AccountLifeStore } from '../../../core/identity/accounts/ports.ts'
import type { AccountHoldings } from '../../../core/identity/ports.ts'
import type { OrgId, UserId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Bind, Params, SqlDatabase, SqlRunner, Statement } from '../kit/statement.ts'
import { optionalInstant } from './rows.ts'
import { makeSearchTerms } from './user-search.ts'
import type { HeldObjects } from '../kit/object-rows.ts'

const bumped = (k: Knex): Knex.Raw => k.raw('version + 1')

const statements = (db: SqlDatabase) => ({
  markUnconfirmed: db.prepare((k, p: Params<'id' | 'at'>) =>
    k('users')
      .where('id', p('id'))
      .update({ is_active: false, unconfirmed_since: p('at'), version: bumped(k) }),
  ),
  confirm: db.prepare((k, p: Params<'id'>) =>
    k('users')
      .where('id', p('id'))
      .whereNotNull('unconfirmed_since')
      .update({ is_active: true, unconfirmed_since: null, version: bumped(k) }),
  ),
  unconfirmedBefore: db.prepare((k, p: Params<'at' | 'after' | 'limit'>) =>
    k('users')
      .where('unconfirmed_since', '<', p('at'))
      .where('id', '>', p('after'))
      .orderBy('id')
      .limit(p('limit'))
      .select('id'),
  ),
  lockState: db.prepare((k, p: Params<'id'>) =>
    k('users').where('id', p('id')).select('deactivated_at', 'unconfirmed_since').forUpdate(),
  ),
  deactivate: db.prepare((k, p: Params<'id' | 'by' | 'at'>) =>
    k('users')
      .where('id', p('id'))
      .whereNull('deactivated_at')
      .update({
        is_active: false,
        unconfirmed_since: null,
        deactivated_at: p('at'),
        deactivated_by: p('by'),
        version: bumped(k),
      }),
  ),
  deactivatedAt: db.prepare((k, p: Params<'id'>) => k('users').where('id', p('id')).select('deactivated_at')),
  reactivate: db.prepare((k, p: Params<'id'>) =>
    k('users')
      .where('id', p('id'))
      .whereNotNull('deactivated_at')
      .update({ is_active: true, deactivated_at: null, deactivated_by: null, version: bumped(k) }),
  ),
  deactivated: pageQuery(
    db,
    (k) => k('users as u').whereNotNull('u.deactivated_at'),
    (k, rows, cut) =>
      cut(
        rows
          .join('accounts as a', 'a.id', 'u.id')
          .leftJoin('accounts as b', 'b.id', 'u.deactivated_by')
          .leftJoin('emails as e', (join) => join.on('e.user_id', 'u.id').andOn('e.is_primary', k.raw('1')))
          .orderBy('a.lower_name')
          .select('u.id', 'a.name as login', 'u.full_name', 'e.email', 'u.deactivated_at', 'b.name as by_login'),
      ),
  ),
  deactivatedBefore: db.prepare((k, p: Params<'at' | 'after' | 'limit'>) =>
    k('users')
      .where('deactivated_at', '<', p('at'))
      .where('id', '>', p('after'))
      .orderBy('id')
      .limit(p('limit'))
      .select('id'),
  ),
})

interface IdRow {
  readonly id: number | string
}
interface StateRow {
  readonly deactivated_at: number | string | null
  readonly unconfirmed_since: number | string | null
}
interface DeactivatedRow extends IdRow {
  readonly login: string
  readonly full_name: string
  readonly email: string | null
  readonly deactivated_at: number | string
  readonly by_login: string | null
}

const idsOf = (rows: readonly IdRow[]): readonly UserId[] => rows.map((row) => Number(row.id) as UserId)

/**
 * The creation and removal of accounts on SQL. The data are columns of the users' own rows, so that they are deleted
 * with them.
 */
export const makeSqlAccountLifeStore = (db: SqlDatabase): ((runner: SqlRunner) => AccountLifeStore) => {
  const s = statements(db)
  const bindTerms = makeSearchTerms(db)
  return (runner) => {
    /** Runs a change of the user's visibility. Returns whether a row changed. */
    const shown = async (id: UserId, statement: Statement, binds: Readonly<Record<string, Bind>>): Promise<boolean> => {
      if ((await runner.run(statement, { id, ...binds })).affected === 0) return false
      await bindTerms(runner).showUser(id)
      return true
    }
    return {
      async markUnconfirmed(id, since) {
        await shown(id, s.markUnconfirmed, { at: since.getTime() })
      },
      confirm: (id) => shown(id, s.confirm, {}),
      async unconfirmedBefore(at, after, limit) {
        return idsOf(await runner.all<IdRow>(s.unconfirmedBefore, { at: at.getTime(), after, limit }))
      },
      async lockState(id) {
        const row = await runner.first<StateRow>(s.lockState, { id })
        if (row === undefined) return undefined
        return row.deactivated_at !== null ? 'deactivated' : row.unconfirmed_since !== null ? 'unconfirmed' : undefined
      },
      deactivate: (id, by, at) => shown(id, s.deactivate, { by, at: at.getTime() }),
      async deactivatedAt(id) {
        const row = await runner.first<{ deactivated_at: number | string | null }>(s.deactivatedAt, { id })
        return row === undefined ? undefined : optionalInstant(row.deactivated_at)
      },
      reactivate: (id) => shown(id, s.reactivate, {}),
      async deactivated(page) {
        return mapPage(await s.deactivated<DeactivatedRow>(runner, {}, page), (row) => ({
          userId: Number(row.id) as UserId,
          login: row.login,
          fullName: row.full_name,
          primaryEmail: row.email ?? '',
          deactivatedAt: new Date(Number(row.deactivated_at)),
          deactivatedBy: row.by_login ?? undefined,
        }))
      },
      async deactivatedBefore(at, after, limit) {
        return idsOf(await runner.all<IdRow>(s.deactivatedBefore, { at: at.getTime(), after, limit }))
      },
    }
  }
}

/** The number of obstacles that are listed. */
const shown = 10
/** The value of `organizations.org_type` for a client organization. */
const clientOrgType = 2

type Place = 'id' | 'orgId'

/** Selects the owners of an organization other than one user. */
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

const holdingStatements = (db: SqlDatabase) => ({
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
    k('org_members as m')
      .join('accounts as a', 'a.id', 'm.org_id')
      .where('m.user_id', p('id'))
      .select('m.org_id', 'a.name')
      .orderBy('m.org_id'),
  ),
  lockOrganization: db.prepare((k, p: (n: 'orgId') => Knex.Value) =>
    k('accounts').where('id', p('orgId')).select('id').forUpdate(),
  ),
  isOwner: db.prepare((k, p: (n: Place) => Knex.Value) =>
    k('org_members as m')
      .where('m.user_id', p('id'))
      .where('m.org_id', p('orgId'))
      .whereExists(isOwner(k, p))
      .select('m.org_id'),
  ),
  otherOwner: db.prepare((k, p: (n: Place) => Knex.Value) => otherOwners(k, p).where('tm.org_id', p('orgId')).limit(1)),
  leaveTeams: db.prepare((k, p: (n: Place) => Knex.Value) =>
    k('team_members').where('user_id', p('id')).where('org_id', p('orgId')).delete(),
  ),
  leaveGrants: db.prepare((k, p: (n: Place) => Knex.Value) =>
    k('object_grants').where('subject_type', 'user').where('subject_id', p('id')).where('org_id', p('orgId')).delete(),
  ),
  leave: db.prepare((k, p: (n: Place) => Knex.Value) =>
    k('org_members').where('user_id', p('id')).where('org_id', p('orgId')).delete(),
  ),
  organizations: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('org_members as m')
      .join('accounts as a', 'a.id', 'm.org_id')
      .where('m.user_id', p('id'))
      .select('a.name')
      .orderBy('a.lower_name')
      .limit(shown),
  ),
  organizationOf: db.prepare((k, p: (n: 'id' | 'key') => Knex.Value) =>
    k('org_members as m')
      .join('accounts as a', 'a.id', 'm.org_id')
      .where('m.user_id', p('id'))
      .where('a.lower_name', p('key'))
      .select('m.org_id', 'a.name')
      .forUpdate(),
  ),
  clientOrg: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('org_members as m')
      .join('organizations as o', 'o.id', 'm.org_id')
      .where('m.user_id', p('id'))
      .where('o.org_type', clientOrgType)
      .select('o.id')
      .limit(1),
  ),
})

/** Reads what the tables of other parts hold for a user, so that identity does not depend on those parts. */
export const makeSqlAccountHoldings = (
  db: SqlDatabase,
  held: HeldObjects,
): ((runner: SqlRunner) => AccountHoldings) => {
  const s = holdingStatements(db)
  /** Returns the user's organizations and locks their rows, so that the check for other owners is not a race. */
  const heldMemberships = async (
    runner: SqlRunner,
    id: UserId,
  ): Promise<readonly { readonly orgId: number; readonly name: string }[]> => {
    const rows = await runner.all<{ org_id: number | string; name: string }>(s.memberships, { id })
    const held = rows.map((row) => ({ orgId: Number(row.org_id), name: row.name }))
    for (const { orgId } of held) await runner.first(s.lockOrganization, { orgId })
    return held
  }
  const leave = async (runner: SqlRunner, id: UserId, orgId: number): Promise<boolean> => {
    const mustStay =
      (await runner.first(s.isOwner, { id, orgId })) !== undefined &&
      (await runner.first(s.otherOwner, { id, orgId })) === undefined
    if (mustStay) return false
    await runner.run(s.leaveTeams, { id, orgId })
    await runner.run(s.leaveGrants, { id, orgId })
    await runner.run(s.leave, { id, orgId })
    return true
  }
  const objectsOf = async (runner: SqlRunner, id: UserId): Promise<readonly string[]> =>
    (await held(runner, id, shown)).map(({ type, name }) => `${type} ${name}`)
  return (runner) => ({
    async unattended(id) {
      await heldMemberships(runner, id)
      const organizations = await runner.all<{ name: string }>(s.unattended, { id })
      return [...organizations.map((row) => `organization ${row.name}`), ...(await objectsOf(runner, id))]
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
      return [...organizations.map((row) => `organization ${row.name}`), ...(await objectsOf(runner, id))]
    },
    async organizationOf(id, name) {
      const row = await runner.first<{ org_id: number | string; name: string }>(s.organizationOf, {
        id,
        key: name.toLowerCase(),
      })
      return row === undefined ? undefined : { id: Number(row.org_id) as OrgId, name: row.name }
    },
    async isClientOrgUser(id) {
      return (await runner.first(s.clientOrg, { id })) !== undefined
    },
  })
}
