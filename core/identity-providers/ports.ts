import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { OrgId, SessionId, UserId } from '../kernel/ids.ts'
import type { IdentityChanges } from '../identity/ports.ts'
import type { User } from '../identity/types.ts'
import type { OrganizationStores } from '../organizations/ports.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import { portKey } from '../kernel/port-key.ts'
import type { Secret } from '../kernel/secret.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type {
  DirectoryClient,
  DirectoryEntry,
  DirectoryPerson,
  DomainId,
  ExternalAccount,
  ExternalAccountId,
  ExternalIdentity,
  ExternalSession,
  LinkedAccount,
  OrganizationDomain,
  Provider,
  ProviderClient,
  ProviderContent,
  ProviderDescription,
  ProviderId,
  SignInAttempt,
} from './types.ts'

export const ProviderMissing = defineFailure('ProviderMissing', 'NotFound', 'The identity provider does not exist.')
export const ProviderNameTaken = defineFailure(
  'ProviderNameTaken',
  'Unprocessable',
  'Another identity provider has this name.',
)
/** The provider does not answer, or not as a provider does. Nothing is wrong with the person who signs in. */
export const ProviderUnavailable = defineFailure(
  'ProviderUnavailable',
  'BadGateway',
  'The identity provider does not answer, or its answer cannot be used.',
)
/** The provider's answer to a sign-in, or its logout token, is not accepted. */
export const ProviderAnswerRefused = defineFailure(
  'ProviderAnswerRefused',
  'Forbidden',
  'The identity provider refused the sign-in, or its answer is not valid.',
)
/** The provider does not renew access: it no longer lets the person in. */
export const AccessNotRenewed = defineFailure(
  'AccessNotRenewed',
  'Forbidden',
  'The identity provider no longer renews the access of the person.',
)
export const LogoutTokenRefused = defineFailure('LogoutTokenRefused', 'Invalid', 'The logout token is not valid.')

/** The parameters with which the provider sent the browser back. */
export interface SignInAnswer {
  readonly code: string | undefined
  readonly state: string
  readonly iss: string | undefined
  readonly error: string | undefined
}

/** What binds an answer to its request. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  /** The code verifier of PKCE (RFC 7636). */
  readonly verifier: string
}

/** What a logout token ends: a session of the provider, or all sessions of a person. */
export interface LogoutRequest {
  readonly issuer: string
  readonly subject: string | undefined
  readonly sid: string | undefined
  readonly tokenId: string
  readonly expiresAt: Date
}

type Away = Failure<'ProviderUnavailable'>

/**
 * The protocol OpenID Connect. Every request goes through the guard of requests to outside, since an owner of an
 * organization chooses the addresses.
 */
export interface OpenIdConnect {
  /** Reads the description of the provider again. Failure: ProviderUnavailable. */
  describe(client: ProviderClient, signal: AbortSignal): Outcome<Away, ProviderDescription>
  /** Returns new random values for one sign-in. */
  newSecrets(): SignInSecrets
  /** Returns the address at which the provider asks the person to sign in. Failure: ProviderUnavailable. */
  authorizationUrl(
    client: ProviderClient,
    request: SignInSecrets & { readonly redirectUri: string; readonly scopes: readonly string[] },
    signal: AbortSignal,
  ): Outcome<Away, string>
  /**
   * Exchanges the code of an answer and checks everything that it returns: issuer (RFC 9207 too), state, nonce,
   * signature with an asymmetric algorithm, audience, times. Failures: ProviderUnavailable, ProviderAnswerRefused.
   */
  identify(
    client: ProviderClient,
    answer: SignInAnswer,
    expected: SignInSecrets & { readonly redirectUri: string; readonly groupsClaim: string },
    signal: AbortSignal,
  ): Outcome<Away | Failure<'ProviderAnswerRefused'>, ExternalIdentity>
  /**
   * Renews access. `groups` is undefined if the answer has no ID token. Failures: AccessNotRenewed (`invalid_grant`
   * and nothing else), ProviderUnavailable.
   */
  renew(
    client: ProviderClient,
    held: { readonly refreshToken: Secret; readonly subject: string; readonly groupsClaim: string },
    signal: AbortSignal,
  ): Outcome<Away | Failure<'AccessNotRenewed'>, Renewal>
  /** Returns the address that ends the session at the provider; undefined if it has none. Never fails. */
  endSessionUrl(
    client: ProviderClient,
    request: { readonly idToken: Secret; readonly returnTo: string },
    signal: AbortSignal,
  ): Promise<string | undefined>
  /** Checks a logout token. Failures: ProviderUnavailable, LogoutTokenRefused. */
  readLogoutToken(
    client: ProviderClient,
    token: string,
    signal: AbortSignal,
  ): Outcome<Away | Failure<'LogoutTokenRefused'>, LogoutRequest>
}
export const OpenIdConnectPort = portKey<OpenIdConnect>('identityProviders.OpenIdConnect')

