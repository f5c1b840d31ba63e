import type { AccessTokenStore, EmailStore, SessionStore, UserStore } from '../identity/ports.ts'
import type { MountedExchange } from '../kernel/exchange.ts'
import type { AccountId, ClusterId, OrgId, SessionId, UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AccessMoment } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { TeamNames } from './claims.ts'
import type { WorkloadStore } from './workloads/ports.ts'
import type {
  Application,
  ApplicationContent,
  ApplicationId,
  ApplicationOwner,
  ApplicationSecrets,
  Consent,
  FoundRecord,
  KeyGeneration,
  ProtocolRecord,
  ShownConsent,
} from './types.ts'

/** An application with the owner that it is inserted for. */
export interface NewApplication extends ApplicationContent {
  readonly owner: Pick<Application, 'orgId' | 'userId'>
  readonly clientId: string
  readonly createdAt: Date
}

/** Applications. Each read and change by an owner is limited to that owner. */
export interface ApplicationStore {
  /** Sorted by id. */
  list(owner: ApplicationOwner, page: PageRequest): Promise<Page<Application>>
  find(owner: ApplicationOwner, id: ApplicationId): Promise<Application | undefined>
  /** Finds an application of any owner. */
  byId(id: ApplicationId): Promise<Application | undefined>
  byClientId(clientId: string): Promise<Application | undefined>
  /** Returns the number of applications of an owner, whose row is locked until the transaction ends. */
  count(owner: ApplicationOwner): Promise<number>
  /** Returns undefined if an application has the client id. */
  insert(application: NewApplication): Promise<ApplicationId | undefined>
  /** Returns false if the application is gone or has another version. */
  replace(application: Application, content: ApplicationContent, at: Date): Promise<boolean>
  /** Returns false if the application is gone or has another version. */
  replaceSecrets(application: Application, secrets: ApplicationSecrets, at: Date): Promise<boolean>
  setTrusted(id: ApplicationId, isTrusted: boolean, at: Date): Promise<void>
  /** Removes it with its consents and records. Access tokens are removed before. */
  remove(id: ApplicationId): Promise<boolean>
}
export const ApplicationStorePort = portKey<ApplicationStore>('authorizationServer.ApplicationStore')

/** What people have allowed applications. */
export interface ConsentStore {
  /** Lists those of a user, newest first. */
  list(userId: UserId, page: PageRequest): Promise<Page<ShownConsent>>
  find(userId: UserId, applicationId: ApplicationId): Promise<Consent | undefined>
  /** Stores the scopes and counts. The user's row is locked. */
  save(userId: UserId, applicationId: ApplicationId, scopes: readonly string[], at: Date): Promise<void>
  remove(userId: UserId, applicationId: ApplicationId): Promise<boolean>
}
export const ConsentStorePort = portKey<ConsentStore>('authorizationServer.ConsentStore')

/** A record as its removal needs it. */
export type RecordKey = Pick<ProtocolRecord, 'idHash' | 'tokenId' | 'userId'>

/** The records of the protocol. */
export interface RecordStore {
  find(idHash: Uint8Array): Promise<FoundRecord | undefined>
  findByKey(keyHash: Uint8Array): Promise<FoundRecord | undefined>
  /** As `find`; the record is locked until the transaction ends. */
  lock(idHash: Uint8Array): Promise<FoundRecord | undefined>
  /** Inserts the record, or replaces the one with its id. What was consumed stays so. */
  save(record: Omit<ProtocolRecord, 'consumedAt'>): Promise<void>
  /** Inserts a record with a new random id. */
  insert(record: Omit<ProtocolRecord, 'consumedAt'>): Promise<void>
  /** Marks the record as used, once: one conditional update. Returns false if it was used already, or is gone. */
  consume(idHash: Uint8Array, at: Date): Promise<boolean>
  remove(idHash: Uint8Array): Promise<void>
  /** Returns at most 500 records of a grant. */
  ofGrant(grantHash: Uint8Array): Promise<readonly RecordKey[]>
  /** Returns at most 500 records of an application, of one user if given. */
  ofApplication(applicationId: ApplicationId, userId: UserId | undefined): Promise<readonly RecordKey[]>
  /** Returns at most `limit` records that expired before `at`, the oldest first. */
  expired(at: Date, limit: number): Promise<readonly RecordKey[]>
}
export const RecordStorePort = portKey<RecordStore>('authorizationServer.RecordStore')

/** A sign-in at an application that has a back-channel logout URI, in a session. */
export interface NewSignIn {
  readonly applicationId: ApplicationId
  readonly userId: UserId
  readonly sessionId: SessionId
  /** By which the application knows it: the claim `sid`. */
  readonly sid: string
  readonly at: Date
}

/** A sign-in whose session has ended, and whose report is not sent yet. */
export interface EndedSignIn {
  readonly id: number
  readonly userId: UserId
  readonly clientId: string
  readonly sid: string
  /** How often it was reported in vain. */
  readonly attempts: number
}

