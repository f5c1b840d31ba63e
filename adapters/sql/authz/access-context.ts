import type { Knex } from 'knex'
import type { EntryContext, EntryRules, Level, AccessContext } from '../../../core/kernel/access.ts'
import { levels, permissionKey, reaches } from '../../../core/kernel/access.ts'
import type { AccountId, TeamId, UserId } from '../../../core/kernel/ids.ts'
import type { RightsStore } from '../../../core/kernel/rights.ts'
import type { Num, Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { definedFields } from '../../../core/kernel/json.ts'

/** One row of a look-up: the account, and one combination of the person's team, role permission and grant. */
export interface AccessRow extends EntryRow {
  readonly account_id: number
  readonly account_kind: string
  readonly account_name: string
  readonly visibility: string | null
  readonly member_id: number | null
  readonly team_id: number | null
  readonly level: string | null
  readonly namespace: string | null
  readonly action: string | null
}

/** What an organization requires of the person, and whether the person has it; null for non-members. */
export interface EntryRow {
  readonly two_factor_from: number | string | null
  readonly max_token_life_days: number | string | null
  readonly factor_enrolled_at: number | string | null
  readonly robot_id: number | string | null
}

/** The columns of an `EntryRow`, over the tables that `joinEntry` joins. */
export const entryColumns = [
  'o.two_factor_from as two_factor_from',
  'o.max_token_life_days as max_token_life_days',
  'f.enrolled_at as factor_enrolled_at',
  'rb.id as robot_id',
] as const

export const accessColumns = [
  'a.id as account_id',
  'a.kind as account_kind',
  'a.name as account_name',
  'o.visibility as visibility',
  'm.user_id as member_id',
  't.id as team_id',
  't.permission as level',
  'rp.namespace as namespace',
  'rp.action as action',
  ...entryColumns,
] as const

/**
 * Joins the rights of `userId` in the account `a`. Everything depends on the membership row `m`: without it no team is
 * joined, and rows of another organization never are.
 */
export const joinAccess = (from: Knex.QueryBuilder, userId: Knex.Value): Knex.QueryBuilder =>
  joinEntry(
    from
      .leftJoin('organizations as o', 'o.id', 'a.id')
      .leftJoin('org_members as m', (on) => on.on('m.org_id', 'a.id').onVal('m.user_id', userId)),
  )
    .leftJoin('team_members as tm', (on) => on.on('tm.user_id', 'm.user_id').on('tm.org_id', 'm.org_id'))
    .leftJoin('teams as t', (on) => on.on('t.id', 'tm.team_id').on('t.org_id', 'm.org_id'))
    .leftJoin('team_roles as tr', (on) => on.on('tr.team_id', 't.id').on('tr.org_id', 't.org_id'))
    .leftJoin('role_permissions as rp', 'rp.role_id', 'tr.role_id')

/** Joins the tables of `entryColumns` to the membership `m` and its organization `o`. */
export const joinEntry = (from: Knex.QueryBuilder): Knex.QueryBuilder =>
  from.leftJoin('two_factors as f', 'f.user_id', 'm.user_id').leftJoin('robot_accounts as rb', 'rb.id', 'm.user_id')

/** Returns undefined if the organization requires nothing, or the person is not a member of it. */
export const entryRulesOf = (row: EntryRow): EntryRules | undefined => {
  const from = row.two_factor_from
  const maxTokenLifeDays = Number(row.max_token_life_days ?? 0)
  if (from === null && maxTokenLifeDays === 0) return undefined
  return {
    secondFactorFrom: from === null ? undefined : new Date(Number(from)),
    // A robot account has no person who could have a second factor.
    hasSecondFactor: row.factor_enrolled_at !== null || row.robot_id !== null,
    maxTokenLifeDays,
  }
}

/** Combines the rows of one look-up, which are all of one account. */
export const accessContextOf = (userId: number, rows: readonly [AccessRow, ...AccessRow[]]): AccessContext => {
  const account = rows[0]
  const isOwnAccount = account.account_kind === 'user' && account.account_id === userId
  const permissions = new Set<string>()
  const teamIds = new Set<TeamId>()
  let level: Level = isOwnAccount ? 'owner' : 'none'
  for (const row of rows) {
    const { namespace, action } = row
    if (namespace !== null && action !== null) permissions.add(permissionKey({ namespace, action }))
    if (row.team_id !== null) teamIds.add(row.team_id as TeamId)
    level = higher(level, row.level)
  }
  const entry = account.member_id === null ? undefined : entryRulesOf(account)
  return {
    accountId: account.account_id as AccountId,
    accountKind: account.account_kind === 'user' ? 'user' : 'organization',
    accountName: account.account_name,
    isOpen: account.visibility === 'public' || account.visibility === 'limited',
    isPublic: account.visibility === 'public',
    isMember: isOwnAccount || account.member_id !== null,
    level,
    permissions,
    teamIds: [...teamIds].sort((a, b) => a - b),
    ...definedFields({ entry }),
  }
}

/** A team of level `custom` adds no level of its own. */
const higher = (level: Level, word: string | null): Level => {
  const other = levels.find((known) => known === word) ?? 'none'
  return reaches(level, other) ? level : other
}

export type EntryBind = 'enteringAt' | 'tokenLifeDays'

/** Binds of `whereEntryAllowed`. */
export const entryBinds = ({ at, tokenLifeDays }: EntryContext): Readonly<Record<EntryBind, number>> => ({
  enteringAt: at.getTime(),
  tokenLifeDays,
})

/**
 * Narrows to the organizations `o` that the member `m` may enter, by the same rule as `core/kernel/access.ts`: for
 * lists over organizations.
 */
export const whereEntryAllowed =
  (k: Knex, p: (name: EntryBind) => Knex.Value) =>
  (query: Knex.QueryBuilder): void => {
    query
      .where((any) =>
        any
          .whereNull('o.two_factor_from')
          .orWhere('o.two_factor_from', '>', p('enteringAt'))
          .orWhereExists(
            k('two_factors as f').select('f.user_id').whereRaw('f.user_id = m.user_id').whereNotNull('f.enrolled_at'),
          )
          .orWhereExists(k('robot_accounts as rb').select('rb.id').whereRaw('rb.id = m.user_id')),
      )
      .where((any) => any.where('o.max_token_life_days', 0).orWhere('o.max_token_life_days', '>=', p('tokenLifeDays')))
  }

interface UserRow {
  readonly is_admin: Num
  readonly is_active: Num
  readonly prohibit_login: Num
}

/** Reads rights inside a transaction. Statements are composed once, then bound to a runner. */
export const makeSqlRightsStore = (db: SqlDatabase): ((runner: SqlRunner) => RightsStore) => {
  const lock = db.prepare((k, p: Params<'accountId'>) =>
    k('accounts').where('id', p('accountId')).select('id').forUpdate(),
  )
  // Shared: two changes of one user do not wait for each other, but a change of the user waits for both.
  const user = db.prepare((k, p: Params<'userId'>) =>
    k('users').where('id', p('userId')).select('is_admin', 'is_active', 'prohibit_login').forShare(),
  )
  const context = makeSqlAccessContext(db)
  return (runner) => ({
    async lock(accountId) {
      return (await runner.first(lock, { accountId })) !== undefined
    },
    async of(accountId, userId) {
      const row = await runner.first<UserRow>(user, { userId })
      if (row === undefined || Number(row.is_active) === 0 || Number(row.prohibit_login) === 1) return undefined
      const held = await context(runner, accountId, userId)
      return held && { isSiteAdmin: Number(row.is_admin) === 1, context: held }
    },
  })
}

/** Looks up what a user holds in one account; undefined if the account does not exist. */
export const makeSqlAccessContext = (db: SqlDatabase) => {
  const statement = db.prepare((k, p: Params<'accountId' | 'userId'>) =>
    joinAccess(k('accounts as a').where('a.id', p('accountId')), p('userId')).select(...accessColumns),
  )
  return async (runner: SqlRunner, accountId: AccountId, userId: UserId): Promise<AccessContext | undefined> => {
    const [first, ...rest] = await runner.all<AccessRow>(statement, { accountId, userId })
    return first && accessContextOf(userId, [first, ...rest])
  }
}
