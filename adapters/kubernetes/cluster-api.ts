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
import { definedFields, fromWireJson } from '../../core/kernel/json.ts'
import type { EgressPolicy } from '../outbound/egress-policy.ts'
import type { ConnectionPools, Endpoint } from './connections.ts'
import {
  authorization,
  recordChanged,
  tlsOptions,
  toReachFailure,
  isDoubtful,
  judgeAnswer,
  leavesPrefix,
  namingHub,
  prefixOf,
  splitsSegment,
} from './connections.ts'

/** Default limit for the bytes of an answer that this service reads itself. */
const usualLimitBytes = 8 * 1024 * 1024

class AnswerTooLarge extends Error {}

const readText = async (body: AsyncIterable<Buffer>, limitBytes: number): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    if (bytes > limitBytes) throw new AnswerTooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
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
  const asked = statusCode === 429 && typeof headers['retry-after'] === 'string' && /^\d{1,3}$/.test(headers['retry-after'])
  const seconds = asked ? Number(headers['retry-after']) : longestWaitSeconds + 1
  return seconds <= longestWaitSeconds ? seconds : undefined
}

/**
 * Sends one request, bounded in time and size. Any received status is Right, except 401. A 429 with a short Retry-After is
 * repeated once.
 */
export const askCluster = async (
  dispatcher: Dispatcher,
  endpoint: Endpoint,
  asked: ClusterRequest,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Outcome<ReachFailure, ClusterAnswer> => {
  if (leavesPrefix(asked.target) || splitsSegment(asked.target)) return left(ClusterUnreachable('That is no path of a cluster.'))
  const { credential, via } = endpoint
  const { origin } = new URL(credential.server)
  const deadline = AbortSignal.timeout(timeoutMilliseconds)
  const until = AbortSignal.any([signal, deadline])
  const send = () =>
    request(`${origin}${prefixOf(endpoint)}${asked.target}`, {
      dispatcher,
      method: asked.method,
      headers: [...acceptOf(asked), ...(asked.headers ?? []), ...authorization(credential)].flat(),
      body: asked.body ?? null,
      signal: until,
      headersTimeout: timeoutMilliseconds,
      bodyTimeout: timeoutMilliseconds,
    })
  try {
    let answer = await send()
    const retryAfterSeconds = askedToRetryAfter(answer)
    if (retryAfterSeconds !== undefined) {
      await answer.body.dump()
      await setTimeout(retryAfterSeconds * 1000, undefined, { signal: until })
      answer = await send()
    }
    const text = await readText(answer.body as AsyncIterable<Buffer>, asked.limitBytes ?? usualLimitBytes)
    const got = { status: answer.statusCode, text, json: jsonOf(text) }
    if (via === undefined) return got.status === 401 ? left(CredentialRefused('The cluster refused the stored credential.')) : right(got)
    const failure = isDoubtful(got.status) ? await judgeAnswer(got, via, (other) => askCluster(dispatcher, { credential }, other, timeoutMilliseconds, until)) : undefined
    return failure === undefined ? right(got) : left(failure)
  } catch (error) {
    if (deadline.aborted) return left(ClusterUnreachable('The cluster did not answer in time.'))
    if (error instanceof AnswerTooLarge) return left(ClusterUnreachable('The cluster answered with more than can be read.'))
    return left(namingHub(toReachFailure(error), via))
  }
}

/** Asks for one path. */
export type Get = (target: string) => Outcome<ReachFailure, ClusterAnswer>

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

const uidOf = (answer: ClusterAnswer): Either<ReachFailure, string> => {
  const namespace = read(Namespace, right(answer))
  if (namespace !== undefined && uidPattern.test(namespace.metadata.uid)) return right(namespace.metadata.uid)
  if (answer.status === 403)
    return left(CredentialRefused('The credential may not read the namespace kube-system, whose UID identifies the cluster.'))
  return left(ClusterUnreachable('What answers at that address is not a Kubernetes API server.'))
}

const nodesOf = (nodes: t.TypeOf<typeof Nodes> | undefined): readonly NodeFacts[] =>
  (nodes?.items ?? []).map((node) => ({ providerId: node.spec?.providerID ?? '', labels: node.metadata.labels ?? {} }))

/** Surveys a cluster. Only its identity is required; anything else that cannot be read is reported as absent. */
export const survey = async (get: Get): Outcome<ReachFailure, ClusterSurvey> => {
  const first = await get('/api/v1/namespaces/kube-system')
  if (isLeft(first)) return first
  const uid = uidOf(first.right)
  if (isLeft(uid)) return uid
  const [version, ready, groupList, apps] = await Promise.all([get('/version'), get('/readyz'), get('/apis'), get('/apis/apps/v1')])
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
    servesManagedClusters: hub !== undefined && (read(Resources, hub)?.resources.some(({ kind }) => kind === 'ManagedCluster') ?? false),
    servesDeployments,
    hasKlusterlet: agents !== undefined && (read(Items, agents)?.items.length ?? 0) > 0,
  })
}

const requestTimeoutMilliseconds = 10_000
/** A survey is several requests, and a user waits for it. */
const surveyTimeoutMilliseconds = 8_000

export const makeUndiciClusterApi = (pools: ConnectionPools, egress: EgressPolicy): ClusterApi => ({
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
    const headers = through?.headers ?? []
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(surveyTimeoutMilliseconds)])
    try {
      return await survey((target) => askCluster(pool, endpoint, { method: 'GET', target, headers }, surveyTimeoutMilliseconds, deadline))
    } finally {
      await pool.destroy()
    }
  },

  async request(asker, asked, signal) {
    // The pools may belong to a newer credential than the caller has. The caller's must not be sent to the address of the pools.
    const opened = pools.of(asker)
    if (opened === undefined) return left(recordChanged)
    const { short, connection } = opened
    const refused = egress.refusal(new URL(connection.credential.server))
    if (refused !== undefined) return left(AddressRefused(refused))
    return askCluster(short, connection, asked, requestTimeoutMilliseconds, signal)
  },
})
