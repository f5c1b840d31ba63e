import type { NameResolver } from '../../adapters/outbound/name-resolver.ts'
import type { LogScope } from '../../adapters/logging/bunyan-log.ts'
import type { ReadingBudgets } from '../../adapters/outbound/reading-budgets.ts'
import type { TlsIdentity } from '../../adapters/security/tls-identity.ts'
import type { HeldObjects, ObjectRows } from '../../adapters/sql/kit/object-rows.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { HelperProcesses } from '../../adapters/system/helper-processes.ts'
import type { SharedClock } from '../../adapters/system/shared-clock.ts'
import type { Catalogue } from '../../core/authz/types.ts'
import type { SentSubject } from '../../core/bus/types.ts'
import type { Deployment } from '../../core/kernel/deployment.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { PoolLoad, Tracing } from '../../core/platform/ports.ts'
import type { Secret, SecretBox } from '../../core/kernel/secret.ts'
import type { ListenAddress } from './setting-type.ts'
import { showAddress } from './setting-type.ts'
import type { RuntimeSettings } from './runtime-settings.ts'

/** Keys from the key ring that are not key-encryption keys, 32 bytes each. */
export interface ServiceKeys {
  /** HMAC-SHA256 key for values that the audit log keeps comparable but unreadable. */
  readonly audit: Secret<Uint8Array>
  /** HMAC-SHA256 key that binds a CSRF value to its session. */
  readonly csrf: Secret<Uint8Array>
}

/** Bounded pools, such as threads, by name. */
export interface WatchedPools {
  watch(name: string, load: () => PoolLoad): void
  loads(): Readonly<Record<string, PoolLoad>>
}

export const makeWatchedPools = (): WatchedPools => {
  const pools = new Map<string, () => PoolLoad>()
  return {
    watch: (name, load) => void pools.set(name, load),
    loads: () => Object.fromEntries([...pools].map(([name, load]) => [name, load()])),
  }
}

/** Messages to the other processes of this instance. One that cannot be sent is dropped and counted. */
export interface Topic<Message> {
  /** Sends to each of the others, in the order of calls. Never throws and never waits. `message` is plain JSON. */
  send(message: Message): void
  onMessage(listener: (message: Message) => void): void
}

/** The processes of this instance (MOORAGE_WORKERS). docs/decisions/workers.md says which limit they share, and how. */
export interface Processes {
  readonly count: number
  /** Returns the part of a limit of the instance that this process has. The parts of all processes add up to it. */
  share(total: number): number
  /** Returns the messages of a name that is used once in a process; undefined if this process is the only one. */
  topic<Message>(name: string): Topic<Message> | undefined
}

/** The facts that exist before any port is made. A part sees the settings of the runtime and its own. */
export interface Boot<OwnSettings = unknown> {
  readonly settings: RuntimeSettings & OwnSettings
  readonly deployment: Deployment
  readonly log: Log
  readonly database: SqlDatabase
  /** The clock of the database. */
  readonly clock: SharedClock
  readonly secretBox: SecretBox
  /** Set when the API port speaks both HTTPS and HTTP. */
  readonly tls: TlsIdentity | undefined
  readonly keys: ServiceKeys
  readonly catalogue: Catalogue
  /** The rows of every object type. */
  readonly objectRows: readonly ObjectRows[]
  /** What programs of accounts send to parts by the message bus. Those of closed parts are among them. */
  readonly subjects: readonly SentSubject[]
  /** Finds the objects that prevent the deletion of an account. */
  readonly heldObjects: HeldObjects
  /** Bounds what other servers may send. One for the service. */
  readonly readings: ReadingBudgets
  /** Looks up the hosts that users enter. */
  readonly resolver: NameResolver
  /** Identifies this process among several instances. New at each start. */
  readonly instanceId: string
  /** Traces; off unless the settings name a receiver. */
  readonly tracing: Tracing
  /** Names the work that writes a line of the log. */
  readonly scope: LogScope
  /** Bounded pools that the metrics show. */
  readonly pools: WatchedPools
  /** Processes that this one starts. */
  readonly helpers: HelperProcesses
  readonly processes: Processes
  /**
   * Returns `{base_url}` without a trailing slash: MOORAGE_BASE_URL, or the address to which the API listener is bound.
   */
  baseUrl(): string
  /** Returns every setting of the deployment as `moorage config print` shows it. */
  shownSettings(): Readonly<Record<string, unknown>>
}

/** The service does not start, for reasons that its operator can act on. Each reason is one sentence. */
export class StartRefused extends Error {
  readonly problems: readonly string[]
  /** @param cause the error that the problems describe, if it decides whether the start is tried again. */
  constructor(problems: readonly string[], cause?: unknown) {
    super(problems.join('\n'), { cause })
    this.name = 'StartRefused'
    this.problems = problems
  }
}

/** The process was asked to stop while its start waited. */
export class StartStopped extends Error {
  constructor() {
    super('The start was stopped while it waited for the database.')
    this.name = 'StartStopped'
  }
}

/** Returns one sentence about a listener that could not be bound. `name` is the variable of its setting. */
export const bindProblem = (name: string, address: ListenAddress, cause: unknown): string =>
  `${name}: ${showAddress(address)} cannot be bound: ${reasonOfBinding((cause as NodeJS.ErrnoException).code)}.`

const reasonOfBinding = (code: string | undefined): string => {
  switch (code) {
    case 'EADDRINUSE':
      return 'another process listens there'
    case 'EACCES':
      return 'this user may not bind that port'
    case 'EADDRNOTAVAIL':
      return 'this machine does not have that address'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'that name leads to no address'
    default:
      return `the system says ${code ?? 'no'}`
  }
}

/** Runs `bind`, and throws StartRefused if it fails. */
export const orBindRefused = async <A>(name: string, address: ListenAddress, bind: () => Promise<A>): Promise<A> => {
  try {
    return await bind()
  } catch (cause) {
    throw new StartRefused([bindProblem(name, address, cause)])
  }
}
