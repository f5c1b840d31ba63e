import type { Knex } from 'knex'
import type { Level, Standing } from '../../../core/kernel/access.ts'
import { levels, reaches } from '../../../core/kernel/access.ts'
import type { AccountId, TeamId } from '../../../core/kernel/brand.ts'
import { permissionKey } from '../../../core/kernel/permission.ts'

/** One row of a look-up: the account, and one combination of team, role permission and grant that the person has. */
export interface StandingRow {
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

export const standingColumns = [
  'a.id as account_id',
  'a.kind as account_kind',
  'a.name as account_name',
  'o.visibility as visibility',
  'm.user_id as member_id',
  't.id as team_id',
  't.permission as level',
  'rp.namespace as namespace',
  'rp.action as action',
] as const

/**
 * Joins what `userId` holds in the account `a`. Everything hangs on the membership row `m`: without it there are no
 * teams, and rows of another organization never join.
 */
export const joinStanding = (from: Knex.QueryBuilder, userId: Knex.Value): Knex.QueryBuilder =>
  from
    .leftJoin('organizations as o', 'o.id', 'a.id')
    .leftJoin('org_members as m', (on) => on.on('m.org_id', 'a.id').onVal('m.user_id', userId))
    .leftJoin('team_members as tm', (on) => on.on('tm.user_id', 'm.user_id').on('tm.org_id', 'm.org_id'))
    .leftJoin('teams as t', (on) => on.on('t.id', 'tm.team_id').on('t.org_id', 'm.org_id'))
    .leftJoin('team_roles as tr', (on) => on.on('tr.team_id', 't.id').on('tr.org_id', 't.org_id'))
    .leftJoin('role_permissions as rp', 'rp.role_id', 'tr.role_id')

/** Folds the rows of one look-up, all of one account. */
export const standingOf = (userId: number, rows: readonly [StandingRow, ...StandingRow[]]): Standing => {
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
  }
}

/** A team of level `custom` gives no level of its own. */
const higher = (level: Level, word: string | null): Level => {
  const other = levels.find((known) => known === word) ?? 'none'
  return reaches(level, other) ? level : other
}