/**
 * The sign-ins at applications that get a report of their end. With the deletion of a session, whatever deletes it, its
 * sign-ins are due in the same transaction.
 */
export interface SignInStore {
  /** Does nothing if the application knows the `sid` already. */
  add(signIn: NewSignIn): Promise<void>
  /** Ends a sign-in whose session has not ended; its report is due at `dueAt`. */
  end(clientId: string, sid: string, dueAt: Date): Promise<void>
  /** Removes a sign-in whose end was reported. */
  removeReported(clientId: string, sid: string): Promise<void>
  /** Returns some applications with reports that are due. */
  dueApplications(at: Date, limit: number): Promise<readonly ApplicationId[]>
  /** Returns ended sign-ins whose reports are due, the oldest first. */
  due(applicationId: ApplicationId, at: Date, limit: number): Promise<readonly EndedSignIn[]>
  /** Puts all reports to an application off that are due at `at`, and counts the attempt. */
  postpone(applicationId: ApplicationId, at: Date, until: Date): Promise<void>
  remove(id: number): Promise<void>
}
export const SignInStorePort = portKey<SignInStore>('authorizationServer.SignInStore')

/** The generations of keys. */
export interface KeyStore {
  /** Newest first. */
  list(): Promise<readonly KeyGeneration[]>
  /** Returns false if another process has made the generation. */
  insert(generation: KeyGeneration): Promise<boolean>
  remove(generation: number): Promise<void>
}
export const KeyStorePort = portKey<KeyStore>('authorizationServer.KeyStore')

/** The teams of a person. */
export interface TeamDirectory {
  /** Returns at most `limit` teams of all organizations. */
  teamsOf(userId: UserId, limit: number): Promise<readonly TeamNames[]>
  /** Returns the name of an account. */
  nameOf(id: AccountId): Promise<string | undefined>
}
export const TeamDirectoryPort = portKey<TeamDirectory>('authorizationServer.TeamDirectory')

/** Returns the address of the API: the resource that all tokens are for. */
export type ApiUrl = () => string
export const ApiUrlPort = portKey<ApiUrl>('authorizationServer.ApiUrl')

/** Clusters as the resources of tokens. */
export interface ClusterDirectory {
  /** Returns undefined if there is no such cluster, or if the user does not belong to the account that owns it. */
  clusterOf(
    userId: UserId,
    cluster: { readonly owner: string; readonly cluster: string },
  ): Promise<ClusterId | undefined>
}
export const ClusterDirectoryPort = portKey<ClusterDirectory>('authorizationServer.ClusterDirectory')

/** The stores of the changes of this part. */
export interface AuthorizationServerStores {
  readonly applications: ApplicationStore
  readonly consents: ConsentStore
  readonly records: RecordStore
  readonly workloads: WorkloadStore
  readonly tokens: AccessTokenStore
  readonly sessions: SessionStore
  readonly users: UserStore
  readonly audit: AuditTrail
}
export const AuthorizationServerUnitOfWorkPort = portKey<UnitOfWork<AuthorizationServerStores>>(
  'authorizationServer.UnitOfWork',
)

/** Reads of accounts that the protocol needs outside of transactions. */
export interface AccountReads {
  readonly users: Pick<UserStore, 'byId'>
  readonly emails: Pick<EmailStore, 'list'>
  readonly sessions: Pick<SessionStore, 'list'>
}
export const AccountReadsPort = portKey<AccountReads>('authorizationServer.AccountReads')

/** The person whose session a request of a browser carries. */
export interface SessionCaller {
  readonly userId: UserId
  readonly sessionId: SessionId
}

/** A request of an application that waits for a person. */
export interface PendingAuthorization {
  readonly clientId: string
  /** As asked for; some may not exist. */
  readonly scopes: readonly string[]
  /** The addresses of the resources that the tokens are for; empty for all that the scopes reach. */
  readonly resources: readonly string[]
  /** The sign-in must be newer than this; undefined if any session will do. */
  readonly signedInAfter: Date | undefined
  /** The application demands that the person is asked, also if they have allowed it before. */
  readonly demandsConsent: boolean
}

/** A program on another device that waits for a person (RFC 8628). */
export interface PendingDevice extends PendingAuthorization {
  /** Where the request came from, and the program as it names itself. */
  readonly sourceIp: string
  readonly userAgent: string
  readonly startedAt: Date
}

export interface AcceptedAuthorization extends SessionCaller {
  readonly signedInAt: Date
  readonly scopes: readonly string[]
  /** Those of them that are scopes of the API. */
  readonly apiScopes: readonly string[]
  readonly resources: readonly string[]
}

