import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { ClusterId, OrgId, SessionId, TokenId, UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { MailOutbox } from '../mail/ports.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { AccessMoment, Principal, SessionProof } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AccountLifeStore, PageSizeStore, SearchTermStore, AvatarStore, SiteRulesStore } from './accounts/ports.ts'
import type { RememberedLoginStore } from './sessions/ports.ts'
import type { LinkCodeStore } from './emails/ports.ts'
import type { TokenExpiryStore } from './tokens/ports.ts'
import type { PasskeyStore } from './passkey-ports.ts'
import type { SecondFactorStore } from './second-factor/ports.ts'
import type {
  AccessTokenRecord,
  AccountState,
  EmailAddress,
  EmailRecord,
  NewAccessToken,
  NewSession,
  NewTokenValue,
  NewUser,
  SessionRecord,
  User,
  UserChanges,
  UserEmail,
  UserListing,
  Viewer,
  RememberedId,
} from './types.ts'

/** The credential is missing or invalid. The message never says which part was wrong. */
export const NotAuthenticated = defineFailure(
  'NotAuthenticated',
  'Unauthenticated',
  'The credential is missing, wrong or expired.',
)
/** The credential is genuine but may not be used in this way (impersonation refused, account disabled for it). */
export const NotPermitted = defineFailure('NotPermitted', 'Forbidden', 'The caller or the credential may not do this.')
/** The sudo target does not exist. */
export const SudoTargetMissing = defineFailure('SudoTargetMissing', 'NotFound', 'The user to act as does not exist.')
/** The sudo target is not a user. */
export const SudoTargetNoUser = defineFailure(
  'SudoTargetNoUser',
  'Unprocessable',
  'An organization cannot be acted as.',
)
/** The password is correct, and the account's second factor requires a current, unused code. */
export const OneTimeCodeRequired = defineFailure(
  'OneTimeCodeRequired',
  'Unauthenticated',
  'A one-time code must be sent in `X-OTP` beside the password.',
)
/** Too many attempts failed. The same request may be sent again later. */
export const TooManyAttempts = defineFailure(
  'TooManyAttempts',
  'Backoff',
  'There were too many failed attempts; try again after `Retry-After` seconds.',
)

/** A credential as the request carried it, distinguished by its carrier. */
export type Credential =
  | { readonly kind: 'token'; readonly token: Secret }
  | {
      readonly kind: 'password'
      readonly login: string
      readonly password: Secret
      readonly oneTimeCode: string | undefined
    }
  | { readonly kind: 'session'; readonly sessionKey: Secret }

/** Authenticates callers. Takes one query for a token or session; a password also costs a hash. */
export interface Authenticator {
  /**
   * `sudo` is the login of the user that a site admin wants to act for. With `loads`, the caller's profile is loaded in
   * the same query if a token authenticates the caller and no user is impersonated (see `profileOf`).
   * Failures: NotAuthenticated (unknown, expired, revoked, disabled account, locked), OneTimeCodeRequired, NotPermitted
   * (sudo refused), SudoTargetMissing and SudoTargetNoUser (both only for callers who may act as others),
   * TooManyAttempts. A one-time code is judged but not spent: see `spendCode`.
   */
  authenticate(
    credential: Credential,
    sudo: string | undefined,
    sourceIp: string,
    loads?: 'profile',
  ): Outcome<
    | ReturnType<typeof NotAuthenticated>
    | ReturnType<typeof OneTimeCodeRequired>
    | ReturnType<typeof NotPermitted>
    | ReturnType<typeof SudoTargetMissing>
    | ReturnType<typeof SudoTargetNoUser>
    | ReturnType<typeof TooManyAttempts>,
    Principal
  >
  /**
   * For a long-running request: checks that what a password proved for it still holds, with current rights. Counts no
   * attempt and spends no code; an unspent code remains unspent. Failures as above.
   */
  authenticateAgain(
    proven: Principal,
  ): Outcome<
    | ReturnType<typeof NotAuthenticated>
    | ReturnType<typeof NotPermitted>
    | ReturnType<typeof SudoTargetMissing>
    | ReturnType<typeof SudoTargetNoUser>,
    Principal
  >
  /**
   * Uses up the one-time code that came with a password, if any. It must be called once, before anything is done for a
   * caller. Returns the principal without the code.
   * Failure: OneTimeCodeRequired, if a concurrent request has used the code.
   */
  spendCode(proven: Principal, sourceIp: string): Outcome<ReturnType<typeof OneTimeCodeRequired>, Principal>
  /**
   * Returns the user of a live session, or undefined if there is none. Takes one query, and does not mark the session
   * as used.
   */
  userOfSession(sessionKey: Secret): Promise<UserId | undefined>
}
export const AuthenticatorPort = portKey<Authenticator>('identity.Authenticator')

/**
 * Slow, salted hashing of passwords, in turns: callers that wait get them one after the other, and callers without an
 * account count by their network. Both methods throw Busy if too much work of the caller waits.
 */
export interface PasswordHasher {
  /** Returns a PHC string of at most 255 ASCII characters. */
  hash(password: Secret): Promise<string>
  /**
   * Reports whether the password matches the hash. A malformed PHC string does not match.
   * @param named the account that a caller without one claims to be, or the name that was entered. All calls that name
   *   one account get together as many turns as one account.
   */
  verify(phc: string, password: Secret, named?: UserId | string): Promise<boolean>
  /** Reports whether the PHC string was made with parameters other than the current ones. */
  needsRehash(phc: string): boolean
  /** Returns a PHC string that belongs to no account, so that an unknown login costs as much as a known one. */
  dummyPhc(): Promise<string>
}
export const PasswordHasherPort = portKey<PasswordHasher>('identity.PasswordHasher')

/** The digests of tokens. */
export interface TokenDigest {
  /** A one-way digest of a random secret: SHA-256, 32 bytes. It must not be used for passwords. */
  digest(value: string): Uint8Array
  /** The CRC-32 (IEEE 802.3, as in zip) of ASCII text, in 0..2^32-1. It detects typos and protects nothing. */
  checksum(ascii: string): number
}
export const TokenDigestPort = portKey<TokenDigest>('identity.TokenDigest')

/** The value that a script must repeat in `X-Csrf-Token`. It is derived from the session's key only. */
export interface CsrfTokens {
  of(sessionKey: Secret): string
  /** Compares in constant time. */
  matches(sessionKey: Secret, presented: string): boolean
}
export const CsrfTokensPort = portKey<CsrfTokens>('identity.CsrfTokens')

/** A list of common passwords. */
export interface CommonPasswords {
  /** `password` must be in lower case. */
  includes(password: string): boolean
}
export const CommonPasswordsPort = portKey<CommonPasswords>('identity.CommonPasswords')

/** Internationalized domain names. */
export interface DomainNames {
  /** Returns the domain in ASCII (IDNA), lower case, or undefined if it is not a domain name. */
  toAscii(domain: string): string | undefined
  /** Returns the form that people read of a domain in ASCII. */
  toUnicode(domain: string): string
}
export const DomainNamesPort = portKey<DomainNames>('identity.DomainNames')

/** Work that must not delay a response. */
export interface Background {
  /**
   * Runs `work` after the current response, at most once. A throw is logged. The work is lost if the process ends
   * before.
   */
  run(what: string, work: () => Promise<void>): void
}
export const BackgroundPort = portKey<Background>('identity.Background')

/** The operator's settings for identity. */
export interface IdentitySettings {
  /** Returns `{base_url}` without a trailing slash. Call it at each use, since it may depend on the listener's port. */
  baseUrl(): string
  readonly sessionCookie: string
  readonly passwordMinLength: number
  readonly sessionIdleSeconds: number
  readonly sessionSeconds: number
  /** 0 if logins are not remembered. */
  readonly rememberSeconds: number
}
export const IdentitySettingsPort = portKey<IdentitySettings>('identity.Settings')

/** Another user or organization has this name. */
export const UserNameTaken = defineFailure(
  'UserNameTaken',
  'Unprocessable',
  'Another user or organization has this name.',
)
/** The address already belongs to an account. */
export const EmailTaken = defineFailure('EmailTaken', 'Unprocessable', 'Another account has this address.')
export const TokenNameTaken = defineFailure(
  'TokenNameTaken',
  'Unprocessable',
  'Another token of the account has this name.',
)

export interface PasswordRecord {
  readonly account: AccountState
  readonly phc: string
  /** Whether a second factor is enrolled: an authenticator app, or a passkey. */
  readonly hasSecondFactor: boolean
  /** The reference of the enrolled one: see `SecondFactorStore.enrolledRef`. */
  readonly secondFactorRef: string | undefined
  readonly lastLoginAt: Date | undefined
  /**
   * The user must sign in at an identity provider instead. Use it only after the password was correct, since it says
   * something about the account.
   */
  readonly isLocalSignInOff: boolean
}
export interface TokenGrant {
  readonly account: AccountState
  readonly tokenId: TokenId
  readonly scopeWords: readonly string[]
  readonly onlyOrgId: OrgId | undefined
  readonly onlyClusterId?: ClusterId
  readonly createdAt: Date
  readonly expiresAt: Date | undefined
  readonly lastUsedAt: Date | undefined
  /** Set by `tokenWithProfileByHash`. */
  readonly profile?: User
  readonly provenAt?: AccessMoment
}
export interface SessionGrant {
  readonly account: AccountState
  readonly sessionId: SessionId
  readonly lastSeenAt: Date
  readonly idleExpiresAt: Date
  readonly expiresAt: Date
  readonly proof: SessionProof | undefined
  readonly provenAt?: AccessMoment
}

/**
 * The reads of authentication. Each method is one prepared query over a unique key, or an answer from memory that is
 * proven to be what the query would return. The caller must check expiry.
 */
export interface CredentialStore {
  tokenByHash(hash: Uint8Array): Promise<TokenGrant | undefined>
  /** Like `tokenByHash`, with the user's profile: for routes that show it. */
  tokenWithProfileByHash(hash: Uint8Array): Promise<TokenGrant | undefined>
  sessionByHash(hash: Uint8Array): Promise<SessionGrant | undefined>
  /** `key` is a name or, if it contains `@`, a verified address, in lower case. Organizations have no password. */
  passwordByKey(key: string): Promise<PasswordRecord | undefined>
  /** Returns the kind of account with this name, and its state if it is a user, as of the moment if one is given. */
  accountByName(name: string, provenAt?: AccessMoment): Promise<AccountState | 'organization' | undefined>
  /**
   * Advances the marks of the token and of its owner's last login. They never move back, so late writers are harmless.
   */
  markTokenUsed(id: TokenId, ownerId: UserId, at: Date): Promise<void>
  /** Advances the mark of the last login. It never moves back. */
  markPasswordUsed(userId: UserId, at: Date): Promise<void>
  markSessionSeen(id: SessionId, at: Date, idleExpiresAt: Date): Promise<void>
}
export const CredentialStorePort = portKey<CredentialStore>('identity.CredentialStore')

/** Users. A read with a viewer omits the users whom the viewer may not see. */
export interface UserStore {
  byId(id: UserId): Promise<User | undefined>
  /** Returns the users that exist, in the order of `ids`: for the lists of other parts. At most 500. */
  byIds(ids: readonly UserId[]): Promise<readonly User[]>
  /** Compares without regard to case. Returns undefined for the names of organizations and robot accounts. */
  byLogin(login: string): Promise<User | undefined>
  /** Returns the kind of account with the name, without regard to case. */
  kindOfName(name: string): Promise<'user' | 'organization' | undefined>
  /**
   * Finds the users whose login followed by the full name starts with `text` (lower case), by login; then those with
   * `text` elsewhere in the login, at the start of a word of the full name or, if the viewer sees all, in an address,
   * in the order of the text that follows. `id` restricts the search to one user. At most 1,000 are found and counted.
   */
  search(viewer: Viewer, text: string, id: UserId | undefined, page: PageRequest): Promise<Page<User>>
  /**
   * Lists all users with `text` (lower case) where `search` looks, addresses included, by default in the order of
   * `search`. The total is exact up to 10,000.
   */
  list(text: string, page: PageRequest, listing?: UserListing): Promise<Page<User>>
  /** Returns the user who formerly had this name, as long as no other account has taken it. */
  byFormerLogin(login: string): Promise<User | undefined>
  /** Renames a user. The old name redirects to the user until another account takes it. Failures: UserNameTaken. */
  rename(user: User, to: string): Outcome<Failure<'UserNameTaken'>, void>
  /** Inserts account and user. Failures: UserNameTaken. A redirect from the name is deleted. */
  insert(user: NewUser): Outcome<Failure<'UserNameTaken'>, UserId>
  /** Locks the user's row until the transaction ends and returns the current state. Robot accounts are not found. */
  lock(id: UserId): Promise<User | undefined>
  /** Sets the given fields and the version. */
  update(id: UserId, changes: UserChanges): Promise<void>
  /** Returns the current hash; undefined if the user does not exist. */
  passwordPhc(id: UserId): Promise<string | undefined>
  /** Replaces the hash if it is still `expected` (unconditionally if undefined). Returns false if it is not. */
  replacePassword(id: UserId, phc: string, expected: string | undefined, mustChange: boolean): Promise<boolean>
  /** Stores the same password under other parameters, if the hash is still `expected`. */
  rehashPassword(id: UserId, phc: string, expected: string): Promise<void>
  markLoggedIn(id: UserId, at: Date): Promise<void>
  /** Locks the site admins who are active and may sign in, and returns their ids. */
  lockActiveAdmins(): Promise<readonly UserId[]>
  hasAdmin(): Promise<boolean>
  /** Deletes the account with its addresses, tokens, sessions and follow relations. */
  remove(id: UserId): Promise<void>
}

/** The objects that prevent the deletion of a user: one readable line each. */
export interface AccountHoldings {
  of(id: UserId): Promise<readonly string[]>
  /**
   * Like `of`, restricted to what no other account could take over: organizations without another active owner, and
   * objects of the types that keep their account, such as clusters. Locks the organizations' rows until the transaction
   * ends.
   */
  unattended(id: UserId): Promise<readonly string[]>
  /**
   * Removes the user from every organization that has another owner; locks the organizations' rows until the
   * transaction ends. Returns the names of the organizations left.
   */
  leaveOrganizations(id: UserId): Promise<readonly string[]>
  /**
   * Returns the organization with this name if the user is a member, with its name in its original spelling. The
   * membership is locked until the transaction ends.
   */
  organizationOf(id: UserId, name: string): Promise<{ readonly id: OrgId; readonly name: string } | undefined>
  /** Reports whether the user belongs to a client organization. */
  isClientOrgUser(id: UserId): Promise<boolean>
}

export interface EmailStore {
  /** Lists the primary address first, then the others in the order in which they were added. */
  list(userId: UserId): Promise<readonly EmailRecord[]>
  isTaken(key: string): Promise<boolean>
  /** Returns the user who has the address, verified or not. */
  ownerOf(key: string): Promise<UserId | undefined>
  /** Lists all users' addresses that contain `text` (lower case), sorted; those that start with it come first. */
  listAll(text: string, page: PageRequest): Promise<Page<UserEmail>>
  insert(
    userId: UserId,
    email: EmailAddress,
    verified: boolean,
    isPrimary: boolean,
    at: Date,
  ): Outcome<Failure<'EmailTaken'>, void>
  /** Deletes addresses of this user only; ids of other users' addresses are ignored. */
  remove(userId: UserId, ids: readonly number[]): Promise<void>
  makePrimary(userId: UserId, id: number): Promise<void>
  /**
   * Releases the address if it was added before `before` and is neither verified nor primary. Returns its former user.
   */
  releaseUnconfirmed(key: string, before: Date): Promise<UserId | undefined>
  /** Marks the user's address with this key as verified since `at`. Returns false if the user has no such address. */
  verify(userId: UserId, key: string, at: Date): Promise<boolean>
}

export interface FollowStore {
  /** Idempotent. Returns whether anything changed. */
  follow(userId: UserId, targetId: UserId, at: Date): Promise<boolean>
  unfollow(userId: UserId, targetId: UserId): Promise<boolean>
  isFollowing(userId: UserId, targetId: UserId): Promise<boolean>
  /** Lists the followers by login. */
  followers(viewer: Viewer, userId: UserId, page: PageRequest): Promise<Page<User>>
  following(viewer: Viewer, userId: UserId, page: PageRequest): Promise<Page<User>>
}

/** Access tokens. Each read and change is limited to one user. */
export interface AccessTokenStore {
  /** Lists tokens in the order of their creation. */
  list(userId: UserId, page: PageRequest): Promise<Page<AccessTokenRecord>>
  insert(record: NewAccessToken): Outcome<Failure<'TokenNameTaken'>, TokenId>
  /** Returns the token with exactly this name. */
  idOfName(userId: UserId, name: string): Promise<TokenId | undefined>
  /** Deletes a token and returns its name; undefined if the user has no such token. */
  remove(userId: UserId, id: TokenId): Promise<string | undefined>
  removeAll(userId: UserId): Promise<number>
  /** Removes the user's tokens that were made for an application. Returns their number. */
  removeOfApplication(userId: UserId, applicationId: number): Promise<number>
  /** Returns the token, its row locked until the transaction ends; undefined if the user has no such token. */
  lock(userId: UserId, id: TokenId): Promise<AccessTokenRecord | undefined>
  /** Replaces the token's value. The token then counts as never used, and its owner as never warned of its expiry. */
  replaceValue(userId: UserId, id: TokenId, value: NewTokenValue): Promise<void>
  /** Reports whether the token exists with the value that it was given at `createdAt`. */
  isInForce(userId: UserId, id: TokenId, createdAt: Date | undefined): Promise<boolean>
  /** Locks the row of the tokens' owner, a user or a robot account, until the transaction ends. */
  lockOwner(userId: UserId): Promise<void>
  /** Lists the tokens restricted to the cluster, in the order of their creation. */
  ofCluster(userId: UserId, clusterId: ClusterId): Promise<readonly AccessTokenRecord[]>
}

/**
 * Sessions. Each read and change is limited to one user. An expired session is kept while its remembered login is
 * valid, and ending a session also ends that login: a user sees and ends both as one.
 */
export interface SessionStore {
  /**
   * Lists the sessions that have not expired at `now`, or whose remembered login has not, newest first; at most 100.
   */
  list(userId: UserId, now: Date): Promise<readonly SessionRecord[]>
  insert(session: NewSession): Promise<SessionId>
  /** Removes the session with its remembered login and that login's other sessions. */
  remove(userId: UserId, id: SessionId): Promise<boolean>
  /**
   * Removes all sessions except `keep`, and all remembered logins, including that of `keep`: for changes of a sign-in
   * credential. Returns the number of sessions removed.
   */
  removeAll(userId: UserId, keep: SessionId | undefined): Promise<number>
  /** Removes all sessions except `keep`, which keeps its remembered login. Returns the number removed. */
  removeOthers(userId: UserId, keep: SessionId): Promise<number>
  /**
   * Removes expired sessions. Of the others keeps the newest `count`, and the remembered logins that have one of these.
   */
  trim(userId: UserId, count: number, now: Date): Promise<void>
  /** Removes the expired sessions of a remembered login, after a new one has replaced them. */
  removeOver(userId: UserId, rememberedId: RememberedId, now: Date): Promise<void>
  /**
   * For all users: removes some of the sessions whose absolute expiry, not only their idle expiry, was before `at`.
   * Returns the number removed, 0 when none is left. A remembered login is removed with its sessions once all of them
   * ended before `at`.
   */
  purge(at: Date): Promise<number>
}

/** Identity's stores: bound to the pool for reads, to one transaction for changes. */
export interface IdentityStores {
  readonly users: UserStore
  readonly emails: EmailStore
  readonly follows: FollowStore
  readonly tokens: AccessTokenStore
  readonly sessions: SessionStore
  readonly rememberedLogins: RememberedLoginStore
  readonly holdings: AccountHoldings
  readonly linkCodes: LinkCodeStore
  readonly tokenExpiry: TokenExpiryStore
  readonly secondFactors: SecondFactorStore
  readonly passkeys: PasskeyStore
  readonly siteRules: SiteRulesStore
  readonly avatars: AvatarStore
  readonly accountLife: AccountLifeStore
  readonly searchTerms: SearchTermStore
  readonly pageSizes: PageSizeStore
}

/** The stores that hold what authenticates a caller. */
export type ProvenStores = Pick<IdentityStores, 'users' | 'tokens' | 'sessions' | 'secondFactors'>
export type IdentityChanges = IdentityStores & { readonly audit: AuditTrail; readonly mail: MailOutbox }
export const IdentityStoresPort = portKey<IdentityStores>('identity.Stores')
export const IdentityUnitOfWorkPort = portKey<UnitOfWork<IdentityChanges>>('identity.UnitOfWork')

/** A judged account whose password is hashed. */
export interface PreparedUser {
  /**
   * Inserts the user with a primary address that counts as verified. Failures: UserNameTaken and EmailTaken, by the
   * unique keys.
   */
  insertIn(
    stores: Pick<IdentityChanges, 'audit' | 'emails' | 'mail' | 'users'>,
    now: Date,
  ): Outcome<Failure<'UserNameTaken'> | Failure<'EmailTaken'>, User>
}

/** Creates users in the transactions of other parts. */
export interface UserFounder {
  /**
   * Prepares a user without a known password. The user is notified by mail, unless `isExpected`, and requests one there.
   * Failures: the name or the address is not valid.
   */
  prepare(user: {
    readonly login: string
    readonly email: string
    readonly fullName?: string
    /** The user knows of the account: from the directory of the organization, or by signing in at a provider. */
    readonly isExpected?: boolean
  }): Outcome<Failure<'UserNameRefused'> | Failure<'EmailInvalid'>, PreparedUser>
}
export const UserFounderPort = portKey<UserFounder>('identity.UserFounder')
