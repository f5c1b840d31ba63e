import { setTimeout } from 'node:timers/promises'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import type { Dispatcher } from 'undici'
import { Pool, request } from 'undici'
import type { ClusterAnswer, ClusterApi, ClusterRequest, ReachFailure } from '../../core/clusters/ports.ts'
import { AddressRefused, ClusterUnreachable, CredentialRefused } from '../../core/clusters/ports.ts'
import type { ClusterSurvey, NodeFacts } from '../../core/clusters/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import { Busy } from '../../core/kernel/failure.ts'
import { definedFields, fromWireJson, textAt } from '../../core/kernel/json.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { EgressPolicy } from '../outbound/egress-policy.ts'
import { JsonUnreadable } from '../outbound/json-pieces.ts'
import type { JsonReader } from '../outbound/json-reader.ts'
import { makeJsonReader } from '../outbound/json-reader.ts'
import type { Reading, ReadingBudgets } from '../outbound/reading-budgets.ts'
import { makeReadingBudgets, OverBudget } from '../outbound/reading-budgets.ts'
import type { AskHub, ConnectionPools, Endpoint } from './connections.ts'
import {
  authorization,
  sentThrough,
  recordChanged,
  tlsOptions,
  isDoubtful,
  judgeAnswer,
  namingHub,
  prefixOf,
  ShortPlace,
} from './connections.ts'
import { clusterNotReached, maySendAgain, toRequestFailure } from './reach-failures.ts'

const pathOf = (target: string): string => target.split(/[?#]/, 1)[0] ?? ''

/**
 * Reports whether a path has the segments . or .., for any reader: one that takes a backslash, or an encoded slash or
 * backslash, for a separator, too. Below a prefix such a path could leave the cluster.
 */
export const leavesPrefix = (target: string): boolean => {
  if (!/[.%\t\n\r]/.test(target)) return false
  const path = pathOf(target)
  return /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\]|%2f|%5c|$)/i.test(path) || /[\t\n\r]/.test(path)
}

/**
 * Reports whether a path has an encoded slash, which an API server takes for a separator. No name of an object has one.
 * @internal
 */
export const splitsSegment = (target: string): boolean => /%2f/i.test(pathOf(target))

/** Default limit for the bytes of an answer that this service reads itself. */
const usualLimitBytes = 8 * 1024 * 1024

/** A connection that failed. `server` is the host of the access config. */
export interface ConnectionProblem {
  readonly ownerId: AccountId | undefined
  readonly server: string
  readonly reason: string
}

/** What bounds the reading of answers, and parses them; and what reports failures to the operator. */
export interface ClusterReads {
  readonly budgets: ReadingBudgets
  readonly json: JsonReader
  readonly report: (problem: ConnectionProblem) => void
  /** Headers that continue the trace of the caller at the cluster. */
  readonly traceHeaders?: () => Readonly<Record<string, string>>
}

/** Reports the reason of a failure, which the caller does not see. */
export const report = (
  reads: Pick<ClusterReads, 'report'>,
  { credential, ownerId }: Endpoint,
  { reason }: ReachFailure,
): void => {
  if (reason !== undefined) reads.report({ ownerId, server: new URL(credential.server).host, reason })
}

/** Returns the outcome of some work, and reports its failure. */
export const reported = async <A>(
  reads: Pick<ClusterReads, 'report'>,
  endpoint: Endpoint,
  work: Outcome<ReachFailure, A>,
): Outcome<ReachFailure, A> => {
  const outcome = await work
  if (isLeft(outcome)) report(reads, endpoint, outcome.left)
  return outcome
}

/** Reads with budgets of their own, and reports nothing. */
export const separateReads = (): ClusterReads => ({
  budgets: makeReadingBudgets(),
  json: makeJsonReader(),
  report: () => undefined,
})

