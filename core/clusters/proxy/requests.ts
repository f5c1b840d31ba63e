import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, mapLeft, right } from 'fp-ts/lib/Either.js'
import type { Exchange, HeaderBag, UpgradeExchange } from '../../kernel/exchange.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { ClusterId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type {
  ClusterAnswer,
  ClusterApi,
  ClusterConnections,
  ClusterRequest,
  ClusterTransport,
  ImpersonatedUser,
  UpstreamRequest,
} from '../ports.ts'
import { ClusterUnreachable, ImpersonationRefused, ProxyPathRefused } from '../ports.ts'
import { hubIdentity } from '../hub-types.ts'
import type { ClusterConnection, ClusterLink } from '../types.ts'
import type { ComputeResponse } from './ports.ts'
import type { HeaderList } from '../../formats/kubernetes/proxy-headers.ts'
import {
  acceptedHeaders,
  clientHeaders,
  impersonation,
  impersonationIn,
  upgradeHeaders,
  upstreamHeaders,
} from '../../formats/kubernetes/proxy-headers.ts'
import type { ProxyTarget } from '../../formats/kubernetes/proxy-path.ts'
import { checkProxyQuery, parseProxyPath } from '../../formats/kubernetes/proxy-path.ts'

export type ProxyFailure =
  | Failure<'ProxyPathRefused'>
  | Failure<'ProxyBodyRefused'>
  | Failure<'ImpersonationRefused'>
  | Failure<'ClusterMissing'>
  | Failure<'ClusterNotConnected'>
  | Failure<'ClusterUnreachable'>
  | Failure<'CredentialRefused'>

/** An address that the policy rejects is a configuration error of this service, not of the request. */
export const asUpstream = <F extends Failure>(
  failure: F,
): Exclude<F, Failure<'AddressRefused'>> | Failure<'ClusterUnreachable'> =>
  failure.tag === 'AddressRefused'
    ? ClusterUnreachable(failure.message)
    : (failure as Exclude<F, Failure<'AddressRefused'>>)

/** The caller and the record, both already resolved by authorization. */
export interface ProxyInput<E> {
  readonly clusterId: ClusterId
  /** The record's version as read by authorization. */
  readonly clusterVersion: number | undefined
  readonly exchange: E
}

type Caller = Pick<SignedInCall['principal'], 'userId' | 'login'>

const ownIdentity = (link: ClusterLink, { userId, login }: Caller): ImpersonatedUser => ({
  // A prefix of this platform, so that no login inherits the rights of a cluster user of the same name.
  login: `moorage:${login}`,
  groups: ['moorage:authenticated', `moorage:org:${link.ownerName}`],
  extra: { 'moorage-user-id': String(userId) },
})

/**
 * Returns the identity under which the cluster sees the caller; undefined if the credential's own identity is used.
 * Through a hub, it is always the caller's account there.
 */
export const impersonated = (
  { link, via }: Pick<ClusterConnection, 'link' | 'via'>,
  caller: Caller,
): ImpersonatedUser | undefined => {
  if (via !== undefined) return hubIdentity(caller.userId, link.ownerId)
  return link.impersonatesUsers ? ownIdentity(link, caller) : undefined
}

const isOn = (value: string | null): boolean => value === '1' || value === 'true' || value === ''

const isWatch = (segments: readonly string[], query: string): boolean =>
  !segments.includes('proxy') &&
  (segments[2] === 'watch' ||
    segments[3] === 'watch' ||
    (query !== '' && isOn(new URLSearchParams(query).get('watch'))))

/** Reports whether a request that is no watch is a followed log, or a stream through a pod or service. */
const isStream = (segments: readonly string[]): boolean => segments.at(-1) === 'log' || segments.includes('proxy')

const targetOf = (path: string, query: string): string => (query === '' ? path : `${path}?${query}`)

type Streamed = Extract<ProxyTarget, { form: 'raw' | 'resource' }>

const isForeign = (target: Streamed): boolean => target.form === 'raw' && target.isForeign === true

