import type { IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { request } from 'node:https'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { left, right } from 'fp-ts/lib/Either.js'
import type { ReachFailure, UpstreamRequest } from '../../core/clusters/ports.ts'
import { ClusterUnreachable, CredentialRefused } from '../../core/clusters/ports.ts'
import type { ClusterCredential } from '../../core/clusters/types.ts'
import type { ByteDuplex, UpgradeExchange } from '../../core/kernel/exchange.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { EgressPolicy } from '../outbound/egress-policy.ts'
import { PassedMemory } from '../outbound/passed-memory.ts'
import { jsonOf } from './cluster-api.ts'
import type { AskHub, Endpoint } from './connections.ts'
import { authorization, isDoubtful, judgeAnswer, judgeForeign, namingHub, tlsOptions } from './connections.ts'
import { toReachFailure } from './reach-failures.ts'

const copy = (from: ByteDuplex, to: ByteDuplex, ended: () => void): void => {
  let isEnded = false
  // Another stream than a socket may keep what was written to it.
  const socket = to instanceof Socket ? to : undefined
  const memory = new PassedMemory()
  from.on('data', (chunk) => {
    if (to.destroyed) return
    memory.add(chunk)
    if (socket?.writableLength === 0) memory.free()
    if (!to.write(chunk)) from.pause()
  })
  to.on('drain', () => from.resume())
  from.on('end', () => {
    isEnded = true
    to.end()
    ended()
  })
  // Destroyed, not ended: the other side must not take the data for complete. After an end, the data already read is
  // still being sent, even if writing in the other direction fails, as it does when both sides close at once.
  from.on('close', () => {
    if (!isEnded) to.destroy()
  })
  // `close` follows.
  from.on('error', () => undefined)
}

/** After one side ends, the other has this long to receive the data and to end. */
const endingGraceMilliseconds = 5_000

/** Copies bytes in both directions with backpressure. Resolves when both sides are closed. @internal */
export const joinStreams = (
  client: ByteDuplex,
  clientHead: Uint8Array,
  cluster: ByteDuplex,
  clusterHead: Uint8Array,
): Promise<void> =>
  new Promise((done) => {
    let grace: NodeJS.Timeout | undefined
    const ended = (): void => {
      grace ??= setTimeout(() => {
        client.destroy()
        cluster.destroy()
      }, endingGraceMilliseconds)
    }
    let open = 2
    for (const side of [client, cluster]) {
      side.on('close', () => {
        open -= 1
        if (open > 0) return
        clearTimeout(grace)
        done()
      })
    }
    if (clientHead.byteLength > 0) cluster.write(clientHead)
    if (clusterHead.byteLength > 0) client.write(clusterHead)
    copy(client, cluster, ended)
    copy(cluster, client, ended)
  })

const answerTimeoutMilliseconds = 60_000
/** In bytes. The body of a refusal is a Kubernetes Status of a few hundred bytes. */
const refusalLimit = 64 * 1024

const readRefusal = async (answer: IncomingMessage): Promise<Uint8Array> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > refusalLimit) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

type Answer =
  | { readonly kind: 'upgraded'; readonly answer: IncomingMessage; readonly socket: Duplex; readonly head: Uint8Array }
  | { readonly kind: 'refused'; readonly answer: IncomingMessage }
  | { readonly kind: 'failed'; readonly failure: ReachFailure }

/** Sends the request on its own connection, which is not used again. */
const ask = (
  credential: ClusterCredential,
  egress: EgressPolicy,
  upstream: UpstreamRequest,
  signal: AbortSignal,
): Promise<Answer> =>
  new Promise((done) => {
    const server = new URL(credential.server)
    const headers: Record<string, string | string[]> = {}
    for (const [name, value] of [...upstream.headers, ...authorization(credential)]) {
      const known = headers[name]
      headers[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value]
    }
    const options: RequestOptions & { ALPNProtocols: string[] } = {
      ...tlsOptions(credential, egress),
      host: server.hostname.replace(/^\[|\]$/g, ''),
      port: server.port === '' ? 443 : Number(server.port),
      method: upstream.method,
      path: upstream.target,
      headers: { host: server.host, ...headers },
      agent: false,
      ALPNProtocols: ['http/1.1'],
      timeout: answerTimeoutMilliseconds,
      signal,
    }
    const sent = request(options)
    sent.on('upgrade', (answer: IncomingMessage, socket: Duplex, head: Buffer) =>
      done({ kind: 'upgraded', answer, socket, head }),
    )
    sent.on('response', (answer: IncomingMessage) => done({ kind: 'refused', answer }))
    let isConnected = false
    sent.on('socket', (socket) => socket.once('secureConnect', () => (isConnected = true)))
    // As undici calls it: a silent address differs from a cluster that was reached and does not answer.
    sent.on('timeout', () =>
      sent.destroy(
        Object.assign(new Error('no answer in time'), { code: isConnected ? 'UND_ERR_HEADERS_TIMEOUT' : 'ETIMEDOUT' }),
      ),
    )
    sent.on('error', (error) => done({ kind: 'failed', failure: toReachFailure(error) }))
    sent.end()
  })

/** Relays an upgraded connection as bytes, or answers with the cluster's refusal. */
export const tunnel = async (
  { credential, via }: Endpoint,
  egress: EgressPolicy,
  askHub: AskHub,
  upstream: UpstreamRequest,
  exchange: UpgradeExchange,
  signal: AbortSignal,
  opened: (socket: Duplex) => void,
): Outcome<ReachFailure, void> => {
  const answered = await ask(credential, egress, upstream, signal)
  if (answered.kind === 'failed') return left(namingHub(answered.failure, via))
  if (answered.kind === 'upgraded' && answered.answer.statusCode === 101) {
    const { socket } = answered
    socket.on('error', () => socket.destroy())
    opened(socket)
    if ('setTimeout' in socket && typeof socket.setTimeout === 'function') socket.setTimeout(0)
    // The client may have disconnected while the cluster answered; its `close` event would not be seen again.
    if (signal.aborted) socket.destroy()
    else
      await joinStreams(
        exchange.accept(upstream.acceptHeaders(answered.answer.headers)),
        exchange.head,
        socket as ByteDuplex,
        answered.head,
      )
    return right(undefined)
  }
  const { answer } = answered
  if (answered.kind === 'upgraded') {
    answered.socket.destroy()
    return left(ClusterUnreachable('The cluster answered an upgrade in a way that is not understood.'))
  }
  if (answer.statusCode === 401 && via === undefined && upstream.isForeign !== true) {
    answer.destroy()
    return left(CredentialRefused('The cluster refused the stored credential.'))
  }
  const body = await readRefusal(answer).catch(() => new Uint8Array())
  answer.destroy()
  const status = answer.statusCode ?? 500
  if (via === undefined ? status === 401 : isDoubtful(status)) {
    const text = Buffer.from(body).toString('utf8')
    const judged = { status, text, json: jsonOf(text) }
    const failure =
      via === undefined ? judgeForeign(judged) : await judgeAnswer(judged, via, askHub, upstream.isForeign)
    if (failure !== undefined) return left(failure)
  }
  exchange.refuse(
    status,
    upstream.answerHeaders(answer.headers).filter(([name]) => name !== 'content-length'),
    body,
  )
  return right(undefined)
}