const readBytes = async (body: AsyncIterable<Buffer>, limitBytes: number, reading: Reading): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    if (bytes > limitBytes) throw new OverBudget('answered with more than can be read.')
    reading.take(chunk.byteLength)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * Sends a request and reads its answer, within the budgets of the caller's request, of its account, and of all. Throws
 * OverBudget, JsonUnreadable and the errors of `send`.
 */
const readAnswer = async (
  { budgets, json }: ClusterReads,
  ownerId: AccountId | undefined,
  asked: ClusterRequest,
  send: () => Promise<Dispatcher.ResponseData>,
  signal: AbortSignal,
): Promise<ClusterAnswer> => {
  const reading = budgets.open(ownerId)
  try {
    const answer = await send()
    const bytes = await readBytes(answer.body as AsyncIterable<Buffer>, asked.limitBytes ?? usualLimitBytes, reading)
    const parsed = await json.parse(bytes, budgets.account(ownerId), signal)
    if (asked.isReduced === true) reading.end()
    else reading.keep()
    return { status: answer.statusCode, text: bytes.toString('utf8'), json: parsed }
  } catch (error) {
    reading.end()
    throw error
  }
}

/** Returns the JSON value of a text, with integers beyond 2^53 as bigint; undefined if it is none. */
export const jsonOf = (text: string): unknown => {
  try {
    return fromWireJson(text)
  } catch {
    return undefined
  }
}

/** Servers read the first of several Accept headers, so the caller's own replaces the default. */
const acceptOf = ({ headers = [] }: ClusterRequest): readonly (readonly [string, string])[] =>
  headers.some(([name]) => name.toLowerCase() === 'accept') ? [] : [['accept', 'application/json']]

const longestWaitSeconds = 5

/** Returns the time after which an overloaded server, which did not execute the request, asks to repeat it. */
const askedToRetryAfter = ({ statusCode, headers }: Dispatcher.ResponseData): number | undefined => {
  const asked =
    statusCode === 429 && typeof headers['retry-after'] === 'string' && /^\d{1,3}$/.test(headers['retry-after'])
  const seconds = asked ? Number(headers['retry-after']) : longestWaitSeconds + 1
  return seconds <= longestWaitSeconds ? seconds : undefined
}

/**
 * Sends one request, bounded in time and size. Any received status is Right, except 401. A 429 with a short Retry-After
 * is repeated once.
 */
export const askCluster = async (
  dispatcher: Pool,
  endpoint: Endpoint,
  asked: ClusterRequest,
  timeoutMilliseconds: number,
  signal: AbortSignal,
  reads: ClusterReads,
): Outcome<ReachFailure, ClusterAnswer> => {
  if (leavesPrefix(asked.target) || splitsSegment(asked.target))
    return left(ClusterUnreachable('That is no path of a cluster.'))
  const { credential, via, ownerId } = endpoint
  const { origin } = new URL(credential.server)
  const deadline = AbortSignal.timeout(timeoutMilliseconds)
  let wasConnected = false
  // Before the request ends its connection.
  deadline.addEventListener('abort', () => (wasConnected = dispatcher.stats.connected > 0), { once: true })
  const until = AbortSignal.any([signal, deadline])
  const sendOnce = () =>
    request(`${origin}${prefixOf(endpoint)}${asked.target}`, {
      dispatcher,
      method: asked.method,
      headers: [...acceptOf(asked), ...(asked.headers ?? []), ...authorization(credential)].flat(),
      body: asked.body ?? null,
      signal: until,
      headersTimeout: timeoutMilliseconds,
      bodyTimeout: timeoutMilliseconds,
    })
  const sendSafely = async (): Promise<Dispatcher.ResponseData> => {
    try {
      return await sendOnce()
    } catch (error) {
      if (until.aborted || !maySendAgain(asked.method, error)) throw error
      return sendOnce()
    }
  }
  const send = async (): Promise<Dispatcher.ResponseData> => {
    const answer = await sendSafely()
    const retryAfterSeconds = askedToRetryAfter(answer)
    if (retryAfterSeconds === undefined) return answer
    await answer.body.dump()
    await setTimeout(retryAfterSeconds * 1000, undefined, { signal: until })
    return sendOnce()
  }
  try {
    const got = await readAnswer(reads, ownerId, asked, send, until)
    if (via === undefined)
      return got.status === 401 ? left(CredentialRefused('The cluster refused the stored credential.')) : right(got)
    const askHub: AskHub = (other) =>
      askCluster(dispatcher, { credential, ownerId }, other, timeoutMilliseconds, until, reads)
    const failure = isDoubtful(got.status) ? await judgeAnswer(got, via, askHub) : undefined
    return failure === undefined ? right(got) : left(failure)
  } catch (error) {
    // A job of the service reads many clusters: one that is refused is not read, and the others are.
    if (error instanceof Busy && reads.budgets.inRequest()) throw error
    if (error instanceof Busy) return left(ClusterUnreachable(error.message))
    if (error instanceof OverBudget || error instanceof JsonUnreadable)
      return left(ClusterUnreachable(`The cluster ${error.message}`))
    return left(namingHub(toRequestFailure(error, wasConnected), via))
  }
}

