import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'

const at = 1_750_000_000_000

export interface LargeDirectory {
  readonly orgId: number
  /** The id of the first user; the others follow it. */
  readonly firstUserId: number
  readonly users: number
  /** Teams that exist, with the number of users that each has as members. */
  readonly groups: readonly { readonly teamId: number; readonly members: number }[]
}

/** Inserts users of the directory of an organization, and groups of them, without accounts that can sign in. */
export const fillDirectory = async (
  db: SqlDatabase,
  { orgId, firstUserId, users, groups }: LargeDirectory,
): Promise<void> => {
  const ids = Array.from({ length: users }, (_, index) => firstUserId + index)
  const insert = async (table: string, rows: readonly object[]): Promise<void> => {
    for (let from = 0; from < rows.length; from += 100)
      await db.query((k) => k(table).insert(rows.slice(from, from + 100)))
  }
  const name = (id: number): string => `person${id}`
  await insert(
    'accounts',
    ids.map((id) => ({ id, kind: 'user', name: name(id), lower_name: name(id), created_at: at })),
  )
  await insert(
    'users',
    ids.map((id) => ({ id, full_name: '', password_hash: '', created_at: at })),
  )
  await insert(
    'org_members',
    ids.map((id) => ({ org_id: orgId, user_id: id, is_provisioned: 1, created_at: at })),
  )
  await insert(
    'provisioned_users',
    ids.map((id) => ({
      user_id: id,
      org_id: orgId,
      user_name: name(id),
      lower_user_name: name(id),
      lower_display_name: '',
      attributes: '{}',
      created_at: at,
      updated_at: at,
    })),
  )
  await insert(
    'provisioned_groups',
    groups.map(({ teamId }) => ({
      team_id: teamId,
      org_id: orgId,
      display_name: `Group ${teamId}`,
      lower_display_name: `group ${teamId}`,
      created_at: at,
      updated_at: at,
    })),
  )
  for (const { teamId, members } of groups)
    await insert(
      'team_members',
      ids.slice(0, members).map((user_id) => ({ team_id: teamId, user_id, org_id: orgId, created_at: at })),
    )
}
