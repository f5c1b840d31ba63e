import type { AccessContext, EntryRules } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { AccountId, TokenId, UserId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'

/** The dashboard systems: A is Grafana, B is Perses. */
export type Dashboard = 'dashA' | 'dashB'

/** A field of a request contradicts another, or is not valid. The message does not repeat what was sent. */
export const MetricsRefused = defineFailure(
  'MetricsRefused',
  'Unprocessable',
  'A field of the registration is missing, contradicts another one, or is not valid.',
)
/** No dashboard system of this kind is configured. */
export const DashboardOff = defineFailure(
  'DashboardOff',
  'Unavailable',
  'The installation has no dashboard system of this kind, or no metrics proxy.',
)
/** The dashboard system, or the cluster of the metrics proxy, did not carry out the change. It can be repeated. */
export const DashboardFailed = defineFailure(
  'DashboardFailed',
  'Upstream',
  'The dashboard system or the metrics proxy did not answer in time, or not as it should.',
)
/** Another request changes the same registration. */
export const RegistrationBusy = defineFailure(
  'RegistrationBusy',
  'Conflict',
  'Another request changes the same registration and has not ended.',
)
/** The identifier in the path does not have the form `uid.clusterid[.projectid]`. */
export const IdentifierRefused = defineFailure(
  'IdentifierRefused',
  'Invalid',
  'The identifier is not of the form uid.clusterid[.projectid].',
)
/** The identifier names an account that does not exist, or a cluster that the account does not have. */
export const TenantMissing = defineFailure('TenantMissing', 'NotFound', 'The owner or the cluster does not exist.')
/** The caller is not a member of the organization that owns the cluster. */
export const NotOfTenant = defineFailure(
  'NotOfTenant',
  'Unauthenticated',
  'The caller is not a member of the organization that owns the cluster.',
)

/** Where the metrics of a cluster are read. Texts are not trimmed; secrets are PEM, tokens or passwords. */
export interface MetricsConfig {
  readonly url: string
  readonly basicAuth: { readonly username: string; readonly password: string } | undefined
  readonly bearerToken: string | undefined
  readonly tls:
    | {
        readonly ca: string
        readonly cert: string
        readonly key: string
        readonly serverName: string
        readonly insecureSkipTLSVerify: boolean
      }
    | undefined
}

/** A cluster record, and what the caller holds in the account that owns it. */
export interface ClusterOfCaller {
  readonly uid: string
  readonly name: string
  readonly endpoint: string
  readonly hubClusterUid: string
  readonly isClientOrganization: boolean
  readonly context: AccessContext
}

/** What the hook knows of an identifier and its caller. */
export interface TenantFacts {
  readonly ownerName: string
  readonly isClientOrganization: boolean
  /** Undefined if the account has no such cluster. */
  readonly clusterName: string | undefined
  /** The caller is a member, or the account is the caller's own. */
  readonly isMember: boolean
  readonly entry: EntryRules | undefined
}

/** Reads who owns clusters. Nothing is cached: an answer is of the moment of the call. */
export interface TenantDirectory {
  /** Returns what the identifier names, in one query; undefined if the account does not exist. */
  find(ownerId: AccountId, clusterUid: string, caller: UserId): Promise<TenantFacts | undefined>
  /**
   * Returns the cluster's records in the accounts of which the caller is a member, and in the caller's own. One query.
   */
  ofCaller(clusterUid: string, caller: UserId): Promise<readonly ClusterOfCaller[]>
  /** Reports whether the account has the cluster. */
  has(ownerId: AccountId, clusterUid: string): Promise<boolean>
}
export const TenantDirectoryPort = portKey<TenantDirectory>('metrics-proxy.TenantDirectory')

/** The names under which a registration is at a dashboard system. */
export interface Placement {
  readonly datasource: string
  /** The folder at dashboard A. */
  readonly folderId: number
  /** The project and the folder at dashboard B. */
  readonly projectName: string
  readonly folderName: string
  /** Names the token for the API of the dashboard system that was issued last; empty if none was. */
  readonly issuedToken: string
}

export interface ProxyTokenRef {
  readonly id: TokenId
  readonly userId: UserId
}

/** A registration at one dashboard system. */
export interface Registered {
  /** False if a change has begun and is not known to have ended. */
  readonly isReady: boolean
  /** Undefined before the first change has ended. */
  readonly placement: Placement | undefined
  /** The tokens with which the datasource asks the proxy: one, or more after a change that did not end. */
  readonly proxyTokens: readonly ProxyTokenRef[]
}

/** The registration of the metrics of one cluster, or of one project of it, at the dashboard systems. */
export interface Registration {
  readonly id: number
  /** What `sealedContents` is bound to, beside the tenant. */
  readonly ref: string
  /** The identifier. It begins with the tenant. */
  readonly backend: string
  readonly ownerId: AccountId
  readonly tenantId: AccountId
  readonly clusterUid: string
  /** What was registered, as JSON text, by dashboard system. */
  readonly sealedContents: Uint8Array
  readonly dashboards: Readonly<Partial<Record<Dashboard, Registered>>>
  /** Until then, one request alone changes the registration. */
  readonly leasedUntil: Date | undefined
  readonly version: number
}

export type NewRegistration = Omit<Registration, 'id' | 'version'>
export type RegistrationChange = Pick<Registration, 'ref' | 'sealedContents' | 'dashboards' | 'leasedUntil'>

/** Registrations, by their backend. */
export interface RegistrationStore {
  /**
   * Returns the registration, and whether the token of its datasource at one dashboard system is in force: it exists,
   * has not expired at `at`, and its user is a member of the tenant. One query.
   */
  find(
    backend: string,
    dashboard: Dashboard,
    at: Date,
  ): Promise<{ readonly registration: Registration; readonly hasToken: boolean } | undefined>
  /** Returns the id; undefined if the backend is already registered. */
  insert(registration: NewRegistration, at: Date): Promise<number | undefined>
  /** Compare-and-set on the version, which it increments. Returns false if the row does not exist or was changed. */
  change(id: number, version: number, change: RegistrationChange, at: Date): Promise<boolean>
  /** Compare-and-set, as `change`. */
  remove(id: number, version: number): Promise<boolean>
}
export const RegistrationStorePort = portKey<RegistrationStore>('metrics-proxy.RegistrationStore')

export interface RegistrationStores {
  readonly registrations: RegistrationStore
  readonly audit: AuditTrail
}
export const RegistrationUnitOfWorkPort = portKey<UnitOfWork<RegistrationStores>>('metrics-proxy.UnitOfWork')

/** What a dashboard system is asked to have. */
export interface WantedDatasource {
  readonly backend: string
  /** Stable name of the tenant: `user.<id>`. */
  readonly tenantName: string
  /** The name of the cluster, with the project if there is one: a title for people. */
  readonly title: string
  /** Address of the backend at the metrics proxy. */
  readonly url: string
  /** With it the datasource asks the proxy. */
  readonly proxyToken: Secret
  readonly isDefault: boolean
  /** Also issue a token for the API of the dashboard system, and withdraw the one with that reference. */
  readonly issuesToken: boolean
  readonly formerToken: string
}

export interface PlacedDatasource {
  readonly placement: Placement
  /** A new token for the API of the dashboard system; undefined if none was requested, or the system has none. */
  readonly token: Secret | undefined
}

/** A dashboard system. Every method may be repeated, also after one that failed half-way. */
export interface DashboardSystem {
  /** The address of the dashboard system for its clients. */
  readonly url: string
  /** Makes or changes the datasource with what it needs: at most one exists for a backend. */
  put(wanted: WantedDatasource, signal: AbortSignal): Outcome<Failure<'DashboardFailed'>, PlacedDatasource>
  /** Removes the datasource, and what nothing else uses. What is missing counts as removed. */
  remove(
    removed: Pick<WantedDatasource, 'backend' | 'tenantName' | 'formerToken'>,
    signal: AbortSignal,
  ): Outcome<Failure<'DashboardFailed'>, void>
}
/** Those that are configured. */
export type DashboardSystems = Readonly<Partial<Record<Dashboard, DashboardSystem>>>
export const DashboardSystemsPort = portKey<DashboardSystems>('metrics-proxy.DashboardSystems')

/** Where the metrics proxy learns its backends. Every method may be repeated. */
export interface MetricsBackends {
  put(backend: string, metrics: MetricsConfig, signal: AbortSignal): Outcome<Failure<'DashboardFailed'>, void>
  /** What is missing counts as removed. */
  remove(backend: string, signal: AbortSignal): Outcome<Failure<'DashboardFailed'>, void>
}
export const MetricsBackendsPort = portKey<MetricsBackends>('metrics-proxy.MetricsBackends')

/** Judges addresses that the metrics proxy is to read for a user. */
export interface MetricsTargets {
  /** Returns why the address must not be read, for its author, or undefined. Names are resolved. */
  refusal(url: URL): Promise<string | undefined>
}
export const MetricsTargetsPort = portKey<MetricsTargets>('metrics-proxy.MetricsTargets')

/** Access tokens with which datasources ask the proxy, as the user who registers. */
export interface ProxyTokens {
  /**
   * Makes a token of the caller that can only read, confined to the account if it is an organization. It grants no
   * more, and lives no longer, than the credential of the call; and no longer than the organization accepts.
   */
  issue(
    call: SignedInCall<never>,
    account: Pick<AccessContext, 'accountId' | 'accountName' | 'accountKind' | 'entry'>,
    name: string,
  ): Outcome<Failure<'MetricsRefused'>, { readonly ref: ProxyTokenRef; readonly value: Secret }>
  /** Deletes tokens; those that are gone count as deleted. */
  revoke(call: SignedInCall<never>, tokens: readonly ProxyTokenRef[]): Promise<void>
}
export const ProxyTokensPort = portKey<ProxyTokens>('metrics-proxy.ProxyTokens')

/** The address of the metrics proxy, without a trailing slash; undefined if there is none. */
export interface MetricsSettings {
  readonly proxyUrl: string | undefined
}
export const MetricsSettingsPort = portKey<MetricsSettings>('metrics-proxy.Settings')