/** Asks for one path. */
type Get = (target: string) => Outcome<ReachFailure, ClusterAnswer>

const Namespace = t.type({ metadata: t.type({ uid: t.string }) })
const Version = t.type({ gitVersion: t.string })
const Groups = t.type({ groups: t.array(t.type({ name: t.string })) })
const Resources = t.type({ resources: t.array(t.type({ name: t.string, kind: t.string })) })
const Nodes = t.type({
  metadata: t.partial({ remainingItemCount: t.number }),
  items: t.array(
    t.type({
      metadata: t.partial({ labels: t.record(t.string, t.string) }),
      spec: t.union([t.partial({ providerID: t.string }), t.undefined]),
    }),
  ),
})
const Items = t.type({ items: t.array(t.unknown) })

/** Sample size: nodes of one machine type are alike, and each is tens of kilobytes. */
const nodeSample = 20
const hubGroup = 'cluster.open-cluster-management.io'
const agentGroup = 'operator.open-cluster-management.io'

const read = <A>(codec: t.Type<A, unknown, unknown>, answer: Either<ReachFailure, ClusterAnswer>): A | undefined => {
  if (isLeft(answer) || answer.right.status !== 200) return undefined
  const decoded = codec.decode(answer.right.json)
  return isLeft(decoded) ? undefined : decoded.right
}

/** Kubernetes uses UUIDs. The column holds this many ASCII characters. */
const uidPattern = /^[\x21-\x7e]{1,64}$/

/** Reports whether a Kubernetes API server gave this answer to a request that it refused. */
const isStatus = ({ json }: ClusterAnswer): boolean =>
  textAt(json, 'kind') === 'Status' && textAt(json, 'apiVersion') === 'v1'

const uidOf = (answer: ClusterAnswer): Either<ReachFailure, string> => {
  const namespace = read(Namespace, right(answer))
  if (namespace !== undefined && uidPattern.test(namespace.metadata.uid)) return right(namespace.metadata.uid)
  if (answer.status === 403 && isStatus(answer))
    return left(
      CredentialRefused('The credential may not read the namespace kube-system, whose UID identifies the cluster.'),
    )
  return left(clusterNotReached('no namespace kube-system'))
}

const nodesOf = (nodes: t.TypeOf<typeof Nodes> | undefined): readonly NodeFacts[] =>
  (nodes?.items ?? []).map((node) => ({ providerId: node.spec?.providerID ?? '', labels: node.metadata.labels ?? {} }))

