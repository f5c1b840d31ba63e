/**
 * What both twins ask their database: who holds the token, and everything that the answer shows of the user, in one
 * join.
 */
export const userByTokenSql = `select u.id, a.name as login, u.full_name, e.email, u.language, u.is_admin, u.last_login_at, u.created_at,
  u.is_active, u.prohibit_login, u.restricted, u.location, u.website, u.description, u.visibility,
  (select count(*) from follows f where f.target_id = u.id) as followers_count,
  (select count(*) from follows f where f.user_id = u.id) as following_count
from access_tokens t
join users u on u.id = t.user_id
join accounts a on a.id = u.id
left join emails e on e.user_id = u.id and e.is_primary = 1
where t.token_hash = ?`

export const usersByPrefixSql = `select u.id, a.name as login, u.full_name, e.email, u.language, u.is_admin, u.last_login_at, u.created_at,
  u.is_active, u.prohibit_login, u.restricted, u.location, u.website, u.description, u.visibility,
  (select count(*) from follows f where f.target_id = u.id) as followers_count,
  (select count(*) from follows f where f.user_id = u.id) as following_count
from users u
join accounts a on a.id = u.id
left join emails e on e.user_id = u.id and e.is_primary = 1
where u.search_name >= ? and u.search_name < ? and u.visibility = 'public'
order by u.search_name limit ?`

export interface UserAnswerRow {
  readonly id: number
  readonly login: string
  readonly full_name: string
  readonly email: string | null
  readonly language: string
  readonly is_admin: number
  readonly last_login_at: number | null
  readonly created_at: number
  readonly is_active: number
  readonly prohibit_login: number
  readonly restricted: number
  readonly location: string
  readonly website: string
  readonly description: string
  readonly visibility: string
  readonly followers_count: number
  readonly following_count: number
}

/** The same keys and nearly the same bytes as the service answers, so that both sides serialise and send as much. */
export const userAnswer = (row: UserAnswerRow, baseUrl: string): Record<string, unknown> => ({
  id: row.id,
  login: row.login,
  username: row.login,
  full_name: row.full_name,
  email: row.email ?? '',
  avatar_url: `${baseUrl}/api/v1/avatars/drawn/${row.login}`,
  html_url: `${baseUrl}/${row.login}`,
  language: row.language,
  is_admin: row.is_admin === 1,
  last_login: new Date(row.last_login_at ?? 0).toISOString(),
  created: new Date(row.created_at).toISOString(),
  type: 0,
  active: row.is_active === 1,
  prohibit_login: row.prohibit_login === 1,
  restricted: row.restricted === 1,
  location: row.location,
  website: row.website,
  description: row.description,
  visibility: row.visibility,
  login_name: row.login,
  source_id: 0,
  followers_count: row.followers_count,
  following_count: row.following_count,
  starred_repos_count: 0,
  orgAdmin: false,
  orgType: 0,
  clientOrgUser: false,
})
