import type { Knex } from 'knex'
import type { OrgId, TeamId, UserId } from '../../../core/kernel/ids.ts'
import type { Invitation, InvitationId, InvitationStore } from '../../../core/organizations/invitations/ports.ts'
import type { MembershipRole } from '../../../core/organizations/types.ts'
import { listSlots, paddedList, rowsFor } from '../kit/fragments.ts'
import { insertRows } from '../kit/insert-rows.ts'
import type { CountRow } from '../kit/page-query.ts'
import { countOf, pageQuery } from '../kit/page-query.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

const withInviter = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows
    .join('accounts as a', 'a.id', 'i.inviter_id')
    .select(
      'i.id',
      'i.org_id',
      'i.email',
      'i.lower_email',
      'i.role',
      'i.inviter_id',
      'a.name as inviter_login',
      'i.created_at',
      'i.expires_at',
    )

const invitations = (k: Knex): Knex.QueryBuilder => withInviter(k('org_invitations as i'))

const pending = (k: Knex, p: Params<'orgId' | 'now'>): Knex.QueryBuilder =>
  k('org_invitations as i').where('i.org_id', p('orgId')).where('i.expires_at', '>', p('now'))

const reads = (db: SqlDatabase) => ({
  list: pageQuery(db, pending, (_, rows, cut) => cut(withInviter(rows).orderBy('i.id', 'desc'))),
  countPending: db.prepare((k, p: Params<'orgId' | 'now' | 'key'>) =>
    countOf(k, pending(k, p).select('i.id').whereNot('i.lower_email', p('key'))),
  ),
  byId: db.prepare((k, p: Params<'orgId' | 'id'>) =>
    invitations(k).where('i.org_id', p('orgId')).where('i.id', p('id')),
  ),
  byHash: db.prepare((k, p: Params<'hash'>) => invitations(k).where('i.token_hash', p('hash'))),
  teams: paddedList((length) =>
    db.prepare((k, p: Params<string>) =>
      k('org_invitation_teams')
        .whereIn('invitation_id', listSlots(p, length))
        .select('invitation_id', 'team_id')
        .orderBy('team_id'),
    ),
  ),
  expired: db.prepare((k, p: Params<'now' | 'limit'>) =>
    k('org_invitations').where('expires_at', '<=', p('now')).orderBy('expires_at').select('id').limit(p('limit')),
  ),
  memberWithAddress: db.prepare((k, p: Params<'orgId' | 'key'>) =>
    k('emails as e')
      .join('org_members as m', 'm.user_id', 'e.user_id')
      .join('users as u', 'u.id', 'e.user_id')
      .where('e.lower_email', p('key'))
      .where('e.verified', 1)
      .where('m.org_id', p('orgId'))
      .select('u.id', 'u.hide_email', 'e.is_primary'),
  ),
  holdsAddress: db.prepare((k, p: Params<'userId' | 'key'>) =>
    k('emails').where('lower_email', p('key')).where('user_id', p('userId')).where('verified', 1).select('id'),
  ),
})

type InsertBind = 'orgId' | 'email' | 'key' | 'role' | 'inviterId' | 'hash' | 'createdAt' | 'expiresAt'

const writes = (db: SqlDatabase) => ({
  removeByAddress: db.prepare((k, p: Params<'orgId' | 'key'>) =>
    k('org_invitations').where('org_id', p('orgId')).where('lower_email', p('key')).delete(),
  ),
  insert: db.prepare((k, p: Params<InsertBind>) =>
    k('org_invitations').insert({
      org_id: p('orgId'),
      email: p('email'),
      lower_email: p('key'),
      role: p('role'),
      inviter_id: p('inviterId'),
      token_hash: p('hash'),
      created_at: p('createdAt'),
      expires_at: p('expiresAt'),
    }),
  ),
  addTeams: insertRows(db, 'org_invitation_teams', (p: Params<'id' | 'teamId'>) => ({
    invitation_id: p('id'),
    team_id: p('teamId'),
  })),
  remove: db.prepare((k, p: Params<'orgId' | 'id'>) =>
    k('org_invitations').where('org_id', p('orgId')).where('id', p('id')).delete(),
  ),
  take: db.prepare((k, p: Params<'hash' | 'now'>) =>
    k('org_invitations').where('token_hash', p('hash')).where('expires_at', '>', p('now')).delete(),
  ),
  removeExpired: db.prepare((k, p: Params<'id' | 'now'>) =>
    k('org_invitations').where('id', p('id')).where('expires_at', '<=', p('now')).delete(),
  ),
})

