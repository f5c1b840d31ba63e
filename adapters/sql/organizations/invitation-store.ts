import type { Knex } from 'knex'
import type { TeamId } from '../../../core/kernel/ids.ts'
import type { Invitation, InvitationId, InvitationStore } from '../../../core/organizations/invitations/ports.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import { countOf, typedPage } from '../kit/page-query.ts'
import type { Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, int, long, pick, selectedAs } from '../kit/columns.ts'
import { insertAllInto, insertInto } from '../kit/values.ts'
import { accounts, emails, users } from '../tables/identity.ts'
import { orgInvitationTeams, orgInvitations, orgMembers } from '../tables/organizations.ts'

const i = aliased(orgInvitations, 'i')
/** An invitation `i` with the account `a` of who invites. */
const invitationRow = {
  ...pick(i, 'id', 'orgId', 'email', 'lowerEmail', 'role', 'inviterId', 'createdAt', 'expiresAt'),
  inviterLogin: aliased(accounts, 'a').name,
}
type InvitationRow = Row<typeof invitationRow>

const withInviter = (rows: Knex.QueryBuilder): Knex.QueryBuilder => rows.join('accounts as a', 'a.id', 'i.inviter_id')

const invitations = (k: Knex): Knex.QueryBuilder => withInviter(k('org_invitations as i'))

const pendingParams = { orgId: orgInvitations.orgId, now: orgInvitations.expiresAt }

const pending = (k: Knex, p: Slots<typeof pendingParams>): Knex.QueryBuilder =>
  k('org_invitations as i').where('i.org_id', p.orgId).where('i.expires_at', '>', p.now)

const reads = (db: SqlDatabase) => ({
  list: typedPage(db, pendingParams, invitationRow, pending, (_, rows, cut) =>
    cut(withInviter(rows).orderBy('i.id', 'desc')),
  ),
  countPending: db.prepare(
    { ...pendingParams, key: orgInvitations.lowerEmail },
    { total: selectedAs(long()) },
    (k, p) => countOf(k, pending(k, p).select('i.id').whereNot('i.lower_email', p.key)),
  ),
  byId: db.prepare(pick(orgInvitations, 'orgId', 'id'), invitationRow, (k, p) =>
    invitations(k).where('i.org_id', p.orgId).where('i.id', p.id),
  ),
  byHash: db.prepare({ hash: orgInvitations.tokenHash }, invitationRow, (k, p) =>
    invitations(k).where('i.token_hash', p.hash),
  ),
  teams: idList(db, orgInvitations.id, {}, pick(orgInvitationTeams, 'invitationId', 'teamId'), (k, _, ids) =>
    k('org_invitation_teams').whereIn('invitation_id', ids).orderBy('team_id'),
  ),
  expired: db.prepare({ now: orgInvitations.expiresAt, limit: int() }, { id: orgInvitations.id }, (k, p) =>
    k('org_invitations').where('expires_at', '<=', p.now).orderBy('expires_at').limit(p.limit),
  ),
  memberWithAddress: db.prepare(
    { orgId: orgMembers.orgId, key: emails.lowerEmail },
    { id: aliased(users, 'u').id, hideEmail: aliased(users, 'u').hideEmail, isPrimary: aliased(emails, 'e').isPrimary },
    (k, p) =>
      k('emails as e')
        .join('org_members as m', 'm.user_id', 'e.user_id')
        .join('users as u', 'u.id', 'e.user_id')
        .where('e.lower_email', p.key)
        .where('e.verified', 1)
        .where('m.org_id', p.orgId),
  ),
  holdsAddress: db.prepare({ userId: emails.userId, key: emails.lowerEmail }, { id: emails.id }, (k, p) =>
    k('emails').where('lower_email', p.key).where('user_id', p.userId).where('verified', 1),
  ),
})

