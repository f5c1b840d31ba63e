import type { Knex } from 'knex'
import type { AccessTokenRecord, AccountState, NewAccessToken, Viewer } from '../../../core/identity/types.ts'
import type { ClusterId } from '../../../core/kernel/ids.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, computed, int, long, nullable, orElse, pick, qualified, without } from '../kit/columns.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import type { Slots } from '../kit/statement.ts'
import { clusters } from '../tables/clusters.ts'
import { accessTokens, accounts, emails, sessions, twoFactors, users } from '../tables/identity.ts'

/** Where the objects of this part's types are. */
export const tokenObjectRows: ObjectRows = { type: 'token', table: 'access_tokens', owner: 'user_id' }

/** What an administrator or the user changes about a user. A new column of `users` belongs to it. */
export const changeableOfUser = without(
  users,
  'id',
  'passwordHash',
  'lastLoginAt',
  'createdAt',
  'version',
  'deactivatedAt',
  'deactivatedBy',
  'unconfirmedSince',
  'robotOrgId',
)

/**
 * Counts the users of one side of the follows, as the lists of followers show them to every signed-in user: without
 * private users and disabled accounts. It uses an index.
 */
const followCount = (fixed: 'user_id' | 'target_id', other: 'user_id' | 'target_id'): string =>
  `(select count(*) from follows as f join users as fu on fu.id = f.${other} where f.${fixed} = u.id and ` +
  `fu.is_active = 1 and fu.visibility <> 'private')`

const { searchName: _, ...shownOfUser } = changeableOfUser
const u = aliased(users, 'u')
const a = aliased(accounts, 'a')

/** A user, of the users `u` with their account `a` and primary address `e`. */
export const userRow = {
  id: u.id,
  login: a.name,
  avatarDigest: a.avatarDigest,
  primaryEmail: orElse(aliased(emails, 'e').email, ''),
  ...qualified(shownOfUser, 'u'),
  ...pick(u, 'lastLoginAt', 'createdAt', 'version'),
  followersCount: computed(long(), followCount('target_id', 'user_id')),
  followingCount: computed(long(), followCount('user_id', 'target_id')),
}

/**
 * The second factor in force of the user `u`: an enrolled seed, or else the passkeys together. A seed without a
 * confirmed first code does not count.
 */
export const secondFactorRef = computed(
  nullable(twoFactors.ref),
  'coalesce((select f.ref from two_factors as f where f.user_id = u.id and f.enrolled_at is not null), ' +
    "case when exists (select 1 from passkeys as pk where pk.user_id = u.id) then 'passkeys' end)",
)

/** Joins the primary address `e` to the users `u`. */
export const joinPrimaryEmail = (k: Knex, rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows.leftJoin('emails as e', (join) => join.on('e.user_id', 'u.id').andOn('e.is_primary', k.raw('1')))

/** Selects from users `u` with their account `a` and primary address `e`. */
export const fromUsers = (k: Knex): Knex.QueryBuilder =>
  joinPrimaryEmail(k, k('users as u').join('accounts as a', 'a.id', 'u.id'))

/** The parameters of `visibleTo`. */
export const viewerParams = { viewerId: int(), seesLimited: int(), seesAll: int() }
export type ViewerBinds = { readonly [Name in keyof typeof viewerParams]: number }

/** Binds of `visibleTo`. */
export const viewerBinds = (viewer: Viewer): ViewerBinds => ({
  viewerId: viewer.userId ?? 0,
  seesLimited: viewer.userId === undefined ? 0 : 1,
  seesAll: viewer.isSiteAdmin ? 1 : 0,
})

/**
 * Leaves out the users `u` whom a viewer may not see: those of a narrower visibility, and those with a disabled
 * account.
 */
export const visibleTo =
  (k: Knex, p: Slots<typeof viewerParams>) =>
  (query: Knex.QueryBuilder): void => {
    query.where((any) =>
      any
        .where((open) =>
          open
            .where('u.is_active', 1)
            .where((visible) =>
              visible
                .where('u.visibility', 'public')
                .orWhere((limited) => limited.where('u.visibility', 'limited').where(k.raw('? = 1', [p.seesLimited]))),
            ),
        )
        .orWhere('u.id', p.viewerId)
        .orWhere(k.raw('? = 1', [p.seesAll])),
    )
  }

/** What a request needs to know of the user `u` with the account `a`. */
export const stateRow = {
  userId: u.id,
  login: a.name,
  ...pick(u, 'isAdmin', 'isActive', 'prohibitLogin', 'mustChangePassword'),
}
export const stateOf = (row: Row<typeof stateRow>): AccountState => ({
  userId: row.userId,
  login: row.login,
  isSiteAdmin: row.isAdmin,
  isEnabled: row.isActive && !row.prohibitLogin,
  mustChangePassword: row.mustChangePassword,
})

const shownOfToken = [
  'id',
  'userId',
  'name',
  'lastEight',
  'scopes',
  'onlyOrgId',
  'onlyClusterId',
  'createdAt',
  'expiresAt',
  'lastUsedAt',
] as const

/** A token. */
export const tokenRow = pick(accessTokens, ...shownOfToken)
/** A token `t` with the name of the organization `o` that it is limited to. */
export const tokenWithOrganization = {
  ...pick(aliased(accessTokens, 't'), ...shownOfToken),
  onlyOrgName: nullable(aliased(accounts, 'o').name),
}
/** A token `t`, with the cluster `c` of the owner `co` that it is limited to. */
export const tokenWithCluster = {
  ...tokenWithOrganization,
  onlyClusterName: nullable(aliased(clusters, 'c').name),
  onlyClusterOwner: nullable(aliased(accounts, 'co').name),
}
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
export const onlyClusterOf = ({
  onlyClusterId,
}: {
  readonly onlyClusterId: ClusterId | undefined
}): { readonly onlyClusterId?: ClusterId } => definedFields({ onlyClusterId })

type TokenRow = Row<typeof tokenRow> &
  Partial<Pick<Row<typeof tokenWithCluster>, 'onlyOrgName' | 'onlyClusterName' | 'onlyClusterOwner'>>

export const tokenOf = (row: TokenRow): AccessTokenRecord => ({
  id: row.id,
  userId: row.userId,
  name: row.name,
  lastEight: row.lastEight,
  scopeWords: wordsOf(row.scopes),
  onlyOrgId: row.onlyOrgId,
  ...definedFields({ onlyOrgName: row.onlyOrgName }),
  ...onlyClusterOf(row),
  ...definedFields({
    onlyClusterName: row.onlyClusterName === undefined ? undefined : `${row.onlyClusterOwner}/${row.onlyClusterName}`,
  }),
  createdAt: row.createdAt,
  expiresAt: row.expiresAt,
  lastUsedAt: row.lastUsedAt,
})

/** A session `s`, which ends with its remembered login `r` if it has one. */
export const sessionRow = {
  ...pick(
    aliased(sessions, 's'),
    'id',
    'userId',
    'remember',
    'sourceIp',
    'userAgent',
    'createdAt',
    'lastSeenAt',
    'idleExpiresAt',
  ),
  expiresAt: computed(sessions.expiresAt, 'coalesce(r.expires_at, s.expires_at)'),
}

const emailFields = ['id', 'userId', 'email', 'verified', 'verifiedAt', 'isPrimary'] as const
export const emailRow = pick(emails, ...emailFields)
/** An address `e` with the name of its owner `a`. */
export const emailWithLogin = { ...pick(aliased(emails, 'e'), ...emailFields), login: a.name }
