import { left, right } from 'fp-ts/lib/Either.js'
import { request, type Dispatcher } from 'undici'
import { ClusterUnreachable, CredentialRefused, type ClusterAnswer, type ClusterRequest, type ReachFailure } from '../../core/clusters/ports.ts'
import type { ClusterCredential } from '../../core/clusters/types.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import { toReachFailure } from './reach-failure.ts'
import { authorization } from './tls-options.ts'

/** Bytes of an answer that we read ourselves, unless the asker says how many. */
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

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The server reads the first of several, so the asker's own stands alone. */
const acceptOf = ({ headers = [] }: ClusterRequest): readonly (readonly [string, string])[] =>
  headers.some(([name]) => name.toLowerCase() === 'accept') ? [] : [['accept', 'application/json']]

/** A path with parts that lead upwards, however they are written: below a server's prefix it would leave the cluster. */
const leadsUpwards = (target: string): boolean => {
  const [path = ''] = target.split(/[?#]/, 1)
  return /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)/i.test(path) || /[\t\n\r]/.test(path)
}

/** One request of our own, bounded in time and size; any answered status is Right, save 401. */
export const askCluster = async (
  dispatcher: Dispatcher,
  credential: ClusterCredential,
  asked: ClusterRequest,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Outcome<ReachFailure, ClusterAnswer> => {
  if (leadsUpwards(asked.target)) return left(ClusterUnreachable('That is no path of a cluster.'))
  const server = new URL(credential.server)
  const deadline = AbortSignal.timeout(timeoutMilliseconds)
  try {
    const answer = await request(`${server.origin}${server.pathname.replace(/\/+$/, '')}${asked.target}`, {
      dispatcher,
      method: asked.method,
      headers: [...acceptOf(asked), ...(asked.headers ?? []), ...authorization(credential)].flat(),
      body: asked.body ?? null,
      signal: AbortSignal.any([signal, deadline]),
      headersTimeout: timeoutMilliseconds,
      bodyTimeout: timeoutMilliseconds,
    })
    const text = await readText(answer.body as AsyncIterable<Buffer>, asked.limitBytes ?? usualLimitBytes)
    if (answer.statusCode === 401) return left(CredentialRefused('The cluster refused the stored credential.'))
    return right({ status: answer.statusCode, text, json: jsonOf(text) })
  } catch (error) {
    if (deadline.aborted) return left(ClusterUnreachable('The cluster did not answer in time.'))
    if (error instanceof AnswerTooLarge) return left(ClusterUnreachable('The cluster answered with more than can be read.'))
    return left(toReachFailure(error))
  }
}
