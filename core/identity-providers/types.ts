import type { Brand, OrgId, SessionId, TeamId, UserId } from '../kernel/ids.ts'
import type { Secret } from '../kernel/secret.ts'

export type ProviderId = Brand<number, 'ProviderId'>
export type ExternalAccountId = Brand<number, 'ExternalAccountId'>
export type DomainId = Brand<number, 'DomainId'>

/** Members of a group at the provider are put into a team. */
export interface GroupRule {
  /** The value in the claim, compared by its characters: `/platform/admins`. */
  readonly group: string
  readonly teamId: TeamId
}

/** The protocol of a provider: OpenID Connect, or LDAP. It never changes. */
export type ProviderKind = 'oidc' | 'ldap'

/** The attributes by which directories name an entry for ever, also after it is renamed. */
export type EntryIdAttribute = 'entryUUID' | 'objectGUID' | 'nsUniqueId'

/** What an owner decides about a directory. DNs and filters have the forms of RFC 4514 and RFC 4515. */
export interface DirectoryOptions {
  /** Whether a connection to `ldap://` is encrypted before anything is sent. `ldaps://` is encrypted from the start. */
  readonly usesStartTls: boolean
  /** Certificates of authorities, in PEM; empty for those of the system. */
  readonly authorities: string
  readonly userBase: string
  /** Which entries are people. `%s` stands for the name that a person enters; without it, the login is compared. */
  readonly userFilter: string
  readonly idAttribute: EntryIdAttribute
  readonly loginAttribute: string
  readonly mailAttribute: string
  readonly nameAttribute: string
  /** Empty if `nameAttribute` has the whole name. */
  readonly surnameAttribute: string
  /** Whether only administrators of the directory write its addresses. */
  readonly trustsMail: boolean
  /** Where groups are; empty if they are not searched for. */
  readonly groupBase: string
  readonly groupFilter: string
  /** The attribute of a group with the DNs of its members; `memberUid` has their logins. */
  readonly memberAttribute: string
  /** How members of a group that is in another group are found: by searches, or by a matching rule of Active Directory. */
  readonly nestedGroups: 'none' | 'search' | 'in-chain'
  /** The number of entries that one search asks for. */
  readonly pageSize: number
}

/** What an owner decides about a provider. */
export interface ProviderOptions {
  /** The scopes that are asked for, in addition to `openid`. */
  readonly scopes: readonly string[]
  /** Whether the first sign-in of a person creates an account. */
  readonly allowsCreation: boolean
  /** Whether a sign-in may be linked to a member of the organization with an address of a verified domain. */
  readonly linksVerifiedDomains: boolean
  /**
   * The path of the groups in the claims, keys separated by dots: `groups`, `realm_access.roles`; empty for none. Of a
   * directory: the attribute of a person with the DNs of groups, `memberOf`.
   */
  readonly groupsClaim: string
  readonly groupRules: readonly GroupRule[]
  /** The team of every person who signs in; undefined for none. */
  readonly defaultTeamId: TeamId | undefined
}

/** An identity provider of the site or of one organization. */
export interface Provider {
  readonly id: ProviderId
  readonly kind: ProviderKind
  /** Undefined for a provider of the site. */
  readonly orgId: OrgId | undefined
  /** Unique in the organization, or in the site: lower case. */
  readonly name: string
  /** What the button of the sign-in page says. */
  readonly displayName: string
  readonly isActive: boolean
  /** Compared by its characters with the `iss` of tokens. Of a directory: its address. */
  readonly issuer: string
  /** Of a directory: the DN with which this service searches; empty for anonymous searches. */
  readonly clientId: string
  /** What the sealed secret is bound to. */
  readonly ref: string
  /** Undefined for a public client, which has none. */
  readonly sealedSecret: Uint8Array | undefined
  readonly options: ProviderOptions
  /** Undefined unless it is a directory. */
  readonly directory: DirectoryOptions | undefined
  readonly createdAt: Date
  /** When the provider last described itself as it should; undefined before. */
  readonly discoveredAt: Date | undefined
  /** Why the last request to the provider failed; empty if it did not. */
  readonly lastProblem: string
  /** When the accounts of a directory were last compared with it; undefined before, and for other kinds. */
  readonly comparedAt: Date | undefined
  /** How many people would have lost access by the last comparison, which stopped since they were too many. */
  readonly withheldEnds: number
  /** How many ends of access an administrator has confirmed for the next comparison. */
  readonly confirmedEnds: number
  readonly nextCheckAt: Date | undefined
  readonly version: number
}

export type ProviderContent = Pick<
  Provider,
  | 'kind'
  | 'name'
  | 'displayName'
  | 'isActive'
  | 'issuer'
  | 'clientId'
  | 'ref'
  | 'sealedSecret'
  | 'options'
  | 'directory'
>

