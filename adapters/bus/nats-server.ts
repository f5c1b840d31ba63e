import type { NatsConnection } from '@nats-io/transport-node'
import type { BusServer, SystemLogin } from '../../core/bus/ports.ts'
import { Unavailable } from '../../core/kernel/failure.ts'
import type { Log } from '../../core/kernel/log.ts'
import { makeKeptConnection } from './nats-connection.ts'
import { toWireJson } from '../../core/kernel/json.ts'

export interface NatsServerOptions {
  /** Each is `host:port` or `nats://host:port`. */
  readonly servers: readonly string[]
  readonly endpoints: readonly string[]
  /** Returns a fresh login, or undefined while the deployment has no keys. */
  readonly login: () => Promise<SystemLogin | undefined>
  readonly log: Log
}

const answerTimeoutMs = 2_000
const away = 'The message bus does not answer at present. Try again.'

/** Sends a request to the system account of the server. Throws Unavailable. */
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

/** Returns the claims that the server has for an account. The server returns nothing for an unknown account. */
export const lookUpClaims = async (
  connection: NatsConnection | undefined,
  publicKey: string,
): Promise<string | undefined> => {
  const text = await ask(connection, `$SYS.REQ.ACCOUNT.${publicKey}.CLAIMS.LOOKUP`)
  return text === '' ? undefined : text
}

/** BusServer over NATS in operator mode with a full resolver. */
export const makeNatsServer = ({ servers, endpoints, login, log }: NatsServerOptions): BusServer => {
  const kept = makeKeptConnection({ servers, login, log, purpose: 'accounts' })
  return {
    isConfigured: true,
    endpoints,
    claimsOf: (publicKey) => lookUpClaims(kept.current(), publicKey),
    push: async (claims) => {
      const { error, data } = envelopeOf(await ask(kept.current(), '$SYS.REQ.CLAIMS.UPDATE', claims))
      if (error !== undefined)
        throw new Error(`The message bus refused the claims of an account: ${error.description ?? 'without a reason'}.`)
      if (data === undefined) throw new Unavailable(away)
    },
    accounts: async () => {
      const { data } = envelopeOf(await ask(kept.current(), '$SYS.REQ.CLAIMS.LIST'))
      if (!Array.isArray(data)) throw new Unavailable(away)
      return new Set(data.map(String))
    },
    start: kept.start,
    isConnected: () => kept.current() !== undefined,
    close: kept.close,
  }
}

const refuse = (): Promise<never> =>
  Promise.reject(new Error('Messages stay inside this process: there is no server to ask.'))

/** BusServer for messages that stay inside the process. */
export const noBusServer: BusServer = {
  isConfigured: false,
  endpoints: [],
  claimsOf: refuse,
  push: refuse,
  accounts: refuse,
  start: () => undefined,
  isConnected: () => false,
  close: () => Promise.resolve(),
}

/** The parts of a nats-server configuration that depend on the deployment. */
export interface NatsConfiguration {
  /** `host:port`. */
  readonly listen: string
  /** `host:port` of the websocket listener for browsers. */
  readonly websocket: string
  readonly storeFolder: string
  /** The origin of the pages that may open the websocket. It is checked because browsers send the cookie unasked. */
  readonly origin: string
  /** The cookie in which browsers send their pass. */
  readonly cookie: string
  readonly operatorClaims: string
  readonly systemAccount: string
  /** The initial claims of the system account and the platform account, by public key. */
  readonly accounts: Readonly<Record<string, string>>
}

const quoted = (text: string): string => toWireJson(text)

/**
 * Returns the configuration file of a nats-server. It holds no secret: claims are signed, not encrypted, and keys stay
 * in Moorage's database.
 */
export const natsConfiguration = ({
  listen,
  websocket,
  storeFolder,
  origin,
  cookie,
  operatorClaims,
  systemAccount,
  accounts,
}: NatsConfiguration): string =>
  `# nats-server for Moorage, printed by: moorage bus init
# Nothing in it is secret. Start with: nats-server -c FILE
listen: ${quoted(listen)}

# Signed by Moorage: accounts are accepted when this operator has signed them.
operator: ${operatorClaims}
system_account: ${systemAccount}

# Account claims are kept here; Moorage hands them over while it runs. Put the folder on a disk that lasts.
resolver: {
  type: full
  dir: ${quoted(`${storeFolder}/accounts`)}
  allow_delete: false
  interval: "2m"
}
resolver_preload: {
${Object.entries(accounts)
  .map(([key, claims]) => `  ${key}: ${claims}`)
  .join('\n')}
}

jetstream: {
  store_dir: ${quoted(`${storeFolder}/jetstream`)}
}

# Browsers: put a TLS proxy before it (or a tls block instead of no_tls); it must be reached on the domain of Moorage, whose cookie it reads.
websocket: {
  listen: ${quoted(websocket)}
  no_tls: true
  allowed_origins: [${quoted(origin)}]
  jwt_cookie: ${quoted(cookie)}
}
`
