import type { Knex } from 'knex'
import type { EntryContext, EntryRules, Level, AccessContext } from '../../../core/kernel/access.ts'
import { levels, permissionKey, reaches } from '../../../core/kernel/access.ts'
import type { AccountId, TeamId, UserId } from '../../../core/kernel/ids.ts'
import type { RightsStore } from '../../../core/kernel/rights.ts'
import type { Slot, Slots, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { aliased, computed, flag, instant, int, nullable, orElse, pick } from '../kit/columns.ts'
import { accounts, twoFactors, users } from '../tables/identity.ts'
import { organizations, orgMembers, robotAccounts, teams } from '../tables/organizations.ts'
import type { Binds, Row } from '../kit/columns.ts'
import { rolePermissions } from '../tables/authz.ts'

/** What an organization requires of the person, over the tables that `joinEntry` joins; null for non-members. */
export const entryRow = {
  twoFactorFrom: aliased(organizations, 'o').twoFactorFrom,
  maxTokenLifeDays: orElse(aliased(organizations, 'o').maxTokenLifeDays, 0),
  requiresPasskey: orElse(aliased(organizations, 'o').requiresPasskey, false),
  factorEnrolledAt: aliased(twoFactors, 'f').enrolledAt,
  // Of an organization that requires nothing, the passkeys are not read.
  hasPasskey: computed(
    flag(),
    'case when exists (select 1 from passkeys as pk where pk.user_id = m.user_id ' +
      'and (o.two_factor_from > 0 or o.requires_passkey = 1)) then 1 else 0 end',
  ),
  robotId: nullable(aliased(robotAccounts, 'rb').id),
}
type EntryRow = Row<typeof entryRow>

/** One row of a look-up: the account, and one combination of the person's team, role permission and grant. */
export const accessRow = {
  accountId: aliased(accounts, 'a').id,
  accountKind: aliased(accounts, 'a').kind,
  accountName: aliased(accounts, 'a').name,
  visibility: nullable(aliased(organizations, 'o').visibility),
  memberId: nullable(aliased(orgMembers, 'm').userId),
  teamId: nullable(aliased(teams, 't').id),
  level: nullable(aliased(teams, 't').permission),
  namespace: nullable(aliased(rolePermissions, 'rp').namespace),
  action: nullable(aliased(rolePermissions, 'rp').action),
  ...entryRow,
}
export type AccessRow = Row<typeof accessRow>

/**
 * Joins the rights of `userId` in the account `a`. Everything depends on the membership row `m`: without it no team is
 * joined, and rows of another organization never are.
 */
export const joinAccess = (from: Knex.QueryBuilder, userId: Slot<'integer'>): Knex.QueryBuilder =>
  joinEntry(
    from
      .leftJoin('organizations as o', 'o.id', 'a.id')
      .leftJoin('org_members as m', (on) => on.on('m.org_id', 'a.id').onVal('m.user_id', userId)),
  )
    .leftJoin('team_members as tm', (on) => on.on('tm.user_id', 'm.user_id').on('tm.org_id', 'm.org_id'))
    .leftJoin('teams as t', (on) => on.on('t.id', 'tm.team_id').on('t.org_id', 'm.org_id'))
    .leftJoin('team_roles as tr', (on) => on.on('tr.team_id', 't.id').on('tr.org_id', 't.org_id'))
    .leftJoin('role_permissions as rp', 'rp.role_id', 'tr.role_id')

/** Joins the tables of `entryRow` to the membership `m` and its organization `o`. */
export const joinEntry = (from: Knex.QueryBuilder): Knex.QueryBuilder =>
  from
    .leftJoin('two_factors as f', 'f.user_id', 'm.user_id')
    .leftJoin('robot_accounts as rb', (on) => on.on('rb.id', 'm.user_id').on('rb.org_id', 'm.org_id'))

/** Returns undefined if the organization requires nothing, or the person is not a member of it. */
export const entryRulesOf = (row: EntryRow): EntryRules | undefined => {
  const { twoFactorFrom, maxTokenLifeDays, requiresPasskey } = row
  if (twoFactorFrom === undefined && maxTokenLifeDays === 0 && !requiresPasskey) return undefined
  return {
    secondFactorFrom: twoFactorFrom,
    // A robot account has no person who could have a second factor.
    hasSecondFactor: row.factorEnrolledAt !== undefined || row.hasPasskey || row.robotId !== undefined,
    requiresPasskey,
    hasPasskey: row.hasPasskey || row.robotId !== undefined,
    maxTokenLifeDays,
  }
}

/** Combines the rows of one look-up, which are all of one account. */
export const accessContextOf = (userId: number, rows: readonly [AccessRow, ...AccessRow[]]): AccessContext => {
  const account = rows[0]
  const isOwnAccount = account.accountKind === 'user' && account.accountId === userId
  const permissions = new Set<string>()
  const teamIds = new Set<TeamId>()
  let level: Level = isOwnAccount ? 'owner' : 'none'
  for (const row of rows) {
    const { namespace, action } = row
    if (namespace !== undefined && action !== undefined) permissions.add(permissionKey({ namespace, action }))
    if (row.teamId !== undefined) teamIds.add(row.teamId)
    level = higher(level, row.level)
  }
  const entry = account.memberId === undefined ? undefined : entryRulesOf(account)
  return {
    accountId: account.accountId,
    accountKind: account.accountKind === 'user' ? 'user' : 'organization',
    accountName: account.accountName,
    isOpen: account.visibility === 'public' || account.visibility === 'limited',
    isPublic: account.visibility === 'public',
    isMember: isOwnAccount || account.memberId !== undefined,
    level,
    permissions,
    teamIds: [...teamIds].sort((a, b) => a - b),
    ...definedFields({ entry }),
  }
}

/** A team of level `custom` adds no level of its own. */
const higher = (level: Level, word: string | undefined): Level => {
  const other = levels.find((known) => known === word) ?? 'none'
  return reaches(level, other) ? level : other
}

/** The parameters of `whereEntryAllowed`. */
export const entryParams = { enteringAt: instant(), tokenLifeDays: organizations.maxTokenLifeDays, passkeyRank: int() }

/** By their index in `passkeyRank`. */
const passkeyRanks = ['none', 'owned', 'given'] as const

/** Binds of `whereEntryAllowed`. */
export const entryBinds = ({ at, tokenLifeDays, passkeyProof }: EntryContext): Binds<typeof entryParams> => ({
  enteringAt: at,
  tokenLifeDays,
  passkeyRank: passkeyRanks.indexOf(passkeyProof),
})

/**
 * Narrows to the organizations `o` that the member `m` may enter, by the same rule as `core/kernel/access.ts`: for
 * lists over organizations.
 */
export const whereEntryAllowed =
  (k: Knex, p: Slots<typeof entryParams>) =>
  (query: Knex.QueryBuilder): void => {
    query
      .where((any) =>
        any
          .whereNull('o.two_factor_from')
          .orWhere('o.two_factor_from', '>', p.enteringAt)
          .orWhereExists(
            k('two_factors as f').select('f.user_id').whereRaw('f.user_id = m.user_id').whereNotNull('f.enrolled_at'),
          )
          .orWhereExists(k('passkeys as pk').select('pk.id').whereRaw('pk.user_id = m.user_id'))
          .orWhereExists(
            k('robot_accounts as rb').select('rb.id').whereRaw('rb.id = m.user_id and rb.org_id = m.org_id'),
          ),
      )
      .where((any) => any.where('o.max_token_life_days', 0).orWhere('o.max_token_life_days', '>=', p.tokenLifeDays))
      .where((any) =>
        any
          .where('o.requires_passkey', 0)
          .orWhere(k.raw('? = 2', [p.passkeyRank]))
          .orWhere((owned) =>
            owned
              .where(k.raw('? = 1', [p.passkeyRank]))
              .where((has) =>
                has
                  .whereExists(k('passkeys as pk').select('pk.id').whereRaw('pk.user_id = m.user_id'))
                  .orWhereExists(
                    k('robot_accounts as rb').select('rb.id').whereRaw('rb.id = m.user_id and rb.org_id = m.org_id'),
                  ),
              ),
          ),
      )
  }

/** Reads rights inside a transaction. Statements are composed once, then bound to a runner. */
export const makeSqlRightsStore = (db: SqlDatabase): ((runner: SqlRunner) => RightsStore) => {
  const lock = db.prepare({ accountId: accounts.id }, { id: accounts.id }, (k, p) =>
    k('accounts').where('id', p.accountId).forUpdate(),
  )
  // Shared: two changes of one user do not wait for each other, but a change of the user waits for both.
  const user = db.prepare({ userId: users.id }, pick(users, 'isAdmin', 'isActive', 'prohibitLogin'), (k, p) =>
    k('users').where('id', p.userId).forShare(),
  )
  const context = makeSqlAccessContext(db)
  return (runner) => ({
    async lock(accountId) {
      return (await runner.first(lock, { accountId })) !== undefined
    },
    async of(accountId, userId) {
      const row = await runner.first(user, { userId })
      if (row === undefined || !row.isActive || row.prohibitLogin) return undefined
      const held = await context(runner, accountId, userId)
      return held && { isSiteAdmin: row.isAdmin, context: held }
    },
  })
}

/** Looks up what a user holds in one account; undefined if the account does not exist. */
export const makeSqlAccessContext = (db: SqlDatabase) => {
  const statement = db.prepare({ accountId: accounts.id, userId: users.id }, accessRow, (k, p) =>
    joinAccess(k('accounts as a').where('a.id', p.accountId), p.userId),
  )
  return async (runner: SqlRunner, accountId: AccountId, userId: UserId): Promise<AccessContext | undefined> => {
    const [first, ...rest] = await runner.all(statement, { accountId, userId })
    return first && accessContextOf(userId, [first, ...rest])
  }
}
