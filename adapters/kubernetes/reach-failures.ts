import type { ReachFailure } from '../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../core/clusters/ports.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'

const notReachedText =
  'The cluster cannot be reached from here: its address does not exist, is not allowed, does not answer in ' +
  'time, or is not that of a Kubernetes API server whose certificate is signed by the authority in the access config.'

/**
 * Returns the failure for every address that cannot be used. The text is the same for a name that does not exist, an
 * address that is not allowed, and a port that is closed, silent or not that of a cluster: any account may enter any
 * address, and the difference would show the inner network.
 * @param reason for the operator's log.
 */
export const clusterNotReached = (reason: string): Failure<'ClusterUnreachable'> =>
  ClusterUnreachable(notReachedText, { reason })

const chain = (error: unknown): readonly unknown[] => {
  const links: unknown[] = []
  for (let at = error; at instanceof Error && links.length < 5; at = at.cause) {
    links.push(at)
    if (at instanceof AggregateError) links.push(...at.errors)
  }
  return links
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Returns why a connection failed: the code of the driver, or what the egress policy refused. */
const connectionProblem = (error: unknown): string => {
  const links = chain(error)
  const refused = links.find((link) => link instanceof EgressRefused)
  if (refused !== undefined) return refused.message
  return links.map(codeOf).find((code) => code !== undefined) ?? (error instanceof Error ? error.name : 'unknown')
}

/** What Node and undici call a connection that the other side has closed. */
const closedCodes: readonly (string | undefined)[] = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']

/**
 * Reports whether a request without an answer may be sent once more: it changes nothing, and the cluster closed the
 * connection. Usually it is one that was kept, and which the cluster closed when the request was on its way.
 */
export const maySendAgain = (method: string, error: unknown): boolean =>
  (method === 'GET' || method === 'HEAD') && chain(error).some((link) => closedCodes.includes(codeOf(link)))

const timedOut = (reason: string): ReachFailure => ({
  ...ClusterUnreachable('The cluster did not answer in time. Try again later.', { reason }),
  kind: 'GatewayTimeout',
})

/** What undici calls an answer that does not begin, or does not continue, on an open connection. */
const answerTimeouts: readonly (string | undefined)[] = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']

/** Returns the failure of a connection, with the reason for the operator's log. */
export const toReachFailure = (error: unknown): ReachFailure => {
  const problem = connectionProblem(error)
  return chain(error).some((link) => answerTimeouts.includes(codeOf(link)))
    ? timedOut(problem)
    : clusterNotReached(problem)
}

/**
 * Returns the failure of a request that may have reached its time limit. A cluster is called slow only if there was a
 * connection to it, which has proven the authority of its certificate: a silent address is as any that cannot be used.
 */
export const toRequestFailure = (error: unknown, wasConnected: boolean): ReachFailure =>
  wasConnected && chain(error).some((link) => link instanceof Error && link.name === 'TimeoutError')
    ? timedOut('TimeoutError')
    : toReachFailure(error)