export interface Renewal {
  /** The token of the next renewal, where the provider replaces it. */
  readonly refreshToken: Secret | undefined
  readonly groups: readonly string[] | undefined
  readonly hasGroupsOverage: boolean
}

/** Who waits for a search in a directory, for the fair queue. */
export interface DirectoryCall {
  /** The address of the caller; undefined for the service itself. */
  readonly sourceIp: string | undefined
  readonly signal: AbortSignal
}

/**
 * Directories by LDAP. Every connection goes through the guard of connections to outside, since an owner of an
 * organization chooses the address. Referrals are not followed. Each call has a time limit, and what a server sends is
 * bounded. ProviderUnavailable says for the owner what is wrong; callers without rights must not see its text.
 */
export interface DirectorySearch {
  /** Returns what is wrong with a filter of people or groups. @param hasName whether it may have `%s`. */
  filterProblem(filter: string, hasName: boolean): string | undefined
  /** Looks whether at least one person is found. Failure: ProviderUnavailable. */
  check(of: DirectoryClient, call: DirectoryCall): Outcome<Away, void>
  /** Finds the only entry of a name; undefined if there is none or more than one. Failure: ProviderUnavailable. */
  find(of: DirectoryClient, login: string, call: DirectoryCall): Outcome<Away, DirectoryEntry | undefined>
  /**
   * Binds as the entry and reads it again. Undefined: the password is wrong, or the entry is no longer there. Without an
   * entry it binds with a name that does not exist, which takes as long. Failure: ProviderUnavailable.
   */
  authenticate(
    of: DirectoryClient,
    presented: { readonly entry: DirectoryEntry | undefined; readonly password: Secret },
    call: DirectoryCall,
  ): Outcome<Away, DirectoryPerson | undefined>
  /**
   * Reads the entries with these subjects. An entry that is left out is not there, or no longer one of a person.
   * Failure: ProviderUnavailable, also if the answer is not complete.
   */
  read(of: DirectoryClient, subjects: readonly string[], call: DirectoryCall): Outcome<Away, readonly DirectoryPerson[]>
}
export const DirectorySearchPort = portKey<DirectorySearch>('identityProviders.DirectorySearch')

/** Looks for the proof that a domain belongs to an organization. */
export interface DomainProofs {
  /**
   * Returns whether the DNS record `_moorage.<domain>` or the file `https://<domain>/.well-known/moorage-domain` has
   * the token; `unknown` if neither could be read.
   */
  find(domain: string, token: string, signal: AbortSignal): Promise<'present' | 'absent' | 'unknown'>
}
export const DomainProofsPort = portKey<DomainProofs>('identityProviders.DomainProofs')

/** The owner of a provider, a domain or a rule: an organization, or undefined for the site. */
export type ProviderOwner = OrgId | undefined

/** Identity providers. Each read and change but `active` is limited to one owner. */
export interface ProviderStore {
  /** Sorted by name. */
  list(owner: ProviderOwner, page: PageRequest): Promise<Page<Provider>>
  find(owner: ProviderOwner, id: ProviderId): Promise<Provider | undefined>
  findByName(owner: ProviderOwner, name: string): Promise<Provider | undefined>
  /** Returns a provider that people may sign in with, of any owner. */
  active(id: ProviderId): Promise<Provider | undefined>
  /** Returns the active providers of the organizations of a user, by organization and name; at most `limit`. */
  ofMember(userId: UserId, limit: number): Promise<readonly Provider[]>
  /** Returns the first active provider of the organization that has verified the domain. */
  ofDomain(domain: string): Promise<ProviderId | undefined>
  /** Returns the owner's number of providers, after locking the organization's row. */
  count(owner: ProviderOwner): Promise<number>
  insert(owner: ProviderOwner, content: ProviderContent, at: Date): Outcome<Failure<'ProviderNameTaken'>, ProviderId>
  /** Compare-and-set on the version. Right is false if the row does not exist or was changed. */
  replace(
    owner: ProviderOwner,
    id: ProviderId,
    version: number,
    content: ProviderContent,
    at: Date,
  ): Outcome<Failure<'ProviderNameTaken'>, boolean>
  /** Removes the provider with the links of its people and their marks of sessions. Accounts and sessions stay. */
  remove(owner: ProviderOwner, id: ProviderId): Promise<boolean>
  /** Counts the active providers by how the last request to them went, for the metrics. */
  states(): Promise<{ readonly working: number; readonly failing: number; readonly unused: number }>
  /** Returns at most `limit` active directories whose comparison is due, the longest due first. */
  dueDirectories(now: Date, limit: number): Promise<readonly Provider[]>
  /** Postpones a comparison that was due at `from`. Returns false if another instance took it. */
  claimCheck(id: ProviderId, from: Date, to: Date): Promise<boolean>
  /** Records a comparison that has ended. A confirmation is used up. */
  markCompared(id: ProviderId, withheldEnds: number, at: Date): Promise<void>
  /** Confirms the ends that were withheld, if they are still as many. The next comparison is due at once. */
  confirmEnds(owner: ProviderOwner, id: ProviderId, ends: number, at: Date): Promise<boolean>
  /** The oldest due comparison, and the ends that are withheld, for the metrics. */
  directoryState(): Promise<{ readonly oldestDue: Date | undefined; readonly withheldEnds: number }>
  /** Records how the last request to the provider went. It is a mark, not a change: the version stays. */
  mark(id: ProviderId, problem: string, at: Date): Promise<void>
}
export const ProviderStorePort = portKey<ProviderStore>('identityProviders.ProviderStore')

