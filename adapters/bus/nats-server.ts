import { setTimeout as delay } from 'node:timers/promises'
import { connect, jwtAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import type { BusServer, SystemLogin } from '../../core/bus/ports.ts'
import type { Log } from '../../core/kernel/log.ts'
import { Unavailable } from '../../core/kernel/unavailable.ts'

export interface NatsServerOptions {
  /** `host:port` or `nats://host:port`, each. */
  readonly servers: readonly string[]
  readonly endpoints: readonly string[]
  /** A fresh login; undefined while the deployment has no keys. */
  readonly login: () => Promise<SystemLogin | undefined>
  readonly log: Log
}

const answerTimeoutMs = 2_000
const connectTimeoutMs = 5_000
const shortestPauseMs = 500
const longestPauseMs = 10_000
const away = 'The message bus does not answer at present. Try again.'

/** Opens one connection of the system account; afterwards it reconnects by itself, for ever. */
export const connectAsSystem = ({ servers }: Pick<NatsServerOptions, 'servers'>, { claims, seed }: SystemLogin, reconnects = true): Promise<NatsConnection> =>
  connect({
    servers: [...servers],
    name: 'moorage',
    authenticator: jwtAuthenticator(claims, new TextEncoder().encode(seed.reveal())),
    timeout: connectTimeoutMs,
    reconnect: reconnects,
    maxReconnectAttempts: -1,
    reconnectTimeWait: shortestPauseMs,
    ignoreAuthErrorAbort: reconnects,
  })

/** Asks the server for something of the system account; throws Unavailable. */
const ask = async (connection: NatsConnection | undefined, subject: string, payload = ''): Promise<string> => {
  if (connection === undefined || connection.isClosed()) throw new Unavailable(away)
  try {
    const answer = await connection.request(subject, payload, { timeout: answerTimeoutMs })
    return answer.string()
  } catch (cause) {
    throw new Unavailable(away, { cause })
  }
}

interface Envelope {
  readonly data?: unknown
  readonly error?: { readonly description?: string }
}

const envelopeOf = (text: string): Envelope => {
  try {
    return JSON.parse(text) as Envelope
  } catch {
    return {}
  }
}

/** The claims that the server has for an account; it answers nothing for one that it does not know. */
export const lookUpClaims = async (connection: NatsConnection | undefined, publicKey: string): Promise<string | undefined> => {
  const text = await ask(connection, `$SYS.REQ.ACCOUNT.${publicKey}.CLAIMS.LOOKUP`)
  return text === '' ? undefined : text
}

/** BusServer over NATS in operator mode with a full resolver. */
export const makeNatsServer = (options: NatsServerOptions): BusServer => {
  const { log } = options
  const stopping = new AbortController()
  let connection: NatsConnection | undefined
  let isUp = false
  let running: Promise<void> | undefined

  const watch = async (open: NatsConnection): Promise<void> => {
    for await (const { type } of open.status()) {
      if (type === 'disconnect' || type === 'staleConnection') isUp = false
      if (type === 'reconnect') isUp = true
      if (type === 'disconnect') log.warn({}, 'the message bus is away')
      if (type === 'reconnect') log.info({}, 'the message bus is back')
    }
  }

  const once = async (): Promise<void> => {
    const login = await options.login()
    if (login === undefined || stopping.signal.aborted) return
    connection = await connectAsSystem(options, login)
    isUp = true
    log.info({ server: connection.getServer() }, 'connected to the message bus')
    void watch(connection).catch(() => undefined)
    await connection.closed()
    isUp = false
  }

  const loop = async (): Promise<void> => {
    let told = ''
    for (let pauseMs = shortestPauseMs; !stopping.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        await once()
      } catch (error) {
        const reason = (error as Error).message
        if (reason !== told) log.warn({ reason }, 'the message bus cannot be reached; this goes on being tried')
        told = reason
      }
      await delay(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
    }
  }

  return {
    isConfigured: true,
    endpoints: options.endpoints,
    claimsOf: (publicKey) => lookUpClaims(isUp ? connection : undefined, publicKey),
    push: async (claims) => {
      const { error, data } = envelopeOf(await ask(isUp ? connection : undefined, '$SYS.REQ.CLAIMS.UPDATE', claims))
      if (error !== undefined) throw new Error(`The message bus refused the claims of an account: ${error.description ?? 'without a reason'}.`)
      if (data === undefined) throw new Unavailable(away)
    },
    accounts: async () => {
      const { data } = envelopeOf(await ask(isUp ? connection : undefined, '$SYS.REQ.CLAIMS.LIST'))
      if (!Array.isArray(data)) throw new Unavailable(away)
      return new Set(data.map(String))
    },
    start: () => void (running ??= loop()),
    isConnected: () => isUp,
    close: async () => {
      stopping.abort()
      await connection?.close()
      await running
    },
  }
}
