import type { Knex } from 'knex'
import type { AccountLifeStore } from '../../../core/identity/accounts/ports.ts'
import type { AccountHoldings } from '../../../core/identity/ports.ts'
import type { OrgId, UserId } from '../../../core/kernel/ids.ts'
import { clientOrgType } from '../../../core/organizations/types.ts'
import type { Prepared, Slot, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { makeSearchTerms } from './user-search.ts'
import type { HeldObjects } from '../kit/object-rows.ts'
import { aliased, int, long, nullable, orElse, pick, present } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import { values } from '../kit/values.ts'
import { objectGrants } from '../tables/authz.ts'
import { accounts, emails, users } from '../tables/identity.ts'
import { orgMembers, organizations, teamMembers, teams } from '../tables/organizations.ts'

const bumped = (k: Knex): Knex.Raw => k.raw('version + 1')

/** A user `u` with the account `a`, the address `e` and the account `b` of who disabled it. */
const deactivatedRow = {
  userId: aliased(users, 'u').id,
  login: aliased(accounts, 'a').name,
  fullName: aliased(users, 'u').fullName,
  primaryEmail: orElse(aliased(emails, 'e').email, ''),
  deactivatedAt: present(aliased(users, 'u').deactivatedAt),
  deactivatedBy: nullable(aliased(accounts, 'b').name),
}

const statements = (db: SqlDatabase) => ({
  markUnconfirmed: db.prepare({ id: users.id, at: users.unconfirmedSince }, (k, p) =>
    k('users')
      .where('id', p.id)
      .update(values(users, { isActive: false, unconfirmedSince: p.at, version: bumped(k) })),
  ),
  confirm: db.prepare({ id: users.id }, (k, p) =>
    k('users')
      .where('id', p.id)
      .whereNotNull('unconfirmed_since')
      .update(values(users, { isActive: true, unconfirmedSince: null, version: bumped(k) })),
  ),
  unconfirmedBefore: db.prepare(
    { at: present(users.unconfirmedSince), after: long(), limit: int() },
    { id: users.id },
    (k, p) => k('users').where('unconfirmed_since', '<', p.at).where('id', '>', p.after).orderBy('id').limit(p.limit),
  ),
  lockState: db.prepare({ id: users.id }, pick(users, 'deactivatedAt', 'unconfirmedSince'), (k, p) =>
    k('users').where('id', p.id).forUpdate(),
  ),
  deactivate: db.prepare({ id: users.id, by: users.deactivatedBy, at: users.deactivatedAt }, (k, p) =>
    k('users')
      .where('id', p.id)
      .whereNull('deactivated_at')
      .update(
        values(users, {
          isActive: false,
          unconfirmedSince: null,
          deactivatedAt: p.at,
          deactivatedBy: p.by,
          version: bumped(k),
        }),
      ),
  ),
  deactivatedAt: db.prepare({ id: users.id }, { deactivatedAt: users.deactivatedAt }, (k, p) =>
    k('users').where('id', p.id),
  ),
  reactivate: db.prepare({ id: users.id }, (k, p) =>
    k('users')
      .where('id', p.id)
      .whereNotNull('deactivated_at')
      .update(values(users, { isActive: true, deactivatedAt: null, deactivatedBy: null, version: bumped(k) })),
  ),
  deactivated: typedPage(
    db,
    {},
    deactivatedRow,
    // SQLite takes the index for a range, and not for `is not null`.
    (k) => k('users as u').where('u.deactivated_at', '>', 0),
    (k, rows, cut) =>
      cut(
        rows
          // SQLite reads the tables of a cross join in their order: the few users first, not all names.
          .joinRaw('cross join `accounts` as `a` on `a`.`id` = `u`.`id`')
          .leftJoin('accounts as b', 'b.id', 'u.deactivated_by')
          .leftJoin('emails as e', (join) => join.on('e.user_id', 'u.id').andOn('e.is_primary', k.raw('1')))
          .orderBy('a.lower_name'),
      ),
  ),
  deactivatedBefore: db.prepare(
    { at: present(users.deactivatedAt), after: long(), limit: int() },
    { id: users.id },
    (k, p) => k('users').where('deactivated_at', '<', p.at).where('id', '>', p.after).orderBy('id').limit(p.limit),
  ),
})

const idsOf = (rows: readonly { readonly id: UserId }[]): readonly UserId[] => rows.map((row) => row.id)

/**
 * The creation and removal of accounts on SQL. The data are columns of the users' own rows, so that they are deleted
 * with them.
 */
export const makeSqlAccountLifeStore = (db: SqlDatabase): ((runner: SqlRunner) => AccountLifeStore) => {
  const s = statements(db)
  const bindTerms = makeSearchTerms(db)
  return (runner) => {
    /** Runs a change of the user's visibility. Returns whether a row changed. */
    const shown = async <B extends { readonly id: UserId }>(
      statement: Prepared<B, unknown>,
      binds: NoInfer<B>,
    ): Promise<boolean> => {
      if ((await runner.run(statement, binds)).affected === 0) return false
      await bindTerms(runner).showUser(binds.id)
      return true
    }
    return {
      async markUnconfirmed(id, since) {
        await shown(s.markUnconfirmed, { id, at: since })
      },
      confirm: (id) => shown(s.confirm, { id }),
      async unconfirmedBefore(at, after, limit) {
        return idsOf(await runner.all(s.unconfirmedBefore, { at, after, limit }))
      },
      async lockState(id) {
        const row = await runner.first(s.lockState, { id })
        if (row === undefined) return undefined
        return row.deactivatedAt !== undefined
          ? 'deactivated'
          : row.unconfirmedSince !== undefined
            ? 'unconfirmed'
            : undefined
      },
      deactivate: (id, by, at) => shown(s.deactivate, { id, by, at }),
      async deactivatedAt(id) {
        return (await runner.first(s.deactivatedAt, { id }))?.deactivatedAt
      },
      reactivate: (id) => shown(s.reactivate, { id }),
      async deactivated(page) {
        return s.deactivated(runner, {}, page)
      },
      async deactivatedBefore(at, after, limit) {
        return idsOf(await runner.all(s.deactivatedBefore, { at, after, limit }))
      },
    }
  }
}

/** The number of obstacles that are listed. */
const shown = 10

/** Selects the owners of an organization other than one user. */
const otherOwners = (k: Knex, p: { readonly id: Slot<'integer'> }): Knex.QueryBuilder =>
  k('team_members as tm')
    .join('teams as t', 't.id', 'tm.team_id')
    .join('users as u', 'u.id', 'tm.user_id')
    .where('t.permission', 'owner')
    .whereNot('tm.user_id', p.id)
    .select(k.raw('1'))

const isOwner = (k: Knex, p: { readonly id: Slot<'integer'> }): Knex.QueryBuilder =>
  k('team_members as own')
    .join('teams as ot', 'ot.id', 'own.team_id')
    .where('ot.permission', 'owner')
    .where('own.user_id', p.id)
    .whereRaw('own.org_id = m.org_id')
    .select(k.raw('1'))

const holdingStatements = (db: SqlDatabase) => ({
  unattended: db.prepare({ id: orgMembers.userId }, { name: aliased(accounts, 'a').name }, (k, p) =>
    k('org_members as m')
      .join('accounts as a', 'a.id', 'm.org_id')
      .where('m.user_id', p.id)
      .whereExists(isOwner(k, p))
      .whereNotExists(otherOwners(k, p).where('u.is_active', 1).whereRaw('tm.org_id = m.org_id'))
      .orderBy('a.lower_name')
      .limit(shown),
  ),
  memberships: db.prepare(
    { id: orgMembers.userId },
    { orgId: aliased(orgMembers, 'm').orgId, name: aliased(accounts, 'a').name },
    (k, p) =>
      k('org_members as m').join('accounts as a', 'a.id', 'm.org_id').where('m.user_id', p.id).orderBy('m.org_id'),
  ),
  lockOrganization: db.prepare({ orgId: accounts.id }, { id: accounts.id }, (k, p) =>
    k('accounts').where('id', p.orgId).forUpdate(),
  ),
  isOwner: db.prepare(
    { orgId: orgMembers.orgId, id: orgMembers.userId },
    { orgId: aliased(orgMembers, 'm').orgId },
    (k, p) => k('org_members as m').where('m.user_id', p.id).where('m.org_id', p.orgId).whereExists(isOwner(k, p)),
  ),
  otherOwner: db.prepare({ id: users.id, orgId: teams.orgId }, (k, p) =>
    otherOwners(k, p).where('tm.org_id', p.orgId).limit(1),
  ),
  leaveTeams: db.prepare({ orgId: teamMembers.orgId, id: teamMembers.userId }, (k, p) =>
    k('team_members').where('user_id', p.id).where('org_id', p.orgId).delete(),
  ),
  leaveGrants: db.prepare({ orgId: objectGrants.orgId, id: objectGrants.subjectId }, (k, p) =>
    k('object_grants').where('subject_type', 'user').where('subject_id', p.id).where('org_id', p.orgId).delete(),
  ),
  leave: db.prepare({ orgId: orgMembers.orgId, id: orgMembers.userId }, (k, p) =>
    k('org_members').where('user_id', p.id).where('org_id', p.orgId).delete(),
  ),
  organizations: db.prepare({ id: orgMembers.userId }, { name: aliased(accounts, 'a').name }, (k, p) =>
    k('org_members as m')
      .join('accounts as a', 'a.id', 'm.org_id')
      .where('m.user_id', p.id)
      .orderBy('a.lower_name')
      .limit(shown),
  ),
  organizationOf: db.prepare(
    { id: orgMembers.userId, key: accounts.lowerName },
    { orgId: aliased(orgMembers, 'm').orgId, name: aliased(accounts, 'a').name },
    (k, p) =>
      k('org_members as m')
        .join('accounts as a', 'a.id', 'm.org_id')
        .where('m.user_id', p.id)
        .where('a.lower_name', p.key)
        .forUpdate(),
  ),
  clientOrg: db.prepare({ id: orgMembers.userId }, { id: aliased(organizations, 'o').id }, (k, p) =>
    k('org_members as m')
      .join('organizations as o', 'o.id', 'm.org_id')
      .where('m.user_id', p.id)
      .where('o.org_type', clientOrgType)
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
  ): Promise<readonly { readonly orgId: OrgId; readonly name: string }[]> => {
    const held = await runner.all(s.memberships, { id })
    for (const { orgId } of held) await runner.first(s.lockOrganization, { orgId })
    return held
  }
  const leave = async (runner: SqlRunner, id: UserId, orgId: OrgId): Promise<boolean> => {
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
      const organizations = await runner.all(s.unattended, { id })
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
      const organizations = await runner.all(s.organizations, { id })
      return [...organizations.map((row) => `organization ${row.name}`), ...(await objectsOf(runner, id))]
    },
    async organizationOf(id, name) {
      const row = await runner.first(s.organizationOf, {
        id,
        key: name.toLowerCase(),
      })
      return row === undefined ? undefined : { id: row.orgId, name: row.name }
    },
    async isClientOrgUser(id) {
      return (await runner.first(s.clientOrg, { id })) !== undefined
    },
  })
}