export interface NewExternalAccount extends Omit<
  ExternalAccount,
  'id' | 'sealedRefreshToken' | 'nextCheckAt' | 'endedAt'
> {}

/** The links between people of providers and users. */
export interface ExternalAccountStore {
  /** Returns the link, its row locked until the transaction ends. */
  lockBySubject(providerId: ProviderId, issuer: string, subject: string): Promise<ExternalAccount | undefined>
  lockById(id: ExternalAccountId): Promise<ExternalAccount | undefined>
  bySubject(providerId: ProviderId, issuer: string, subject: string): Promise<ExternalAccount | undefined>
  /** Returns the user's links, oldest first. There is at most one for each provider. */
  listOfUser(userId: UserId): Promise<readonly LinkedAccount[]>
  /** Returns undefined if the person, or the user at this provider, is linked already. */
  insert(account: NewExternalAccount): Promise<ExternalAccountId | undefined>
  remove(userId: UserId, id: ExternalAccountId): Promise<boolean>
  /** Records a sign-in: the access of the person is in force again. */
  signedIn(
    id: ExternalAccountId,
    given: {
      readonly at: Date
      readonly email: string
      readonly sealedRefreshToken: Uint8Array | undefined
      readonly nextCheckAt: Date | undefined
    },
  ): Promise<void>
  /** Returns at most `limit` links whose check is due, the longest due first. */
  due(now: Date, limit: number): Promise<readonly ExternalAccount[]>
  /** Postpones a check that was due at `from`. Returns false if another instance took it. */
  claim(id: ExternalAccountId, from: Date, to: Date): Promise<boolean>
  /** Replaces the refresh token, if it is still the one before. */
  replaceToken(id: ExternalAccountId, before: Uint8Array, after: Uint8Array): Promise<void>
  /** Records that the provider no longer lets the person in. */
  markEnded(id: ExternalAccountId, at: Date): Promise<void>
  /** Returns the links of a provider that are in force, by id, those after `after`. */
  inForce(providerId: ProviderId, after: number, limit: number): Promise<readonly ExternalAccount[]>
  /** Returns the oldest due check, for the metrics. */
  oldestDue(): Promise<Date | undefined>
}
export const ExternalAccountStorePort = portKey<ExternalAccountStore>('identityProviders.ExternalAccountStore')

/** Which sessions came from which sign-in at a provider. */
export interface ExternalSessionStore {
  insert(session: ExternalSession): Promise<void>
  find(sessionId: SessionId): Promise<ExternalSession | undefined>
  /** Returns the sessions of a person at a provider. */
  ofAccount(accountId: ExternalAccountId): Promise<readonly SessionId[]>
  /** Returns the sessions with this name, of every person of the provider. */
  ofSid(
    providerId: ProviderId,
    sid: string,
  ): Promise<readonly { readonly sessionId: SessionId; readonly userId: UserId }[]>
}
export const ExternalSessionStorePort = portKey<ExternalSessionStore>('identityProviders.ExternalSessionStore')

/** Sign-ins that are under way, and logout tokens that were used. */
export interface SignInAttemptStore {
  insert(attempt: SignInAttempt): Promise<void>
  /** Returns the attempt of this state that began in this browser. */
  find(stateHash: Uint8Array, browserHash: Uint8Array): Promise<SignInAttempt | undefined>
  /** Returns the newest attempt of the browser that awaits a one-time code. */
  awaitingCode(browserHash: Uint8Array, providerId: SignInAttempt['providerId']): Promise<SignInAttempt | undefined>
  /** Marks the attempt as used, if it is still in this stage. Returns true once. */
  use(stateHash: Uint8Array, stage: SignInAttempt['stage']): Promise<boolean>
  /** Records a logout token. Returns true once for each. */
  useLogoutToken(tokenHash: Uint8Array, expiresAt: Date): Promise<boolean>
  /** Removes at most 1,000 attempts and logout tokens that expired before `at`. Returns their number. */
  purge(at: Date): Promise<number>
}
export const SignInAttemptStorePort = portKey<SignInAttemptStore>('identityProviders.SignInAttemptStore')

