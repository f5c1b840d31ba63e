import type { Knex } from 'knex'
import type { ClusterId, OrgId, SessionId, TokenId, UserId } from '../../../core/kernel/ids.ts'
import type {
  AccessTokenRecord,
  AccountState,
  EmailRecord,
  NewAccessToken,
  SessionRecord,
  User,
  UserVisibility,
  Viewer,
} from '../../../core/identity/types.ts'
import type { Num } from '../kit/statement.ts'
import type { ObjectRows } from '../kit/object-rows.ts'

/** Where the objects of this part's types are. */
export const tokenObjectRows: ObjectRows = { type: 'token', table: 'access_tokens', owner: 'user_id' }

const instantOf = (value: Num | null): Date | undefined => (value === null ? undefined : new Date(Number(value)))
const truth = (value: Num | boolean): boolean => Number(value) === 1

export interface UserRow {
  readonly id: Num
  readonly login: string
  readonly full_name: string
  readonly primary_email: string | null
  readonly is_admin: Num
  readonly is_active: Num
  readonly prohibit_login: Num
  readonly restricted: Num
  readonly must_change_password: Num
  readonly allow_create_organization: Num
  readonly hide_email: Num
  readonly visibility: string
  readonly language: string
  readonly theme: string
  readonly diff_view_style: string
  readonly hide_activity: Num
  readonly website: string
  readonly location: string
  readonly description: string
  readonly last_login_at: Num | null
  readonly created_at: Num
  readonly version: Num
  readonly followers_count: Num
  readonly following_count: Num
  readonly avatar_digest: string | null
}

const plainColumns = [
  'full_name',
  'is_admin',
  'is_active',
  'prohibit_login',
  'restricted',
  'must_change_password',
  'allow_create_organization',
  'hide_email',
  'visibility',
  'language',
  'theme',
  'diff_view_style',
  'hide_activity',
  'website',
  'location',
  'description',
  'last_login_at',
  'created_at',
  'version',
] as const

/**
 * Counts the users of one side of the follows, as the lists of followers show them to every signed-in user: without
 * private users and disabled accounts. It uses an index.
 */
const followCount = (fixed: 'user_id' | 'target_id', other: 'user_id' | 'target_id'): string =>
  `(select count(*) from follows as f join users as fu on fu.id = f.${other} where f.${fixed} = u.id and ` +
  `fu.is_active = 1 and fu.visibility <> 'private')`

/** Adds the columns of users to a query of users `u` with their account `a`. */
export const withUserColumns = (k: Knex, rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows
    .leftJoin('emails as e', (join) => join.on('e.user_id', 'u.id').andOn('e.is_primary', k.raw('1')))
    .select(
      'u.id',
      'a.name as login',
      'a.avatar_digest',
      'e.email as primary_email',
      ...plainColumns.map((column) => `u.${column}`),
      k.raw(`${followCount('target_id', 'user_id')} as followers_count`),
      k.raw(`${followCount('user_id', 'target_id')} as following_count`),
    )

/** Selects users `u` with their account `a` and primary address `e`. */
export const selectUsers = (k: Knex): Knex.QueryBuilder =>
  withUserColumns(k, k('users as u').join('accounts as a', 'a.id', 'u.id'))

export const userOf = (row: UserRow): User => ({
  id: Number(row.id) as UserId,
  login: row.login,
  fullName: row.full_name,
  primaryEmail: row.primary_email ?? '',
  isAdmin: truth(row.is_admin),
  isActive: truth(row.is_active),
  prohibitLogin: truth(row.prohibit_login),
  restricted: truth(row.restricted),
  mustChangePassword: truth(row.must_change_password),
  allowCreateOrganization: truth(row.allow_create_organization),
  hideEmail: truth(row.hide_email),
  visibility: row.visibility as UserVisibility,
  language: row.language,
  theme: row.theme,
  diffViewStyle: row.diff_view_style,
  hideActivity: truth(row.hide_activity),
  website: row.website,
  location: row.location,
  description: row.description,
  lastLoginAt: instantOf(row.last_login_at),
  createdAt: new Date(Number(row.created_at)),
  followersCount: Number(row.followers_count),
  followingCount: Number(row.following_count),
  avatarDigest: row.avatar_digest ?? undefined,
  version: Number(row.version),
})

export type ViewerBind = 'viewerId' | 'seesLimited' | 'seesAll'

/** Binds of `visibleTo`. */
export const viewerBinds = (viewer: Viewer): Record<ViewerBind, number> => ({
  viewerId: viewer.userId ?? 0,
  seesLimited: viewer.userId === undefined ? 0 : 1,
  seesAll: viewer.isSiteAdmin ? 1 : 0,
})

/**
 * Leaves out the users `u` whom a viewer may not see: those of a narrower visibility, and those with a disabled
 * account.
 */
export const visibleTo =
  (k: Knex, p: (name: ViewerBind) => Knex.Value) =>
  (query: Knex.QueryBuilder): void => {
    query.where((any) =>
      any
        .where((open) =>
          open
            .where('u.is_active', 1)
            .where((visible) =>
              visible
                .where('u.visibility', 'public')
                .orWhere((limited) =>
                  limited.where('u.visibility', 'limited').where(k.raw('? = 1', [p('seesLimited')])),
                ),
            ),
        )
        .orWhere('u.id', p('viewerId'))
        .orWhere(k.raw('? = 1', [p('seesAll')])),
    )
  }

export interface StateRow {
  readonly user_id: Num
  readonly login: string
  readonly is_admin: Num
  readonly is_active: Num
  readonly prohibit_login: Num
  readonly must_change_password: Num
}
export const stateColumns = [
  'u.id as user_id',
  'a.name as login',
  'u.is_admin',
  'u.is_active',
  'u.prohibit_login',
  'u.must_change_password',
] as const
export const stateOf = (row: StateRow): AccountState => ({
  userId: Number(row.user_id) as UserId,
  login: row.login,
  isSiteAdmin: truth(row.is_admin),
  isEnabled: truth(row.is_active) && !truth(row.prohibit_login),
  mustChangePassword: truth(row.must_change_password),
})

export interface TokenRow {
  readonly id: Num
  readonly user_id: Num
  readonly name: string
  readonly last_eight: string
  readonly scopes: string
  readonly only_org_id: Num | null
  /** If the organization was joined. */
  readonly only_org_name?: string | null
  readonly only_cluster_id: Num | null
  /** If the cluster was joined. */
  readonly only_cluster_name?: string | null
  readonly only_cluster_owner?: string | null
  readonly created_at: Num
  readonly expires_at: Num | null
  readonly last_used_at: Num | null
}
export const tokenColumns = [
  'id',
  'user_id',
  'name',
  'last_eight',
  'scopes',
  'only_org_id',
  'only_cluster_id',
  'created_at',
  'expires_at',
  'last_used_at',
] as const
/**
 * Precedes each stored scope of a token that is confined to a cluster. Releases that do not know such tokens grant
 * nothing for a word that they do not know, whatever value the row has there.
 */
const ofOneCluster = 'one-cluster/'
export const wordsOf = (scopes: string): readonly string[] =>
  scopes
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => (word.startsWith(ofOneCluster) ? word.slice(ofOneCluster.length) : word))
/** Returns the scopes of a token as they are stored; `wordsOf` is the inverse. */
export const storedScopes = ({
  scopeWords,
  onlyClusterId,
}: Pick<NewAccessToken, 'scopeWords' | 'onlyClusterId'>): string =>
  scopeWords.map((word) => (onlyClusterId === undefined ? word : ofOneCluster + word)).join(' ')