/** Returns the headers of a response as the client of this exchange receives them. */
const headersFrom = (
  { credential: { server }, via }: ClusterConnection,
  target: Streamed,
  { root }: Pick<Exchange, 'root'>,
) => {
  const origin = { server, gateway: via?.path ?? '', path: target.path, root, isForeign: isForeign(target) }
  return (headers: HeaderBag): HeaderList => clientHeaders(headers, origin)
}

const upstreamOf = (
  connection: ClusterConnection,
  target: Streamed,
  exchange: Exchange,
  as: ImpersonatedUser | undefined,
): UpstreamRequest => {
  const { method, query } = exchange
  const watches = isWatch(target.segments, query)
  const foreign = isForeign(target)
  const raw: UpstreamRequest = {
    method,
    target: targetOf(target.path, query),
    headers: upstreamHeaders(exchange.headers, { as, isForeign: foreign }),
    isLongLived: watches || isStream(target.segments),
    isWatch: watches,
    createdAsOk: false,
    isForeign: foreign,
    answerHeaders: headersFrom(connection, target, exchange),
    acceptHeaders: acceptedHeaders,
  }
  return target.form === 'resource' ? translated(raw, target, exchange) : raw
}

/** Returns a request of the wider API as one of the Kubernetes API. */
const translated = (
  raw: UpstreamRequest,
  { path }: Streamed,
  { method, query, headers }: Pick<Exchange, 'method' | 'query' | 'headers'>,
): UpstreamRequest => {
  const { accept, query: rest } = tableOf(query)
  const known = headers['if-none-match']
  const sent = raw.headers.filter(([name]) => accept === undefined || name !== 'accept').map(asMergePatch(method))
  return {
    ...raw,
    target: targetOf(path, rest),
    headers: accept === undefined ? sent : [...sent, ['accept', accept]],
    createdAsOk: method === 'POST',
    ...(method === 'GET' && !raw.isLongLived
      ? { entityTag: { ifNoneMatch: typeof known === 'string' ? known : undefined } }
      : {}),
  }
}

/** `convertToTable` is the wider API's parameter for a media type. */
const tableOf = (query: string): { readonly accept: string | undefined; readonly query: string } => {
  const pairs = query.split('&')
  const rest = pairs.filter((pair) => !/^convertToTable(?:=|$)/.test(pair))
  const wanted = pairs.some((pair) => /^convertToTable(?:=(?:true|1)?)?$/.test(pair))
  return {
    accept: wanted ? 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' : undefined,
    query: rest.join('&'),
  }
}

/** Kubernetes does not accept a patch of type plain JSON; an object with the desired state is sent as a merge patch. */
const asMergePatch =
  (method: string) =>
  (header: readonly [string, string]): readonly [string, string] =>
    method === 'PATCH' && header[0] === 'content-type' && /^application\/json(?:;|$)/i.test(header[1])
      ? ['content-type', 'application/merge-patch+json']
      : header

type Refused = Failure<'ImpersonationRefused'> | Failure<'ProxyPathRefused'>

/**
 * The cluster would decide by the rights of the stored credential, not by those of the caller; without the headers, the
 * request would be carried out with more rights than it asks for.
 */
const impersonationRefused = (header: string) =>
  ImpersonationRefused(
    `Nothing was sent to the cluster: requests as another user (${header}, kubectl --as) are not carried ` +
      'out through this service. ' +
      'Create a SubjectAccessReview to learn what a user may do, or connect to the cluster directly.',
  )

/** Returns the target of an exchange, if it may be sent. */
const readTarget = ({
  headers,
  path,
  query,
}: Pick<Exchange, 'headers' | 'path' | 'query'>): Either<Refused, ProxyTarget> => {
  const asked = impersonationIn(headers)
  if (asked !== undefined) return left(impersonationRefused(asked))
  const checked = checkProxyQuery(query)
  return mapLeft((reason: string) => ProxyPathRefused(reason))(isLeft(checked) ? checked : parseProxyPath(path))
}