/** The protocol: OAuth 2.1 and OpenID Connect. */
export interface AuthorizationProtocol {
  /** Answers a request below the issuer, or of its metadata. */
  handle(exchange: MountedExchange): Promise<void>
  pending(id: string): Promise<PendingAuthorization | undefined>
  /** Records the answer of a person. Returns where the browser continues; undefined if the request is over. */
  accept(id: string, accepted: AcceptedAuthorization): Promise<string | undefined>
  refuse(id: string): Promise<string | undefined>
  /** Finds what waits by the code that a person typed. */
  pendingDevice(userCode: string): Promise<PendingDevice | undefined>
  /** Returns false if the code was answered at the same moment, or is over. */
  acceptDevice(userCode: string, accepted: AcceptedAuthorization): Promise<boolean>
  refuseDevice(userCode: string): Promise<boolean>
  /** Tells an application that a sign-in has ended. Returns false if it did not take the report. */
  reportSignOut(signIn: Pick<EndedSignIn, 'clientId' | 'sid' | 'userId'>): Promise<boolean>
}
export const AuthorizationProtocolPort = portKey<AuthorizationProtocol>('authorizationServer.Protocol')

/** The paths that the protocol answers, from the root of the host. */
export const ProtocolRootsPort = portKey<readonly string[]>('authorizationServer.ProtocolRoots')

/** A record with its content. */
export interface OpenedRecord {
  readonly content: FreeObject
  readonly userId: UserId | undefined
}

/** The records of the protocol, with their content. */
export interface ProtocolRecords {
  /**
   * Stores a record. `caller`: the person whose browser makes the request. Returns `no-cluster` for a token that is
   * confined to a cluster which its account cannot name.
   */
  save(
    kind: string,
    id: string,
    content: FreeObject,
    seconds: number,
    caller: SessionCaller | undefined,
  ): Promise<'no-cluster' | 'saved'>
  /** Returns undefined if there is none, or if the access that it depends on has ended. */
  find(kind: string, id: string, caller: SessionCaller | undefined): Promise<OpenedRecord | undefined>
  findByKey(kind: string, key: string): Promise<OpenedRecord | undefined>
  /** Uses a record up. Returns false if it was used already: then everything of its grant has ended. */
  consume(kind: string, id: string): Promise<boolean>
  remove(kind: string, id: string): Promise<void>
  /** Ends a grant, with all that was issued for it. */
  revokeGrant(grantId: string): Promise<void>
}
export const ProtocolRecordsPort = portKey<ProtocolRecords>('authorizationServer.ProtocolRecords')

/** Which secret of an application was presented: the one before the last rotation is valid for a day. */
export type PresentedSecret = 'current' | 'former' | 'none'

/** The claims of a person, and the organizations that they name. */
export interface PersonClaims {
  readonly claims: Readonly<Record<string, string | boolean | readonly string[]>>
  readonly organizations: readonly OrgId[]
}

/** What a person allowed an application, as the protocol needs it. */
export interface ProtocolDirectory {
  application(clientId: string): Promise<Application | undefined>
  /** Compares a secret with those of the application. */
  secretOf(clientId: string, presented: string): Promise<PresentedSecret>
  /** Returns the claims of a person for an application; undefined if the person may not sign in. */
  claims(subject: string, clientId: string, scopes: readonly string[]): Promise<PersonClaims | undefined>
  isActive(subject: string): Promise<boolean>
}
export const ProtocolDirectoryPort = portKey<ProtocolDirectory>('authorizationServer.ProtocolDirectory')

/** The keys in use: the first signs, all are published. */
export interface KeysInUse {
  readonly jwks: readonly FreeObject[]
  readonly cookieKeys: readonly string[]
  /** Changes with the keys. */
  readonly revision: string
}

export interface ProtocolKeys {
  /** Returns the keys; makes the first ones. They are read again after a minute. */
  current(): Promise<KeysInUse>
}
export const ProtocolKeysPort = portKey<ProtocolKeys>('authorizationServer.ProtocolKeys')

/** An answer of the protocol to a request that changes nothing. */
export interface KeptAnswer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly until: Date
}

/** Answers that are given again to the same request while nothing has changed that decides them. */
export interface KeptAnswers {
  /** Returns a moment after the call; undefined if nothing may be kept now. */
  moment(): Promise<AccessMoment | undefined>
  /** Returns the answer if nothing about its accounts has changed since its moment. */
  recall(key: string, moment: AccessMoment): KeptAnswer | undefined
  /** `moment`: before the answer was made. `accounts`: all on whose rows it depends. */
  keep(key: string, moment: AccessMoment, answer: KeptAnswer, accounts: readonly AccountId[]): void
}
export const KeptAnswersPort = portKey<KeptAnswers>('authorizationServer.KeptAnswers')

/** Makes keys. */
export interface KeyFactory {
  /** Returns a new private key for signatures, as a JWK with its id. */
  make(): Promise<Secret<FreeObject>>
}
export const KeyFactoryPort = portKey<KeyFactory>('authorizationServer.KeyFactory')

/** Counts what the protocol did, for metrics. */
export interface ProtocolCounters {
  request(endpoint: string, outcome: string): void
}
export const ProtocolCountersPort = portKey<ProtocolCounters>('authorizationServer.Counters')

/** The prefix of the names of the access tokens that are made for applications. */
export const applicationTokenName = (id: ApplicationId, token: string): string => `application-${id}-${token}`