export const orgIdOf = (value: Num | null): OrgId | undefined => (value === null ? undefined : (Number(value) as OrgId))
export const onlyClusterOf = (row: Pick<TokenRow, 'only_cluster_id'>): { readonly onlyClusterId?: ClusterId } =>
  row.only_cluster_id === null ? {} : { onlyClusterId: Number(row.only_cluster_id) as ClusterId }
export const optionalInstant = instantOf

export const tokenOf = (row: TokenRow): AccessTokenRecord => ({
  id: Number(row.id) as TokenId,
  userId: Number(row.user_id) as UserId,
  name: row.name,
  lastEight: row.last_eight,
  scopeWords: wordsOf(row.scopes),
  onlyOrgId: orgIdOf(row.only_org_id),
  ...(typeof row.only_org_name === 'string' ? { onlyOrgName: row.only_org_name } : {}),
  ...onlyClusterOf(row),
  ...(typeof row.only_cluster_name === 'string'
    ? { onlyClusterName: `${row.only_cluster_owner}/${row.only_cluster_name}` }
    : {}),
  createdAt: new Date(Number(row.created_at)),
  expiresAt: instantOf(row.expires_at),
  lastUsedAt: instantOf(row.last_used_at),
})

export interface SessionRow {
  readonly id: Num
  readonly user_id: Num
  readonly remember: Num
  readonly source_ip: string
  readonly user_agent: string
  readonly created_at: Num
  readonly last_seen_at: Num
  readonly idle_expires_at: Num
  readonly expires_at: Num
}
export const sessionColumns = [
  'id',
  'user_id',
  'remember',
  'source_ip',
  'user_agent',
  'created_at',
  'last_seen_at',
  'idle_expires_at',
  'expires_at',
] as const
export const sessionOf = (row: SessionRow): SessionRecord => ({
  id: Number(row.id) as SessionId,
  userId: Number(row.user_id) as UserId,
  remember: truth(row.remember),
  sourceIp: row.source_ip,
  userAgent: row.user_agent,
  createdAt: new Date(Number(row.created_at)),
  lastSeenAt: new Date(Number(row.last_seen_at)),
  idleExpiresAt: new Date(Number(row.idle_expires_at)),
  expiresAt: new Date(Number(row.expires_at)),
})

export interface EmailRow {
  readonly id: Num
  readonly user_id: Num
  readonly email: string
  readonly verified: Num
  readonly verified_at: Num | null
  readonly is_primary: Num
}
export const emailColumns = ['id', 'user_id', 'email', 'verified', 'verified_at', 'is_primary'] as const
export const emailOf = (row: EmailRow): EmailRecord => ({
  id: Number(row.id),
  userId: Number(row.user_id) as UserId,
  email: row.email,
  verified: truth(row.verified),
  verifiedAt: instantOf(row.verified_at),
  isPrimary: truth(row.is_primary),
})
