import { setTimeout as delay } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/transport-node'
import type { SystemLogin } from '../../core/bus/ports.ts'
import type { Log } from '../../core/kernel/log.ts'

/**
 * Returns the servers of MOORAGE_BUS_URL, each as `nats://host:port`. User and password are dropped: a server that uses
 * claims ignores them.
 */
export const natsServers = (busUrl: string): readonly string[] =>
  busUrl
    .split(',')
    .map((part) => part.trim().replace(/^nats:\/\//, ''))
    .map((part) => part.slice(part.lastIndexOf('@') + 1))
    .filter((part) => part !== '')
    .map((part) => `nats://${part}`)

export interface KeptConnectionOptions {
  /** Each is `host:port` or `nats://host:port`. */
  readonly servers: readonly string[]
  /** Returns a fresh login, or undefined while the deployment has no keys. */
  readonly login: () => Promise<SystemLogin | undefined>
  readonly log: Log
  /** The purpose of the connection, for the log. */
  readonly purpose: string
  /** Called on each connection and reconnection. If it throws, the connection is closed and opened again. */
  readonly onUp?: (connection: NatsConnection) => Promise<void>
}

/** A connection to the message bus that is re-established for as long as the service runs. */
export interface KeptConnection {
  /** Returns undefined while the bus is not connected. */
  current(): NatsConnection | undefined
  start(): void
  close(): Promise<void>
}

const connectTimeoutMs = 5_000
const shortestPauseMs = 500
const longestPauseMs = 10_000

/**
 * Opens a connection with claims of this deployment. It reconnects by itself, without limit, unless the options say
 * otherwise.
 */
export const connectBy = async (
  { servers }: Pick<KeptConnectionOptions, 'servers'>,
  { claims, seed }: SystemLogin,
  reconnects = true,
): Promise<NatsConnection> => {
  // Loaded only where a message bus is configured.
  const { connect, jwtAuthenticator } = await import('@nats-io/transport-node')
  return connect({
    servers: [...servers],
    name: 'moorage',
    authenticator: jwtAuthenticator(claims, new TextEncoder().encode(seed.reveal())),
    timeout: connectTimeoutMs,
    reconnect: reconnects,
    maxReconnectAttempts: -1,
    reconnectTimeWait: shortestPauseMs,
    ignoreAuthErrorAbort: reconnects,
  })
}

export const makeKeptConnection = ({
  servers,
  login,
  log,
  purpose,
  onUp = async () => undefined,
}: KeptConnectionOptions): KeptConnection => {
  const stopping = new AbortController()
  let connection: NatsConnection | undefined
  let isUp = false
  let running: Promise<void> | undefined

  const watch = async (open: NatsConnection): Promise<void> => {
    for await (const { type } of open.status()) {
      if (type === 'disconnect' || type === 'staleConnection') isUp = false
      if (type === 'disconnect') log.warn({ purpose }, 'the message bus is unavailable')
      if (type !== 'reconnect') continue
      isUp = true
      log.info({ purpose }, 'the message bus is available again')
      onUp(open).catch(async (error: unknown) => {
        log.warn(
          { purpose, reason: (error as Error).message },
          'the message bus is available again, but not all of it; connecting again',
        )
        isUp = false
        await open.close()
      })
    }
  }

  const once = async (): Promise<void> => {
    const given = await login()
    if (given === undefined || stopping.signal.aborted) return
    connection = await connectBy({ servers }, given)
    await onUp(connection).catch(async (error: unknown) => {
      await connection?.close()
      throw error
    })
    isUp = true
    log.info({ purpose, server: connection.getServer() }, 'connected to the message bus')
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
        if (reason !== told) log.warn({ purpose, reason }, 'the message bus cannot be reached; retrying')
        told = reason
      }
      await delay(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
    }
  }

  return {
    current: () => (isUp ? connection : undefined),
    start: () => void (running ??= loop()),
    close: async () => {
      stopping.abort()
      await connection?.close()
      await running
    },
  }
}