const writes = (db: SqlDatabase) => ({
  removeByAddress: db.prepare({ orgId: orgInvitations.orgId, key: orgInvitations.lowerEmail }, (k, p) =>
    k('org_invitations').where('org_id', p.orgId).where('lower_email', p.key).delete(),
  ),
  insert: insertInto(db, orgInvitations, { omitted: ['id'] }),
  addTeams: insertAllInto(db, orgInvitationTeams),
  remove: db.prepare(pick(orgInvitations, 'orgId', 'id'), (k, p) =>
    k('org_invitations').where('org_id', p.orgId).where('id', p.id).delete(),
  ),
  take: db.prepare({ hash: orgInvitations.tokenHash, now: orgInvitations.expiresAt }, (k, p) =>
    k('org_invitations').where('token_hash', p.hash).where('expires_at', '>', p.now).delete(),
  ),
  removeExpired: db.prepare({ id: orgInvitations.id, now: orgInvitations.expiresAt }, (k, p) =>
    k('org_invitations').where('id', p.id).where('expires_at', '<=', p.now).delete(),
  ),
})

const invitationOf = (row: InvitationRow, teamIds: readonly TeamId[]): Invitation => ({
  id: row.id,
  orgId: row.orgId,
  address: { text: row.email, key: row.lowerEmail },
  role: row.role,
  teamIds,
  inviterId: row.inviterId,
  inviterLogin: row.inviterLogin,
  createdAt: row.createdAt,
  expiresAt: row.expiresAt,
})

/** Invitations on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlInvitationStore = (db: SqlDatabase): ((runner: SqlRunner) => InvitationStore) => {
  const [r, w] = [reads(db), writes(db)]
  const withTeams = async (runner: SqlRunner, rows: readonly InvitationRow[]): Promise<readonly Invitation[]> => {
    if (rows.length === 0) return []
    const teams = await rowsOfIds(
      runner,
      r.teams,
      rows.map((row) => row.id),
      {},
    )
    const ofInvitation = Map.groupBy(teams, ({ invitationId }) => invitationId)
    return rows.map((row) =>
      invitationOf(
        row,
        (ofInvitation.get(row.id) ?? []).map((team) => team.teamId),
      ),
    )
  }
  return (runner) => ({
    async list(orgId, now, page) {
      const found = await r.list(runner, { orgId, now }, page)
      return { ...found, items: await withTeams(runner, found.items) }
    },
    async find(orgId, id) {
      return (await withTeams(runner, await runner.all(r.byId, { orgId, id })))[0]
    },
    async findByHash(hash) {
      return (await withTeams(runner, await runner.all(r.byHash, { hash })))[0]
    },
    async countPending(orgId, exceptKey, now) {
      return (await runner.first(r.countPending, { orgId, key: exceptKey, now }))?.total ?? 0
    },
    async put({ orgId, address, role, teamIds, inviterId, hash, createdAt, expiresAt }) {
      await runner.run(w.removeByAddress, { orgId, key: address.key })
      const { insertId } = await runner.run(w.insert, {
        orgId,
        email: address.text,
        lowerEmail: address.key,
        role,
        inviterId,
        tokenHash: hash,
        createdAt,
        expiresAt,
      })
      await w.addTeams(
        runner,
        teamIds.map((teamId) => ({ invitationId: insertId as InvitationId, teamId })),
      )
      return insertId as InvitationId
    },
    async remove(orgId, id) {
      return (await runner.run(w.remove, { orgId, id })).affected > 0
    },
    async take(hash, now) {
      return (await runner.run(w.take, { hash, now })).affected > 0
    },
    async removeExpired(now, limit) {
      let removed = 0
      for (const { id } of await runner.all(r.expired, { now, limit })) {
        removed += (await runner.run(w.removeExpired, { id, now })).affected
      }
      return removed
    },
    async memberWithAddress(orgId, key) {
      const row = await runner.first(r.memberWithAddress, { orgId, key })
      if (row === undefined) return undefined
      return {
        userId: row.id,
        showsAddress: !row.hideEmail && row.isPrimary,
      }
    },
    async holdsAddress(userId, key) {
      return (await runner.first(r.holdsAddress, { userId, key })) !== undefined
    },
  })
}
