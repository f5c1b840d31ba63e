import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { AccessDenied } from '../authz/ports.ts'
import { ClusterMissing } from '../clusters/ports.ts'
import type { EntryRefusal } from '../kernel/access.ts'
import { entryRefusal, reaches } from '../kernel/access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Principal, SignedInCall } from '../kernel/principal.ts'
import { subjectOf } from '../kernel/rights.ts'
import type { ClusterOfCaller, MetricsConfig, TenantDirectory } from './ports.ts'
import { IdentifierRefused, MetricsRefused, NotOfTenant, TenantMissing } from './ports.ts'

/** What an identifier names. */
export interface TenantIdentifier {
  readonly ownerId: AccountId
  readonly clusterUid: string
  /** Undefined for the whole cluster. */
  readonly projectId: string | undefined
}

/** Datasource names of dashboard B have at most 75 characters and ignore case. */
const projectForm = /^[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?$/
const projectRule = '1 to 20 lower-case letters, digits and "-", a letter or digit first and last'
/** @internal */
export const isProjectId = (text: string): boolean => projectForm.test(text)

const ownerForm = /^[1-9][0-9]{0,15}$/

/** Returns the account of an id in decimal digits; undefined for any other text. */
const accountIdOf = (text: string | undefined): AccountId | undefined => {
  const id = text !== undefined && ownerForm.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(id) ? (id as AccountId) : undefined
}

/** Returns the identifier, which is also the name of a backend: `7.<uid>` or `7.<uid>.<project>`. */
export const identifierText = ({ ownerId, clusterUid, projectId }: TenantIdentifier): string =>
  projectId === undefined ? `${ownerId}.${clusterUid}` : `${ownerId}.${clusterUid}.${projectId}`

/**
 * Reads an identifier in its one spelling: a proxy names the tenant's backend by the same text. Failure:
 * IdentifierRefused.
 *
 * @internal
 */
export const parseIdentifier = (text: string): Either<Failure<'IdentifierRefused'>, TenantIdentifier> => {
  const [owner, cluster = '', projectId, ...rest] = text.split('.')
  const ownerId = accountIdOf(owner)
  const isProject = projectId === undefined || isProjectId(projectId)
  if (ownerId === undefined || uuidOf(cluster) !== cluster || !isProject || rest.length > 0)
    return left(
      IdentifierRefused('The identifier must be <owner id>.<cluster UID> or <owner id>.<cluster UID>.<project id>.'),
    )
  return right({ ownerId, clusterUid: cluster, projectId })
}

/** Returns the name of a tenant for proxies and dashboard systems. Renaming the account does not change it. */
export const tenantName = (tenantId: AccountId): string => `user.${tenantId}`

/** The answer of the hook. */
export interface TenantOfRequest {
  readonly owner: string
  readonly clusterName: string
  readonly tenantID: string
  readonly isClientOrganization: boolean
}

export type TenantFailure =
  | Failure<'IdentifierRefused' | 'TenantMissing' | 'NotOfTenant' | 'AccessDenied'>
  | EntryRefusal

/**
 * Decides whether the caller may read the metrics of the cluster that an identifier names. Takes one query, and nothing
 * is remembered: a member who was removed is refused from the next request on. Site admins have no special rights here.
 */
export const makeFindTenant =
  ({ tenants, clock }: { readonly tenants: Pick<TenantDirectory, 'find'>; readonly clock: Clock }) =>
  async ({ principal }: SignedInCall, identifier: string): Outcome<TenantFailure, TenantOfRequest> => {
    const parsed = parseIdentifier(identifier)
    if (isLeft(parsed)) return parsed
    const { ownerId, clusterUid } = parsed.right
    const found = await tenants.find(ownerId, clusterUid, principal.userId)
    if (found === undefined) return left(TenantMissing('The owner does not exist.'))
    // Whether the owner has the cluster is for members only.
    if (isElsewhere(principal, ownerId))
      return left(AccessDenied('A token for public objects, or for another organization, does not read its metrics.'))
    if (!found.isMember) return left(NotOfTenant('You are not a member of the organization that owns the cluster.'))
    const barred = entryRefusal(principal, found.entry, clock.now())
    if (barred !== undefined && !principal.isSiteAdmin) return left(barred)
    if (found.clusterName === undefined) return left(TenantMissing('The organization does not have the cluster.'))
    return right({
      owner: found.ownerName,
      clusterName: found.clusterName,
      tenantID: tenantName(ownerId),
      isClientOrganization: found.isClientOrganization,
    })
  }

const isElsewhere = ({ scopes, onlyOrgId }: Principal, ownerId: AccountId): boolean =>
  scopes.publicOnly || (onlyOrgId !== undefined && onlyOrgId !== ownerId)

/** The fields of a request that name what is registered. */
export interface MetricsContext {
  readonly hubUID: string
  readonly clusterUID: string
  readonly projectId: string
  readonly default: boolean
  readonly issueToken: boolean
  readonly clientOrgID: string
}

/** What a request is about. */
export interface Subject {
  /** The record in the account of the caller. */
  readonly cluster: ClusterOfCaller
  /** The record in the account whose metrics they are: the same, or that of a client organization. */
  readonly tenant: ClusterOfCaller
  readonly identifier: TenantIdentifier
}

export type SubjectFailure = Failure<'MetricsRefused' | 'ClusterMissing' | 'AccessDenied'> | EntryRefusal

/** Reports whether the caller administers the account, as far as the credential reaches. */
const administers = (principal: Principal, { context }: ClusterOfCaller): boolean => {
  const subject = subjectOf(principal, context)
  return subject.context.isMember && reaches(subject.context.level, 'admin')
}

interface ChosenRecords {
  readonly cluster: ClusterOfCaller
  readonly tenant: ClusterOfCaller
}

const choose = (
  mine: readonly ClusterOfCaller[],
  org: string | undefined,
  clientOrgId: AccountId | undefined,
): Either<SubjectFailure, ChosenRecords> => {
  const client = mine.find(({ context }) => context.accountId === clientOrgId)
  if (clientOrgId !== undefined && client?.isClientOrganization !== true)
    return left(ClusterMissing('The client organization does not exist, does not have the cluster, or is not yours.'))
  const named = mine.filter(
    (each) => each !== client && (org === undefined || each.context.accountName.toLowerCase() === org.toLowerCase()),
  )
  // The record of a client organization is meant where it is named, or where there is no other.
  const providers = named.filter((each) => !each.isClientOrganization)
  const [cluster, another] = providers.length > 0 ? providers : named
  if (another !== undefined)
    return left(
      MetricsRefused(
        'Several accounts that you administer have the cluster: name one in the query parameter "org", or send a ' +
          'token that is confined to one organization.',
      ),
    )
  if (cluster === undefined)
    return client === undefined
      ? left(ClusterMissing('The account does not have the cluster.'))
      : right({ cluster: client, tenant: client })
  return right({ cluster, tenant: client ?? cluster })
}

/**
 * Finds the record that a request is about, among those of the accounts that the caller administers. Takes one query;
 * more only to explain a refusal, and to find a hub that the record does not name.
 * Failures: ClusterMissing (the hub or client organization is not one of the caller's), AccessDenied (no account that
 * the caller administers has the cluster; whether others have it is not disclosed), MetricsRefused, EntryRefusal.
 */
export const makeFindSubject =
  ({ tenants, clock }: { readonly tenants: TenantDirectory; readonly clock: Clock }) =>
  async (
    { principal }: SignedInCall<never>,
    sent: MetricsContext,
    org: string | undefined,
  ): Outcome<SubjectFailure, Subject> => {
    const fields = parseContext(sent)
    if (isLeft(fields)) return fields
    const { clusterUid, clientOrgId, hubUid, projectId } = fields.right
    const all = await tenants.ofCaller(clusterUid, principal.userId)
    const mine = all.filter((each) => administers(principal, each))
    if (mine.length === 0) return left(AccessDenied('No account that you administer has the cluster.'))
    const chosen = choose(mine, org, clientOrgId)
    if (isLeft(chosen)) return chosen
    const { cluster, tenant } = chosen.right
    for (const { context } of new Set([cluster, tenant])) {
      const barred = entryRefusal(principal, context.entry, clock.now())
      if (barred !== undefined && !principal.isSiteAdmin) return left(barred)
    }
    const isItsHub = hubUid === undefined || hubUid === cluster.hubClusterUid || hubUid === cluster.uid
    if (!isItsHub && (cluster.hubClusterUid !== '' || !(await tenants.has(cluster.context.accountId, hubUid))))
      return left(ClusterMissing('The hub does not exist, or does not manage the cluster.'))
    return right({ cluster, tenant, identifier: { ownerId: tenant.context.accountId, clusterUid, projectId } })
  }

const parseContext = (sent: MetricsContext) => {
  const clusterUid = uuidOf(sent.clusterUID)
  const hubUid = sent.hubUID === '' ? undefined : uuidOf(sent.hubUID)
  const clientOrgId = sent.clientOrgID === '' ? undefined : accountIdOf(sent.clientOrgID)
  // The default datasource of a cluster is that of no project.
  const projectId = sent.default || sent.projectId === '' ? undefined : sent.projectId
  const problems = [
    ...(clusterUid === undefined ? ['clusterUID must be the UID of a cluster.'] : []),
    ...(sent.hubUID !== '' && hubUid === undefined ? ['hubUID must be the UID of a cluster.'] : []),
    ...(sent.clientOrgID !== '' && clientOrgId === undefined
      ? ['clientOrgID must be the id of an organization, in decimal digits.']
      : []),
    ...(sent.projectId !== '' && !isProjectId(sent.projectId) ? [`projectId must be ${projectRule}.`] : []),
  ]
  return clusterUid === undefined || problems.length > 0
    ? left(MetricsRefused(problems.join(' '), { errors: problems }))
    : right({ clusterUid, hubUid, clientOrgId, projectId })
}

/** A service of the cluster, which its API server passes requests to. Empty texts are absent. */
export interface SentService {
  readonly scheme: string
  readonly name: string
  readonly namespace: string
  readonly port: string
  readonly path: string
  readonly query: string
}

/** Where metrics are read, as a request describes it: by a URL or by a service. */
export interface SentMetrics extends Omit<MetricsConfig, 'url'> {
  readonly url: string
  readonly service: SentService | undefined
}

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const portForm = /^[0-9]{1,5}$/

const serviceProblems = ({ scheme, name, namespace, port, path, query }: SentService): readonly string[] => [
  ...(scheme === '' || scheme === 'http' || scheme === 'https'
    ? []
    : ['metrics.service.scheme must be http or https.']),
  ...(label.test(name) ? [] : ['metrics.service.name must be the name of a service.']),
  ...(label.test(namespace) ? [] : ['metrics.service.namespace must be the name of a namespace.']),
  ...(port === '' || (portForm.test(port) && Number(port) <= 65_535)
    ? []
    : ['metrics.service.port must be a number from 0 to 65535.']),
  ...(/[?#\\]|(?:^|\/)\.{1,2}(?:\/|$)/.test(path)
    ? ['metrics.service.path must be a path, without "." and ".." in it.']
    : []),
  ...(/[#\\ ]/.test(query) ? ['metrics.service.query must be a query string.'] : []),
]

/** Returns the address at which the API server of a cluster passes requests to a service. */
const serviceUrl = (endpoint: string, { scheme, name, namespace, port, path, query }: SentService): string => {
  const service = port === '' ? (scheme === '' ? name : `${scheme}:${name}:`) : `${scheme}:${name}:${port}`
  const rest = path
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => encodeURIComponent(segment))
    .join('/')
  const search = query === '' ? '' : `?${query.replace(/^\?/, '')}`
  return `${endpoint}/api/v1/namespaces/${namespace}/services/${service.replace(/^:/, '')}/proxy/${rest}${search}`
}

const urlProblems = (text: string): readonly string[] => {
  if (!URL.canParse(text)) return ['metrics.url must be an absolute URL.']
  const url = new URL(text)
  return [
    ...(url.protocol === 'http:' || url.protocol === 'https:'
      ? []
      : ['metrics.url must begin with https:// or http://.']),
    ...(url.username !== '' || url.password !== ''
      ? ['metrics.url must not carry a user name or password: use metrics.basicAuth.']
      : []),
    ...(url.hash !== '' ? ['metrics.url must not have a fragment.'] : []),
  ]
}

const credentialProblems = ({ basicAuth, bearerToken, tls }: SentMetrics): readonly string[] => [
  ...(basicAuth !== undefined && bearerToken !== undefined
    ? ['metrics.basicAuth and metrics.bearerToken are given: send one.']
    : []),
  ...(tls !== undefined && (tls.cert === '') !== (tls.key === '')
    ? ['metrics.tls.cert and metrics.tls.key belong together.']
    : []),
]

/**
 * Returns where metrics are read: by exactly one of `url` and `service`. Failure: MetricsRefused, with every problem.
 * @param endpoint of the API server of the cluster; empty if its record has none.
 */
export const metricsOf = (sent: SentMetrics, endpoint: string): Either<Failure<'MetricsRefused'>, MetricsConfig> => {
  const { service, url, basicAuth, bearerToken, tls } = sent
  const isBoth = service !== undefined && url !== ''
  const isNone = service === undefined && url === ''
  const problems = [
    ...(isBoth || isNone ? ['metrics must have exactly one of url and service.'] : []),
    ...(service === undefined || isBoth ? [] : serviceProblems(service)),
    ...(service !== undefined && endpoint === ''
      ? ['metrics.service cannot be reached: the record of the cluster has no address; use metrics.url.']
      : []),
    ...(service === undefined && !isNone ? urlProblems(url) : []),
    ...credentialProblems(sent),
  ]
  if (problems.length > 0) return left(MetricsRefused(problems.join(' '), { errors: problems }))
  const target = service === undefined ? new URL(url).href : serviceUrl(endpoint, service)
  return right({ url: target, basicAuth, bearerToken, tls })
}