/** Forwards one request of a caller to the Kubernetes API of a cluster, and returns the response. */
export const makeProxyRequest =
  (deps: {
    readonly connections: ClusterConnections
    readonly transport: Pick<ClusterTransport, 'relay'>
    readonly computeResponse: ComputeResponse
  }) =>
  async (
    call: SignedInCall<never>,
    { clusterId, clusterVersion, exchange }: ProxyInput<Exchange>,
  ): Outcome<ProxyFailure, void> => {
    const target = readTarget(exchange)
    if (isLeft(target)) return target
    const connection = await deps.connections.open(clusterId, clusterVersion, call.principal.userId)
    if (isLeft(connection)) return connection
    const as = impersonated(connection.right, call.principal)
    const answered = deps.computeResponse({
      connection: connection.right,
      target: target.right,
      exchange,
      as,
      signal: call.signal,
    })
    if (answered !== undefined) {
      const outcome = await answered
      return isLeft(outcome) ? left(asUpstream(outcome.left)) : outcome
    }
    if (target.right.form === 'batch-delete' || target.right.form === 'all-available')
      return left(ProxyPathRefused('That path does not take this method.'))
    const upstream = upstreamOf(connection.right, target.right, exchange, as)
    const relayed = await deps.transport.relay(connection.right, upstream, exchange, call.signal)
    return isLeft(relayed) ? left(asUpstream(relayed.left)) : right(undefined)
  }

/** Forwards an upgraded connection: exec, attach, port-forward. */
export const makeProxyUpgrade =
  (deps: { readonly connections: ClusterConnections; readonly transport: Pick<ClusterTransport, 'tunnel'> }) =>
  async (
    call: SignedInCall,
    { clusterId, clusterVersion, exchange }: ProxyInput<UpgradeExchange>,
  ): Outcome<ProxyFailure, void> => {
    const target = readTarget(exchange)
    if (isLeft(target)) return target
    if (target.right.form !== 'raw' && target.right.form !== 'resource')
      return left(ProxyPathRefused('That path does not take an upgraded connection.'))
    const connection = await deps.connections.open(clusterId, clusterVersion, call.principal.userId)
    if (isLeft(connection)) return connection
    const headers = upgradeHeaders(exchange.headers, {
      as: impersonated(connection.right, call.principal),
      isForeign: isForeign(target.right),
    })
    if (headers === undefined) return left(ProxyPathRefused('Only WebSocket and SPDY/3.1 connections are passed on.'))
    const upstream: UpstreamRequest = {
      method: exchange.method,
      target: targetOf(target.right.path, exchange.query),
      headers,
      isLongLived: true,
      createdAsOk: false,
      isForeign: isForeign(target.right),
      answerHeaders: headersFrom(connection.right, target.right, exchange),
      acceptHeaders: acceptedHeaders,
    }
    const tunnelled = await deps.transport.tunnel(connection.right, upstream, exchange, call.signal)
    return isLeft(tunnelled) ? left(asUpstream(tunnelled.left)) : tunnelled
  }

type RequestFailure =
  | Failure<'ClusterMissing'>
  | Failure<'ClusterNotConnected'>
  | Failure<'ClusterUnreachable'>
  | Failure<'CredentialRefused'>

/** Sends one bounded request, with the caller's identity, to a cluster that the caller may connect to. */
export const makeRequestAs =
  (deps: { readonly connections: ClusterConnections; readonly api: Pick<ClusterApi, 'request'> }) =>
  async (
    { principal, signal }: SignedInCall<never>,
    { clusterId, clusterVersion }: Omit<ProxyInput<unknown>, 'exchange'>,
    request: ClusterRequest,
  ): Outcome<RequestFailure, ClusterAnswer> => {
    const connection = await deps.connections.open(clusterId, clusterVersion, principal.userId)
    if (isLeft(connection)) return connection
    const as = impersonated(connection.right, principal)
    const headers = [...(request.headers ?? []), ...(as === undefined ? [] : impersonation(as))]
    const asked = await deps.api.request(connection.right, { ...request, headers }, signal)
    return isLeft(asked) ? left(asUpstream(asked.left)) : asked
  }
