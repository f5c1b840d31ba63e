import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { ClusterId, OrgId, SessionId, TokenId, UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { MailOutbox } from '../kernel/mail.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Principal } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'
import type { AccountLifeStore, PageSizeStore, AvatarStore, SiteRulesStore } from './accounts/ports.ts'
import type { RememberedLoginStore } from './sessions/ports.ts'
import type { LinkCodeStore } from './emails/ports.ts'
import type { TokenExpiryStore } from './tokens/ports.ts'
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

/** No, or no valid, credential. The message never says which part was wrong. */
export const NotAuthenticated = defineFailure('NotAuthenticated', 'Unauthenticated')
/** The credential is genuine but may not be used so (impersonation refused, account disabled for it). */
export const NotPermitted = defineFailure('NotPermitted', 'Forbidden')
/** A site admin wants to act as a user who does not exist. */
export const SudoTargetMissing = defineFailure('SudoTargetMissing', 'NotFound')
/** A site admin wants to act as an account that is no user. */
export const SudoTargetNoUser = defineFailure('SudoTargetNoUser', 'Unprocessable')
/** The password is right, and the account's second factor wants a code that is current and unused. */
export const OneTimeCodeRequired = defineFailure('OneTimeCodeRequired', 'Unauthenticated')
/** The password check is saturated, or too many attempts failed; the same request may be sent again later. */
export const TooManyAttempts = defineFailure('TooManyAttempts', 'Backoff')

/** A credential as the request carried it, already told apart by its carrier. */
export type Credential =
  | { readonly kind: 'token'; readonly token: Secret }
  | { readonly kind: 'password'; readonly login: string; readonly password: Secret; readonly oneTimeCode: string | undefined }
  | { readonly kind: 'session'; readonly sessionKey: Secret }

/** Proves who calls. One query for a token or session; a password costs a hash as well. */
export interface Authenticator {
  /**
   * `sudo` is the login that a site admin wants to act as. With `loads`, the caller's profile comes along in the same
   * query where a token proves the caller and nobody is impersonated (see `profileOf`).
   * Failures: NotAuthenticated (unknown, expired, revoked, disabled account, locked), OneTimeCodeRequired, NotPermitted (sudo refused), SudoTargetMissing and
   * SudoTargetNoUser (both told to those only who may act as others), TooManyAttempts. A one-time code is judged and not
   * spent: see `spendCode`.
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
   * For a request that goes on: whether what a password proved for it still holds, with the rights of now. Spends no
   * attempt and no code; one that is unspent stays so. Failures as above.
   */
  proveAgain(
    proven: Principal,
  ): Outcome<
    | ReturnType<typeof NotAuthenticated>
    | ReturnType<typeof NotPermitted>
    | ReturnType<typeof SudoTargetMissing>
    | ReturnType<typeof SudoTargetNoUser>,
    Principal
  >
  /**
   * Uses up the one-time code that came with a password, if one did: to be asked once, before anything is done for a
   * caller. Answers the principal without it. Failure: OneTimeCodeRequired, where another request has used it meanwhile.
   */
  spendCode(proven: Principal, sourceIp: string): Outcome<ReturnType<typeof OneTimeCodeRequired>, Principal>
  /** Whose living session it is; undefined when it is none. One query, and no mark that it was used. */
  userOfSession(sessionKey: Secret): Promise<UserId | undefined>
}
export const AuthenticatorToken = token<Authenticator>('identity.Authenticator')

/** Slow, salted hashing of passwords, behind a bounded queue. */
export interface PasswordHasher {
  /** A PHC string of at most 255 ASCII characters. TooManyAttempts when the queue is full. */
  hash(password: Secret): Outcome<ReturnType<typeof TooManyAttempts>, string>
  /** Whether the password is the one that was hashed. A malformed PHC string is no match. TooManyAttempts when the queue is full. */
  verify(phc: string, password: Secret): Outcome<ReturnType<typeof TooManyAttempts>, boolean>
  /** Whether the PHC string was made with other parameters than today's. */
  needsRehash(phc: string): boolean
  /** A PHC string of a password that nobody has, so that an unknown login costs as much as a known one. */
  dummyPhc(): Promise<string>
}
export const PasswordHasherToken = token<PasswordHasher>('identity.PasswordHasher')

/** A one-way digest of a random secret: SHA-256, 32 bytes. Not for passwords. */
export interface TokenDigest {
  digest(value: string): Uint8Array
}
export const TokenDigestToken = token<TokenDigest>('identity.TokenDigest')

/** The value that a script must repeat in `X-Csrf-Token`, derived from the session's key and from nothing else. */
export interface CsrfTokens {
  of(sessionKey: Secret): string
  /** Compares in constant time. */
  matches(sessionKey: Secret, presented: string): boolean
}
export const CsrfTokensToken = token<CsrfTokens>('identity.CsrfTokens')

/** Passwords that many people chose. */
export interface CommonPasswords {
  /** `password` in lower case. */
  includes(password: string): boolean
}
export const CommonPasswordsToken = token<CommonPasswords>('identity.CommonPasswords')

/** Internationalized domain names. */
export interface DomainNames {
  /** The domain in ASCII (IDNA), lower case; undefined when it is no domain name. */
  toAscii(domain: string): string | undefined
}
export const DomainNamesToken = token<DomainNames>('identity.DomainNames')

/** Work that must not delay an answer. */
export interface Background {
  /** Runs `work` after the current answer, at most once; a throw is logged. Lost when the process ends before. */
  run(what: string, work: () => Promise<void>): void
}
export const BackgroundToken = token<Background>('identity.Background')

/** What an operator decides about identity. */
export interface IdentitySettings {
  /** `{base_url}` without a trailing slash; asked for at each use, since it may follow the listener's port. */
  baseUrl(): string
  readonly sessionCookie: string
  readonly passwordMinLength: number
  readonly sessionIdleSeconds: number
  readonly sessionSeconds: number
  /** 0 where logins are not remembered. */
  readonly rememberSeconds: number
}
export const IdentitySettingsToken = token<IdentitySettings>('identity.Settings')

/** Another user or organization has this name. */
export const UserNameTaken = defineFailure('UserNameTaken', 'Unprocessable')
/** The address belongs to an account already. */
export const EmailTaken = defineFailure('EmailTaken', 'Unprocessable')
export const TokenNameTaken = defineFailure('TokenNameTaken', 'Unprocessable')

export interface PasswordRecord {
  readonly account: AccountState
  readonly phc: string
  /** A second factor is enrolled. */
  readonly hasSecondFactor: boolean
  /** The enrolled one's reference. */
  readonly secondFactorRef: string | undefined
  readonly lastLoginAt: Date | undefined
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
}
export interface SessionGrant {
  readonly account: AccountState
  readonly sessionId: SessionId
  readonly lastSeenAt: Date
  readonly idleExpiresAt: Date
  readonly expiresAt: Date
}

/** What authentication reads: each method is one prepared query over a unique key. Expiry is the caller's to judge. */
export interface CredentialStore {
  tokenByHash(hash: Uint8Array): Promise<TokenGrant | undefined>
  /** As `tokenByHash`, with the user's profile: for routes that show it. */
  tokenWithProfileByHash(hash: Uint8Array): Promise<TokenGrant | undefined>
  sessionByHash(hash: Uint8Array): Promise<SessionGrant | undefined>
  /** `key` is a name or, with an `@`, a verified address, in lower case. Organizations have no password. */
  passwordByKey(key: string): Promise<PasswordRecord | undefined>
  /** The kind of account that has this name, and its state when it is a user. */
  accountByName(name: string): Promise<AccountState | 'organization' | undefined>
  /** Moves the marks of the token and of its owner's last login forward only, so that late writers do no harm. */
  markTokenUsed(id: TokenId, ownerId: UserId, at: Date): Promise<void>
  /** Moves the mark of the last login forward only. */
  markPasswordUsed(userId: UserId, at: Date): Promise<void>
  markSessionSeen(id: SessionId, at: Date, idleExpiresAt: Date): Promise<void>
}
export const CredentialStoreToken = token<CredentialStore>('identity.CredentialStore')

/** Users. Each read that takes a viewer leaves out whom the viewer may not see. */
export interface UserStore {
  byId(id: UserId): Promise<User | undefined>
  /** Those that exist, in the order of `ids`: for the lists of other parts. At most 500. */
  byIds(ids: readonly UserId[]): Promise<readonly User[]>
  /** Without regard to case. Undefined for an organization's name, and for a robot account's. */
  byLogin(login: string): Promise<User | undefined>
  /** What kind of account has the name, without regard to case. */
  kindOfName(name: string): Promise<'user' | 'organization' | undefined>
  /**
   * Those whose login and full name start with `text` (lower case), by login; then those who have it elsewhere in the
   * login, at the start of a word of the full name or, where the viewer sees all, in an address, in the order of what
   * follows there. `id` narrows to one user. At most 1,000 are found and counted, whatever the text.
   */
  search(viewer: Viewer, text: string, id: UserId | undefined, page: PageRequest): Promise<Page<User>>
  /** All users who have `text` (lower case) in the places of `search`, addresses included; in its order unless told. The total is exact up to 10,000. */
  list(text: string, page: PageRequest, listing?: UserListing): Promise<Page<User>>
  /** The user who was renamed away from this name, while nobody else has taken it. */
  byFormerLogin(login: string): Promise<User | undefined>
  /** Gives a user another name; the old one leads to it until somebody takes it. Failures: UserNameTaken. */
  rename(user: User, to: string): Outcome<Failure<'UserNameTaken'>, void>
  /** Inserts account and user. Failures: UserNameTaken. An old name that led elsewhere leads there no more. */
  insert(user: NewUser): Outcome<Failure<'UserNameTaken'>, UserId>
  /** Locks the user's row until the transaction ends; answers the current state. Robot accounts are no users to change. */
  lock(id: UserId): Promise<User | undefined>
  /** Changes what is given and the version. */
  update(id: UserId, changes: UserChanges): Promise<void>
  /** The hash now in force; undefined when there is no such user. */
  passwordPhc(id: UserId): Promise<string | undefined>
  /** Replaces the hash when it is still `expected` (any, when undefined). False when it is not. */
  replacePassword(id: UserId, phc: string, expected: string | undefined, mustChange: boolean): Promise<boolean>
  /** The same password under other parameters, when the hash is still `expected`. */
  rehashPassword(id: UserId, phc: string, expected: string): Promise<void>
  markLoggedIn(id: UserId, at: Date): Promise<void>
  /** Locks and counts the site admins who are active and may sign in. */
  lockActiveAdmins(): Promise<readonly UserId[]>
  hasAdmin(): Promise<boolean>
  /** Removes the account with its addresses, tokens, sessions and follow relations. */
  remove(id: UserId): Promise<void>
}

/** What others hold of a user, so that the account cannot go: one line each for people to read. */
export interface AccountHoldings {
  of(id: UserId): Promise<readonly string[]>
  /**
   * As `of`, of what nobody else could take care of: organizations without another active owner, and clusters. Holds
   * the organizations' rows until the transaction ends.
   */
  unattended(id: UserId): Promise<readonly string[]>
  /**
   * Takes the user out of every organization in which somebody else is an owner too; holds the organizations' rows
   * until the transaction ends. Answers the names of those that were left.
   */
  leaveOrganizations(id: UserId): Promise<readonly string[]>
  /**
   * The organization of this name, if the user is a member of it, with its name as it is written; the membership is held
   * until the transaction ends.
   */
  organizationOf(id: UserId, name: string): Promise<{ readonly id: OrgId; readonly name: string } | undefined>
  /** Whether the user belongs to a client organization. */
  isClientOrgUser(id: UserId): Promise<boolean>
}

export interface EmailStore {
  /** Primary first, then in the order of adding. */
  list(userId: UserId): Promise<readonly EmailRecord[]>
  isTaken(key: string): Promise<boolean>
  /** Who has the address, whether it is verified or not. */
  ownerOf(key: string): Promise<UserId | undefined>
  /** All users' addresses that hold `text` (lower case), in their order; those that start with it come first. */
  listAll(text: string, page: PageRequest): Promise<Page<UserEmail>>
  insert(userId: UserId, email: EmailAddress, verified: boolean, isPrimary: boolean, at: Date): Outcome<Failure<'EmailTaken'>, void>
  /** Of this user only; the ids of other users' addresses are passed over. */
  remove(userId: UserId, ids: readonly number[]): Promise<void>
  makePrimary(userId: UserId, id: number): Promise<void>
  /** Takes the address from whoever added it before `before`, unless it is verified or primary; answers from whom. */
  releaseUnconfirmed(key: string, before: Date): Promise<UserId | undefined>
  /** The user's address with this key counts as verified since `at`. False when the user has no such address. */
  verify(userId: UserId, key: string, at: Date): Promise<boolean>
}

export interface FollowStore {
  /** No change when it is so already. Answers whether something changed. */
  follow(userId: UserId, targetId: UserId, at: Date): Promise<boolean>
  unfollow(userId: UserId, targetId: UserId): Promise<boolean>
  isFollowing(userId: UserId, targetId: UserId): Promise<boolean>
  /** By login. */
  followers(viewer: Viewer, userId: UserId, page: PageRequest): Promise<Page<User>>
  following(viewer: Viewer, userId: UserId, page: PageRequest): Promise<Page<User>>
}

/** Access tokens, each read and change within one user. */
export interface AccessTokenStore {
  /** In the order of making. */
  list(userId: UserId, page: PageRequest): Promise<Page<AccessTokenRecord>>
  insert(record: NewAccessToken): Outcome<Failure<'TokenNameTaken'>, TokenId>
  /** The token of this name, in this spelling. */
  idOfName(userId: UserId, name: string): Promise<TokenId | undefined>
  /** The name of the token that went; undefined when the user has no such token. */
  remove(userId: UserId, id: TokenId): Promise<string | undefined>
  removeAll(userId: UserId): Promise<number>
  /** The token, its row held until the transaction ends; undefined when the user has no such token. */
  lock(userId: UserId, id: TokenId): Promise<AccessTokenRecord | undefined>
  /** Puts a value in the place of the former one; the token counts as never used, and its owner as never warned of its end. */
  replaceValue(userId: UserId, id: TokenId, value: NewTokenValue): Promise<void>
  /** Whether the token is there with the value that it was given at `createdAt`. */
  isInForce(userId: UserId, id: TokenId, createdAt: Date | undefined): Promise<boolean>
  /** Holds the row of the tokens' owner, a person or a robot account, until the transaction ends. */
  lockOwner(userId: UserId): Promise<void>
  /** Those that are confined to the cluster, in the order of making. */
  ofCluster(userId: UserId, clusterId: ClusterId): Promise<readonly AccessTokenRecord[]>
}

/**
 * Sessions, each read and change within one user. A session that is over stays for as long as its remembered login
 * lives, and whatever ends a session ends that login as well: a user sees and ends both as one thing.
 */
export interface SessionStore {
  /** Those that have not expired at `now`, or whose remembered login has not, newest first; at most 100. */
  list(userId: UserId, now: Date): Promise<readonly SessionRecord[]>
  insert(session: NewSession): Promise<SessionId>
  /** With its remembered login and that one's other sessions. */
  remove(userId: UserId, id: SessionId): Promise<boolean>
  /** All but `keep`, and all remembered logins, that of `keep` too: for whatever changes what signs in. Answers how many sessions. */
  removeAll(userId: UserId, keep: SessionId | undefined): Promise<number>
  /** All but `keep`, which keeps its remembered login; answers how many. */
  removeOthers(userId: UserId, keep: SessionId): Promise<number>
  /** Removes what is over. Of the rest keeps the newest `count`, and the remembered logins that have one of these. */
  trim(userId: UserId, count: number, now: Date): Promise<void>
  /** Removes the sessions of a remembered login that are over, when a new one has taken their place. */
  removeOver(userId: UserId, rememberedId: RememberedId, now: Date): Promise<void>
  /**
   * Of all users: removes some of what ended before `at`, in any case and not only for want of use; answers how many,
   * 0 when nothing is left. A remembered login goes with its sessions when all of them ended before `at` too.
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
  readonly siteRules: SiteRulesStore
  readonly avatars: AvatarStore
  readonly accountLife: AccountLifeStore
  readonly pageSizes: PageSizeStore
}
export type IdentityChanges = IdentityStores & { readonly audit: AuditTrail; readonly mail: MailOutbox }
export const IdentityStoresToken = token<IdentityStores>('identity.Stores')
export const IdentityUnitOfWorkToken = token<UnitOfWork<IdentityChanges>>('identity.UnitOfWork')
