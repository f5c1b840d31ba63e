import type { AccountId, Brand, OrgId, SessionId, TokenId, UserId } from '../kernel/ids.ts'

export type ApplicationId = Brand<number, 'ApplicationId'>

/** The client id of the command line of this service at every server. */
export const commandLineClientId = 'moorage-command-line'

/** The account that owns an application: a user or an organization; undefined for the site. */
export type ApplicationOwner = AccountId | undefined

/** Where an application may send browsers and be told of sign-outs. */
export interface ApplicationAddresses {
  /** Compared exactly. The port of a loopback address of a public application is free. */
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris: readonly string[]
  /** Where the end of sessions is reported; empty for nowhere. */
  readonly backChannelLogoutUri: string
}

/** The digests of the secrets of an application: a rotation leaves the one before it valid for a while. */
export interface ApplicationSecrets {
  /** SHA-256, 32 bytes; undefined for a public application. */
  readonly secretHash: Uint8Array | undefined
  readonly formerSecretHash: Uint8Array | undefined
  readonly formerSecretUntil: Date | undefined
}

/** A program that signs people in here, or acts for them. */
export interface Application extends ApplicationSecrets {
  readonly id: ApplicationId
  readonly userId: UserId | undefined
  /** Set if an organization owns it: its tokens reach that organization only. */
  readonly orgId: OrgId | undefined
  readonly name: string
  /** The identifier of the protocol. It never changes. */
  readonly clientId: string
  /** It runs on a machine of its user, and can keep no secret. */
  readonly isPublic: boolean
  /** A site admin vouches for it: people are not asked for consent. */
  readonly isTrusted: boolean
  readonly addresses: ApplicationAddresses
  /** The robot account as which the application acts for itself; only one of an organization has one. */
  readonly robotId: UserId | undefined
  /** A PNG; undefined if there is none. */
  readonly logo: Uint8Array | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly version: number
}

export type ApplicationContent = Pick<Application, 'addresses' | 'isPublic' | 'logo' | 'name' | 'robotId'> &
  ApplicationSecrets

export type ConsentId = Brand<number, 'ConsentId'>

/** What a person has allowed an application. The wider interface calls it a grant. */
export interface Consent {
  readonly id: ConsentId
  readonly userId: UserId
  readonly applicationId: ApplicationId
  readonly scopes: readonly string[]
  /** How often the person was led to the application. */
  readonly counter: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A consent with the application that it is for. */
export interface ShownConsent extends Consent {
  readonly applicationName: string
  readonly logo: Uint8Array | undefined
}

/**
 * A record of the protocol: a code, a token, a grant, a session, a question that waits for a person. Its id is a secret
 * of its holder, so only a digest is stored, and its content is sealed.
 */
export interface ProtocolRecord {
  /** SHA-256 of the kind and the id, 32 bytes. */
  readonly idHash: Uint8Array
  readonly kind: string
  /** The digest of the grant that it belongs to. */
  readonly grantHash: Uint8Array | undefined
  /** The digest of another key by which it is found, such as the code that a person types. */
  readonly keyHash: Uint8Array | undefined
  readonly userId: UserId | undefined
  readonly applicationId: ApplicationId | undefined
  /** It ends with this session. */
  readonly sessionId: SessionId | undefined
  /** The access token that it stands for or depends on: without it, it is over. */
  readonly tokenId: TokenId | undefined
  readonly sealed: Uint8Array
  readonly consumedAt: Date | undefined
  readonly expiresAt: Date
}

/** A stored record, whether the token that it depends on exists, and whether its account, if any, is enabled. */
export interface FoundRecord extends ProtocolRecord {
  readonly hasToken: boolean
  readonly isOwnerEnabled: boolean
}

/** A generation of keys: the key that signs, and the one that protects cookies. */
export interface KeyGeneration {
  readonly generation: number
  readonly createdAt: Date
  readonly sealed: Uint8Array
}