/** Surveys a cluster. Only its identity is required; anything else that cannot be read is reported as absent. */
const survey = async (get: Get): Outcome<ReachFailure, ClusterSurvey> => {
  const first = await get('/api/v1/namespaces/kube-system')
  if (isLeft(first)) return first
  const uid = uidOf(first.right)
  if (isLeft(uid)) return uid
  const [version, ready, groupList, apps] = await Promise.all([
    get('/version'),
    get('/readyz'),
    get('/apis'),
    get('/apis/apps/v1'),
  ])
  const groups = read(Groups, groupList)?.groups.map((group) => group.name) ?? []
  const servesDeployments = read(Resources, apps)?.resources.some(({ name }) => name === 'deployments') ?? false
  const [nodes, hub, agents] = await Promise.all([
    get(`/api/v1/nodes?limit=${nodeSample}`),
    groups.includes(hubGroup) ? get(`/apis/${hubGroup}/v1`) : undefined,
    groups.includes(agentGroup) ? get(`/apis/${agentGroup}/v1/klusterlets?limit=1`) : undefined,
  ])
  const listed = read(Nodes, nodes)
  return right({
    uid: uid.right,
    kubernetesVersion: (read(Version, version)?.gitVersion ?? '').replace(/[^\x21-\x7e]/g, '').slice(0, 64),
    isReady: !isLeft(ready) && ready.right.status === 200,
    nodes: nodesOf(listed),
    nodeCount: (listed?.items.length ?? 0) + (listed?.metadata.remainingItemCount ?? 0),
    groups,
    servesManagedClusters:
      hub !== undefined && (read(Resources, hub)?.resources.some(({ kind }) => kind === 'ManagedCluster') ?? false),
    servesDeployments,
    hasKlusterlet: agents !== undefined && (read(Items, agents)?.items.length ?? 0) > 0,
  })
}

const requestTimeoutMilliseconds = 10_000
/** A survey is several requests, and a user waits for it. */
const surveyTimeoutMilliseconds = 8_000

export const makeUndiciClusterApi = (
  pools: ConnectionPools,
  egress: EgressPolicy,
  reads: ClusterReads = separateReads(),
): ClusterApi => ({
  async survey(credential, signal, through) {
    const url = new URL(credential.server)
    const refused = egress.refusal(url)
    if (refused !== undefined) return left(AddressRefused(refused))
    // The credential may never be stored, so its connections are not kept.
    const pool = new Pool(url.origin, {
      connect: { ...tlsOptions(credential, egress), timeout: surveyTimeoutMilliseconds },
      connections: 4,
      pipelining: 1,
      allowH2: false,
    })
    const endpoint = { credential, ...definedFields({ via: through?.via }) }
    const headers = [...(through?.headers ?? []), ...Object.entries(reads.traceHeaders?.() ?? {})]
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(surveyTimeoutMilliseconds)])
    try {
      return await reported(
        reads,
        endpoint,
        survey((target) =>
          askCluster(pool, endpoint, { method: 'GET', target, headers }, surveyTimeoutMilliseconds, deadline, reads),
        ),
      )
    } finally {
      await pool.destroy()
    }
  },

  async request(asker, asked, signal) {
    // The pools may belong to a newer credential than the caller has. The caller's must not be sent to the address of
    // the pools.
    const opened = pools.of(asker)
    if (opened === undefined) return left(recordChanged)
    const { connection } = opened
    const refused = egress.refusal(new URL(connection.credential.server))
    if (refused !== undefined) return left(AddressRefused(refused))
    const credential = sentThrough(connection, asker)
    if (credential === undefined) return left(recordChanged)
    const endpoint = { ...connection, credential, ownerId: connection.link.ownerId }
    const place = new ShortPlace(opened, reads.budgets.account(endpoint.ownerId))
    try {
      const inTime = () => AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMilliseconds)])
      const pool = await place
        .entered(inTime)
        .catch((error: unknown) => toRequestFailure(error, opened.short.stats.connected > 0))
      if ('tag' in pool) return left(namingHub(pool, connection.via))
      const answered = askCluster(pool, endpoint, asked, requestTimeoutMilliseconds, signal, reads)
      return await reported(reads, endpoint, answered)
    } finally {
      place.leave()
    }
  },
})