/** The client as which this service is known at a provider. */
export interface ProviderClient {
  readonly providerId: ProviderId
  readonly version: number
  readonly issuer: string
  readonly clientId: string
  readonly secret: Secret | undefined
}

/** A directory as this service searches it. */
export interface DirectoryClient {
  readonly address: string
  /** Empty for anonymous searches. */
  readonly bindDn: string
  readonly secret: Secret | undefined
  /** The attribute of a person with the DNs of groups; empty for none. */
  readonly groupsAttribute: string
  readonly options: DirectoryOptions
}

/** An entry of a person in a directory. */
export interface DirectoryEntry {
  readonly dn: string
  /** The text of its `EntryIdAttribute`, in lower case. */
  readonly subject: string
}

/** What a directory says of a person. */
export interface DirectoryPerson extends DirectoryEntry {
  readonly login: string
  readonly email: string
  readonly fullName: string
  /** An administrator of the directory has locked the entry. A lock after wrong passwords does not count. */
  readonly isDisabled: boolean
  /** The DNs of the groups; undefined if there are too many, or if the directory shows no groups at all. */
  readonly groups: readonly string[] | undefined
}

/** A person of a provider, who is a user here. The key is provider, issuer and subject, never an address. */
export interface ExternalAccount {
  readonly id: ExternalAccountId
  readonly providerId: ProviderId
  readonly issuer: string
  readonly subject: string
  readonly userId: UserId
  /** The account was created by the first sign-in, so the person has no other way to sign in. */
  readonly isCreated: boolean
  /** As the provider last said; empty if it did not. */
  readonly email: string
  readonly createdAt: Date
  readonly signedInAt: Date
  readonly ref: string
  /** By it the service asks whether the provider still knows the person. */
  readonly sealedRefreshToken: Uint8Array | undefined
  readonly nextCheckAt: Date | undefined
  /** Since when the provider no longer lets the person in; undefined while it does. */
  readonly endedAt: Date | undefined
}

/** An external account with what its list shows. */
export interface LinkedAccount {
  readonly account: ExternalAccount
  readonly provider: Pick<Provider, 'name' | 'displayName' | 'isActive' | 'orgId' | 'kind'>
}

/** The session of an external sign-in. */
export interface ExternalSession {
  readonly sessionId: SessionId
  readonly accountId: ExternalAccountId
  /** The provider's own name of its session; empty if it has none. */
  readonly sid: string
  readonly ref: string
  /** Names the session when the user signs out at the provider. */
  readonly sealedIdToken: Uint8Array
}

export type AttemptStage = 'begun' | 'code' | 'used'

/** A sign-in that began and is not complete. It is used once, by the browser in which it began. */
export interface SignInAttempt {
  /** SHA-256 of the state, 32 bytes. */
  readonly stateHash: Uint8Array
  /** SHA-256 of the value of the cookie, 32 bytes. */
  readonly browserHash: Uint8Array
  readonly providerId: ProviderId
  readonly stage: AttemptStage
  /** The user who links an account or, in stage `code`, whose one-time code is awaited. */
  readonly userId: UserId | undefined
  readonly isLink: boolean
  readonly ref: string
  readonly sealed: Uint8Array
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** What a provider said of a person, after every check of its answer. */
export interface ExternalIdentity {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  /** `email_verified` is the boolean true; any other value is not. */
  readonly isEmailVerified: boolean
  readonly preferredName: string
  readonly fullName: string
  /** Undefined if the provider left them out: they are then unknown, which is not the same as none. */
  readonly groups: readonly string[] | undefined
  /** Whether the provider says that there are too many groups for a token. */
  readonly hasGroupsOverage: boolean
  readonly sid: string
  readonly idToken: Secret
  readonly refreshToken: Secret | undefined
}

/** A domain of an organization. */
export interface OrganizationDomain {
  readonly id: DomainId
  readonly orgId: OrgId
  /** ASCII, lower case. */
  readonly domain: string
  /** What the organization publishes to prove that the domain is its own. It is no secret. */
  readonly token: string
  readonly verifiedAt: Date | undefined
  readonly checkedAt: Date | undefined
  /** Since when the proof is missing at a domain that was verified. */
  readonly failingSince: Date | undefined
  readonly createdAt: Date
}

/** How a provider describes itself. */
export interface ProviderDescription {
  readonly issuer: string
  readonly hasEndSession: boolean
  readonly hasBackChannelLogout: boolean
  readonly scopes: readonly string[]
}

/** Returns where the proof of a domain is published, and what it says. Either place is enough. */
export const domainProof = ({ domain, token }: Pick<OrganizationDomain, 'domain' | 'token'>) => ({
  /** The name of a TXT record. */
  recordName: `_moorage.${domain}`,
  fileUrl: `https://${domain}/.well-known/moorage-domain`,
  text: `moorage-domain=${token}`,
})
