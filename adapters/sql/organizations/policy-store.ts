import type { DueNotice, PolicyStore, SecondFactorNotice } from '../../../core/organizations/ports.ts'
import { notices } from '../../../core/organizations/ports.ts'
import type { Row } from '../kit/columns.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { aliased, int, pick, present } from '../kit/columns.ts'
import { values } from '../kit/values.ts'
import { accounts, emails, users } from '../tables/identity.ts'
import { orgMembers, organizations } from '../tables/organizations.ts'

const rankOf = (notice: SecondFactorNotice): number => notices.indexOf(notice)

/** A person `u` who is to be notified that the organization `o` requires a second factor. */
const dueRow = {
  orgId: aliased(organizations, 'o').id,
  orgName: aliased(accounts, 'oa').name,
  userId: aliased(users, 'u').id,
  login: aliased(accounts, 'a').name,
  email: aliased(emails, 'e').email,
  twoFactorFrom: present(aliased(organizations, 'o').twoFactorFrom),
  twoFactorNotice: aliased(orgMembers, 'm').twoFactorNotice,
}

const statements = (db: SqlDatabase) => ({
  find: db.prepare(
    { orgId: organizations.id },
    pick(organizations, 'twoFactorFrom', 'twoFactorGraceDays', 'maxTokenLifeDays', 'requiresPasskey', 'policyVersion'),
    (k, p) => k('organizations').where('id', p.orgId),
  ),
  replace: db.prepare(
    {
      orgId: organizations.id,
      from: organizations.twoFactorFrom,
      graceDays: organizations.twoFactorGraceDays,
      maxDays: organizations.maxTokenLifeDays,
      requiresPasskey: organizations.requiresPasskey,
      expectedVersion: organizations.policyVersion,
    },
    (k, p) =>
      k('organizations')
        .where('id', p.orgId)
        .where('policy_version', p.expectedVersion)
        .update(
          values(organizations, {
            twoFactorFrom: p.from,
            twoFactorGraceDays: p.graceDays,
            maxTokenLifeDays: p.maxDays,
            requiresPasskey: p.requiresPasskey,
            policyVersion: k.raw('policy_version + 1'),
          }),
        ),
  ),
  enrolled: db.prepare({ userId: users.id }, { userId: users.id }, (k, p) =>
    k('users as u')
      .where('u.id', p.userId)
      .where((any) =>
        any
          .whereExists(
            k('two_factors as f').select('f.user_id').whereRaw('f.user_id = u.id').whereNotNull('f.enrolled_at'),
          )
          .orWhereExists(k('passkeys as pk').select('pk.id').whereRaw('pk.user_id = u.id')),
      ),
  ),
  forgetNotices: db.prepare({ orgId: orgMembers.orgId }, (k, p) =>
    k('org_members')
      .where('org_id', p.orgId)
      .where('two_factor_notice', '>', 0)
      .update(values(orgMembers, { twoFactorNotice: 0 })),
  ),
  due: db.prepare(
    {
      nearBefore: present(organizations.twoFactorFrom),
      comes: orgMembers.twoFactorNotice,
      near: orgMembers.twoFactorNotice,
      limit: int(),
    },
    dueRow,
    (k, p) =>
      k('organizations as o')
        .join('org_members as m', 'm.org_id', 'o.id')
        .join('accounts as oa', 'oa.id', 'o.id')
        .join('users as u', 'u.id', 'm.user_id')
        .join('accounts as a', 'a.id', 'u.id')
        .join('emails as e', (on) =>
          on.on('e.user_id', 'u.id').andOn('e.is_primary', k.raw('1')).andOn('e.verified', k.raw('1')),
        )
        .leftJoin('two_factors as f', 'f.user_id', 'u.id')
        .whereNotNull('o.two_factor_from')
        .whereNull('f.enrolled_at')
        .whereNotExists(k('passkeys as pk').select('pk.id').whereRaw('pk.user_id = u.id'))
        .where({ 'u.is_active': 1, 'u.prohibit_login': 0 })
        .where((any) =>
          any
            .where('m.two_factor_notice', '<', p.comes)
            .orWhere((near) =>
              near.where('m.two_factor_notice', '<', p.near).where('o.two_factor_from', '<', p.nearBefore),
            ),
        )
        .orderBy('o.id')
        .orderBy('u.id')
        .limit(p.limit),
  ),
  markTold: db.prepare({ ...pick(orgMembers, 'orgId', 'userId'), rank: orgMembers.twoFactorNotice }, (k, p) =>
    k('org_members')
      .where('org_id', p.orgId)
      .where('user_id', p.userId)
      .where('two_factor_notice', '<', p.rank)
      .update(values(orgMembers, { twoFactorNotice: p.rank })),
  ),
})

const noticeOf = (row: Row<typeof dueRow>): DueNotice => ({
  orgId: row.orgId,
  orgName: row.orgName,
  userId: row.userId,
  login: row.login,
  email: row.email,
  secondFactorFrom: row.twoFactorFrom,
  told: notices[row.twoFactorNotice] ?? 'none',
})

/** Policies of organizations on SQL. */
export const makeSqlPolicyStore = (db: SqlDatabase): ((runner: SqlRunner) => PolicyStore) => {
  const s = statements(db)
  return (runner) => ({
    async find(orgId) {
      const row = await runner.first(s.find, { orgId })
      if (row === undefined) return undefined
      return {
        secondFactorFrom: row.twoFactorFrom,
        graceDays: row.twoFactorGraceDays,
        maxTokenLifeDays: row.maxTokenLifeDays,
        requiresPasskey: row.requiresPasskey,
        version: row.policyVersion,
      }
    },
    async replace(orgId, { secondFactorFrom, graceDays, maxTokenLifeDays, requiresPasskey }, expectedVersion) {
      const binds = {
        orgId,
        from: secondFactorFrom,
        graceDays,
        maxDays: maxTokenLifeDays,
        requiresPasskey,
        expectedVersion,
      }
      return (await runner.run(s.replace, binds)).affected > 0
    },
    async hasSecondFactor(userId) {
      return (await runner.first(s.enrolled, { userId })) !== undefined
    },
    async forgetNotices(orgId) {
      await runner.run(s.forgetNotices, { orgId })
    },
    async dueNotices(nearBefore, limit) {
      const ranks = { comes: rankOf('comes'), near: rankOf('near') }
      return (await runner.all(s.due, { nearBefore, ...ranks, limit })).map(noticeOf)
    },
    async markTold(orgId, userId, told) {
      return (await runner.run(s.markTold, { orgId, userId, rank: rankOf(told) })).affected > 0
    },
  })
}