/** Domains of organizations. */
export interface DomainStore {
  /** Sorted by name. */
  list(orgId: OrgId): Promise<readonly OrganizationDomain[]>
  find(orgId: OrgId, id: DomainId): Promise<OrganizationDomain | undefined>
  /** Returns false if the organization has the domain already. */
  insert(domain: Omit<OrganizationDomain, 'id' | 'verifiedAt' | 'checkedAt' | 'failingSince'>): Promise<boolean>
  remove(orgId: OrgId, id: DomainId): Promise<boolean>
  /** Marks the domain as verified. Returns false if another organization has it: a domain belongs to one at a time. */
  verify(id: DomainId, domain: string, at: Date): Promise<boolean>
  /** Records a check of a verified domain that did not find the proof. */
  markFailing(id: DomainId, since: Date, at: Date): Promise<void>
  /** The domain is no longer that of the organization. */
  unverify(id: DomainId, at: Date): Promise<void>
  /** Returns at most `limit` verified domains whose last check was before `at`. */
  toCheck(at: Date, limit: number): Promise<readonly OrganizationDomain[]>
  /** Reports whether the organization has verified the domain. */
  hasVerified(orgId: OrgId, domain: string): Promise<boolean>
}
export const DomainStorePort = portKey<DomainStore>('identityProviders.DomainStore')

/** The stores of a transaction that say whose an address is. */
export interface AddressStores {
  readonly identity: Pick<IdentityChanges, 'emails' | 'users'>
  readonly memberships: Pick<OrganizationStores['memberships'], 'find'>
  readonly domains: Pick<DomainStore, 'hasVerified'>
}

/** Members whom an organization may claim by an address: the one rule for providers and directories. */
export interface MembersByAddress {
  /**
   * Returns the member with the address, with the row locked; undefined unless the organization has verified the
   * domain, and the account has verified the address. Never a site admin.
   */
  find(stores: AddressStores, orgId: OrgId, email: string): Promise<User | undefined>
}
export const MembersByAddressPort = portKey<MembersByAddress>('identityProviders.MembersByAddress')

/** What decides whether a user may sign in with a password. */
export interface LocalSignInFacts {
  readonly isSiteOff: boolean
  /** The user is a member of an organization that has switched it off, and linked to a provider of it. */
  readonly isOrganizationOff: boolean
  /** A provider created the account, and no longer lets the person in. */
  readonly isEnded: boolean
  readonly isSiteAdmin: boolean
  /** The user can sign in at an active provider of the site. */
  readonly hasSiteLink: boolean
  /** Another site admin may sign in. */
  readonly hasOtherAdmin: boolean
}

/** Whether people sign in with passwords of this service: for the site, and for each organization. */
export interface LocalSignInStore {
  isOff(owner: ProviderOwner): Promise<boolean>
  /** Returns whether anything changed. */
  setOff(owner: ProviderOwner, isOff: boolean, at: Date): Promise<boolean>
}
export const LocalSignInStorePort = portKey<LocalSignInStore>('identityProviders.LocalSignInStore')

/** The stores of a change, bound to one transaction. */
export interface ProviderStores {
  readonly identity: IdentityChanges
  readonly organizations: Pick<OrganizationStores, 'audit' | 'memberships' | 'organizations' | 'teams'>
  readonly providers: ProviderStore
  readonly accounts: ExternalAccountStore
  readonly sessions: ExternalSessionStore
  readonly attempts: SignInAttemptStore
  readonly domains: DomainStore
  readonly localSignIn: LocalSignInStore
  readonly audit: IdentityChanges['audit']
}
export const ProviderUnitOfWorkPort = portKey<UnitOfWork<ProviderStores>>('identityProviders.UnitOfWork')

/** The operator's settings. */
export interface ProviderSettings {
  /** How often the service asks whether a provider still lets a person in. */
  readonly checkSeconds: number
  /** Whether organizations may have providers of their own. */
  readonly allowsOrganizations: boolean
  /** The share of a directory's people who may lose access by one comparison. */
  readonly endPercent: number
}
export const ProviderSettingsPort = portKey<ProviderSettings>('identityProviders.Settings')

/** Counts sign-ins and checks, for the metrics. */
export interface ProviderCounters {
  signIn(providerId: ProviderId | undefined, outcome: string): void
  check(outcome: 'renewed' | 'ended' | 'unavailable' | 'withheld'): void
}
export const ProviderCountersPort = portKey<ProviderCounters>('identityProviders.Tally')