interface InvitationRow {
  readonly id: Num
  readonly org_id: Num
  readonly email: string
  readonly lower_email: string
  readonly role: string
  readonly inviter_id: Num
  readonly inviter_login: string
  readonly created_at: Num
  readonly expires_at: Num
}

const invitationOf = (row: InvitationRow, teamIds: readonly TeamId[]): Invitation => ({
  id: Number(row.id) as InvitationId,
  orgId: Number(row.org_id) as OrgId,
  address: { text: row.email, key: row.lower_email },
  role: row.role as MembershipRole,
  teamIds,
  inviterId: Number(row.inviter_id) as UserId,
  inviterLogin: row.inviter_login,
  createdAt: new Date(Number(row.created_at)),
  expiresAt: new Date(Number(row.expires_at)),
})

/** Invitations on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlInvitationStore = (db: SqlDatabase): ((runner: SqlRunner) => InvitationStore) => {
  const [r, w] = [reads(db), writes(db)]
  const withTeams = async (runner: SqlRunner, rows: readonly InvitationRow[]): Promise<readonly Invitation[]> => {
    if (rows.length === 0) return []
    const teams = await rowsFor<{ invitation_id: Num; team_id: Num }>(
      runner,
      r.teams,
      rows.map((row) => Number(row.id)),
    )
    const ofInvitation = Map.groupBy(teams, ({ invitation_id }) => Number(invitation_id))
    return rows.map((row) =>
      invitationOf(
        row,
        (ofInvitation.get(Number(row.id)) ?? []).map((team) => Number(team.team_id) as TeamId),
      ),
    )
  }
  return (runner) => ({
    async list(orgId, now, page) {
      const found = await r.list<InvitationRow>(runner, { orgId, now: now.getTime() }, page)
      return { ...found, items: await withTeams(runner, found.items) }
    },
    async find(orgId, id) {
      return (await withTeams(runner, await runner.all<InvitationRow>(r.byId, { orgId, id })))[0]
    },
    async findByHash(hash) {
      return (await withTeams(runner, await runner.all<InvitationRow>(r.byHash, { hash })))[0]
    },
    async countPending(orgId, exceptKey, now) {
      return Number(
        (await runner.first<CountRow>(r.countPending, { orgId, key: exceptKey, now: now.getTime() }))?.total ?? 0,
      )
    },
    async put({ orgId, address, role, teamIds, inviterId, hash, createdAt, expiresAt }) {
      await runner.run(w.removeByAddress, { orgId, key: address.key })
      const instants = { createdAt: createdAt.getTime(), expiresAt: expiresAt.getTime() }
      const { insertId } = await runner.run(w.insert, {
        orgId,
        email: address.text,
        key: address.key,
        role,
        inviterId,
        hash,
        ...instants,
      })
      await w.addTeams(
        runner,
        teamIds.map((teamId) => ({ id: insertId, teamId })),
      )
      return insertId as InvitationId
    },
    async remove(orgId, id) {
      return (await runner.run(w.remove, { orgId, id })).affected > 0
    },
    async take(hash, now) {
      return (await runner.run(w.take, { hash, now: now.getTime() })).affected > 0
    },
    async removeExpired(now, limit) {
      let removed = 0
      for (const { id } of await runner.all<{ id: Num }>(r.expired, { now: now.getTime(), limit })) {
        removed += (await runner.run(w.removeExpired, { id: Number(id), now: now.getTime() })).affected
      }
      return removed
    },
    async memberWithAddress(orgId, key) {
      const row = await runner.first<{ id: Num; hide_email: Num; is_primary: Num }>(r.memberWithAddress, { orgId, key })
      if (row === undefined) return undefined
      return {
        userId: Number(row.id) as UserId,
        showsAddress: Number(row.hide_email) === 0 && Number(row.is_primary) === 1,
      }
    },
    async holdsAddress(userId, key) {
      return (await runner.first(r.holdsAddress, { userId, key })) !== undefined
    },
  })
}
