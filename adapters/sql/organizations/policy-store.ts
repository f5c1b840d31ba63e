import type { OrgId, UserId } from '../../../core/kernel/ids.ts'
import type { DueNotice, PolicyStore, SecondFactorNotice } from '../../../core/organizations/ports.ts'
import { notices } from '../../../core/organizations/ports.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'

const rankOf = (notice: SecondFactorNotice): number => notices.indexOf(notice)

const statements = (db: SqlDatabase) => ({
  find: db.prepare((k, p: Params<'orgId'>) =>
    k('organizations')
      .where('id', p('orgId'))
      .select('two_factor_from', 'two_factor_grace_days', 'max_token_life_days', 'policy_version'),
  ),
  replace: db.prepare((k, p: Params<'orgId' | 'from' | 'graceDays' | 'maxDays' | 'expectedVersion'>) =>
    k('organizations')
      .where('id', p('orgId'))
      .where('policy_version', p('expectedVersion'))
      .update({
        two_factor_from: p('from'),
        two_factor_grace_days: p('graceDays'),
        max_token_life_days: p('maxDays'),
        policy_version: k.raw('policy_version + 1'),
      }),
  ),
  enrolled: db.prepare((k, p: Params<'userId'>) =>
    k('two_factors').where('user_id', p('userId')).whereNotNull('enrolled_at').select('user_id'),
  ),
  forgetNotices: db.prepare((k, p: Params<'orgId'>) =>
    k('org_members').where('org_id', p('orgId')).where('two_factor_notice', '>', 0).update({ two_factor_notice: 0 }),
  ),
  due: db.prepare((k, p: Params<'nearBefore' | 'comes' | 'near' | 'limit'>) =>
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
      .where({ 'u.is_active': 1, 'u.prohibit_login': 0 })
      .where((any) =>
        any
          .where('m.two_factor_notice', '<', p('comes'))
          .orWhere((near) =>
            near.where('m.two_factor_notice', '<', p('near')).where('o.two_factor_from', '<', p('nearBefore')),
          ),
      )
      .select(
        'o.id as org_id',
        'oa.name as org_name',
        'u.id as user_id',
        'a.name as login',
        'e.email',
        'o.two_factor_from',
        'm.two_factor_notice',
      )
      .orderBy('o.id')
      .orderBy('u.id')
      .limit(p('limit')),
  ),
  markTold: db.prepare((k, p: Params<'orgId' | 'userId' | 'rank'>) =>
    k('org_members')
      .where('org_id', p('orgId'))
      .where('user_id', p('userId'))
      .where('two_factor_notice', '<', p('rank'))
      .update({ two_factor_notice: p('rank') }),
  ),
})

interface PolicyRow {
  readonly two_factor_from: Num | null
  readonly two_factor_grace_days: Num
  readonly max_token_life_days: Num
  readonly policy_version: Num
}

interface DueRow {
  readonly org_id: Num
  readonly org_name: string
  readonly user_id: Num
  readonly login: string
  readonly email: string
  readonly two_factor_from: Num
  readonly two_factor_notice: Num
}

const noticeOf = (row: DueRow): DueNotice => ({
  orgId: Number(row.org_id) as OrgId,
  orgName: row.org_name,
  userId: Number(row.user_id) as UserId,
  login: row.login,
  email: row.email,
  secondFactorFrom: new Date(Number(row.two_factor_from)),
  told: notices[Number(row.two_factor_notice)] ?? 'none',
})

/** Policies of organizations on SQL. */
export const makeSqlPolicyStore = (db: SqlDatabase): ((runner: SqlRunner) => PolicyStore) => {
  const s = statements(db)
  return (runner) => ({
    async find(orgId) {
      const row = await runner.first<PolicyRow>(s.find, { orgId })
      if (row === undefined) return undefined
      return {
        secondFactorFrom: row.two_factor_from === null ? undefined : new Date(Number(row.two_factor_from)),
        graceDays: Number(row.two_factor_grace_days),
        maxTokenLifeDays: Number(row.max_token_life_days),
        version: Number(row.policy_version),
      }
    },
    async replace(orgId, { secondFactorFrom, graceDays, maxTokenLifeDays }, expectedVersion) {
      const binds = {
        orgId,
        from: secondFactorFrom?.getTime() ?? null,
        graceDays,
        maxDays: maxTokenLifeDays,
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
      return (await runner.all<DueRow>(s.due, { nearBefore: nearBefore.getTime(), ...ranks, limit })).map(noticeOf)
    },
    async markTold(orgId, userId, told) {
      return (await runner.run(s.markTold, { orgId, userId, rank: rankOf(told) })).affected > 0
    },
  })
}
