import mysql, { type Connection, type Pool, type PoolConnection, type PoolOptions } from 'mysql2'
import { definedFields } from '../../../core/kernel/json.ts'
import type { AccountKey } from '../../../core/kernel/fair-queue.ts'
import { isConnectionLost } from '../kit/driver-errors.ts'
import { makeAbandonedStatements, type KnownServer } from './mysql-abandoned.ts'
import { makeSilence, type Silence } from './mysql-liveness.ts'
import { isTimedOut, timedOut } from './mysql-statement.ts'
import { makeWaitQueue, type QueueLoad, type WaitingAccount, type WaitQueue } from './wait-queue.ts'

/** The address of the server and the user to connect with. */
export interface MysqlPlace extends Pick<
  PoolOptions,
  'host' | 'port' | 'socketPath' | 'user' | 'password' | 'database'
> {
  /** With it, a server that does not prove its host name over TLS gets no password and no statement. */
  readonly tls?: MysqlTls
}

export interface MysqlTls {
  /** The authorities as PEM. Without them, those of Node.js. */
  readonly ca?: string
}

export interface MysqlOptions {
  /** Connections of this process. All instances share the server's limit. */
  readonly connectionLimit?: number
  readonly connectTimeoutMilliseconds?: number
  /** How long a statement waits for a free connection. */
  readonly acquireTimeoutMilliseconds?: number
  /**
   * From the request for a connection to the last row. The connection of a statement that takes longer is destroyed.
   */
  readonly statementTimeoutMilliseconds?: number
  /** How long a connection that is not in use is kept. */
  readonly idleTimeoutMilliseconds?: number
  /** Accounts that wait for a connection get one in turn. */
  readonly account?: WaitingAccount
}

interface Limits {
  readonly connectionLimit: number
  readonly connectTimeoutMilliseconds: number
  readonly idleTimeoutMilliseconds: number
  readonly statementTimeoutMilliseconds: number
}

/** A connection pool in which every wait is bounded. */
export interface MysqlPool {
  readonly limits: Limits
  /**
   * Passes a connection with the session settings, or an error; without a wait while the server has stopped answering.
   * The caller must `release` or destroy the connection.
   */
  acquire(done: (error: unknown, connection?: PoolConnection) => void): void
  release(connection: PoolConnection): void
  /** Closes a connection that is in use and is no longer reliable. */
  destroy(connection: PoolConnection): void
  /**
   * Closes a connection whose statement timed out. The server ends the statement and rolls back its transaction, if it
   * can be reached.
   */
  abandon(connection: PoolConnection): void
  /** Records how a statement ended, for later statements. */
  note(error: unknown): void
  /** Opens a connection outside the pool, without limits on its statements. */
  openUnbounded(): Promise<Connection>
  load(): QueueLoad
  close(): Promise<void>
}

const shared = ({ tls, ...place }: MysqlPlace, connectTimeoutMilliseconds: number): PoolOptions => ({
  ...place,
  // By default the driver does not compare the name of the host.
  ...(tls === undefined
    ? {}
    : { ssl: { ...tls, rejectUnauthorized: true, verifyIdentity: true, minVersion: 'TLSv1.2' } }),
  charset: 'utf8mb4_bin',
  connectTimeout: connectTimeoutMilliseconds,
  enableKeepAlive: true,
  keepAliveInitialDelay: 10_000,
  // An integer beyond 2^53 is returned as text, which the runner refuses or converts to a bigint.
  supportBigNumbers: true,
  multipleStatements: false,
  dateStrings: true,
  timezone: 'Z',
  flags: ['-LOCAL_FILES'],
  maxPreparedStatements: 1000,
})

/** The other connections are left to others while statements of one account are slow, or wait for its locks. */
const mostOfOneAccount = (connectionLimit: number): number => Math.ceil(connectionLimit * 0.8)

export const makeMysqlPool = (place: MysqlPlace, options: MysqlOptions): MysqlPool => {
  const connectionLimit = options.connectionLimit ?? 10
  const limits = {
    connectionLimit,
    connectTimeoutMilliseconds: options.connectTimeoutMilliseconds ?? 3000,
    idleTimeoutMilliseconds: options.idleTimeoutMilliseconds ?? 20_000,
    statementTimeoutMilliseconds: options.statementTimeoutMilliseconds ?? 4500,
  }
  const pool = mysql.createPool({
    ...shared(place, limits.connectTimeoutMilliseconds),
    connectionLimit,
    // Must be below the limit, or mysql2 keeps idle connections forever.
    maxIdle: Math.max(connectionLimit - 1, 1),
    idleTimeout: limits.idleTimeoutMilliseconds,
  })
  const places = makeWaitQueue(
    connectionLimit,
    options.acquireTimeoutMilliseconds ?? 2000,
    'The database is busy: no connection came free in time. Try again.',
    definedFields({ account: options.account, perAccount: mostOfOneAccount(connectionLimit) }),
  )
  const ready = new WeakMap<object, KnownServer>()
  const open = new Set<PoolConnection>()
  const lent = new Map<PoolConnection, AccountKey>()
  const silence = makeSilence({
    statementMilliseconds: limits.statementTimeoutMilliseconds,
    ask: async () => {
      const probe = await openUnbounded(place, limits)
      silence.heard()
      probe.destroy()
    },
    // Idle connections use the same dead link, and each would be detected only by a statement that times out.
    onSilent: () => {
      for (const connection of open) if (!lent.has(connection)) connection.destroy()
    },
  })
  pool.on('connection', (connection) => {
    open.add(connection)
    connection.once('end', () => open.delete(connection))
    connection.once('error', () => open.delete(connection))
  })
  const destroy = (connection: PoolConnection): void => {
    const account = lent.get(connection)
    open.delete(connection)
    lent.delete(connection)
    connection.destroy()
    places.release(account)
  }
  const abandoned = makeAbandonedStatements({
    open: () => openUnbounded(place, limits),
    waitMilliseconds: limits.statementTimeoutMilliseconds,
  })
  return {
    limits,
    load: () => places.load(),
    acquire: (done) => acquire({ pool, places, ready, lent, silence, destroy, limits }, done),
    note: (error) => {
      if (isTimedOut(error)) silence.gaveUp()
      else if (error === undefined || !isConnectionLost(error)) silence.heard()
    },
    release: (connection) => {
      const account = lent.get(connection)
      lent.delete(connection)
      connection.release()
      places.release(account)
    },
    destroy,
    abandon: (connection) => {
      destroy(connection)
      abandoned.end({ id: connection.threadId, server: ready.get(connection) })
    },
    openUnbounded: () => openUnbounded(place, limits),
    close: () => {
      silence.close()
      return closePool(pool, open)
    },
  }
}

interface Acquiring {
  readonly pool: Pool
  readonly places: WaitQueue
  /** The server of each connection that has its settings. */
  readonly ready: WeakMap<object, KnownServer>
  /** The connections in use, and the accounts that use them. */
  readonly lent: Map<PoolConnection, AccountKey>
  readonly silence: Silence
  readonly destroy: (connection: PoolConnection) => void
  readonly limits: Limits
}

// There are as many places as connections in the pool, so that the pool itself never queues.
const acquire = (acquiring: Acquiring, done: (error: unknown, connection?: PoolConnection) => void): void => {
  const { places, silence } = acquiring
  silence.whenHeard((silent) => {
    if (silent !== undefined) return done(silent)
    places.take((refused, account) => {
      if (refused !== undefined) return done(refused)
      // The server may have stopped answering during this wait.
      silence.whenHeard((nowSilent) => {
        if (nowSilent === undefined) return connect(acquiring, account, done)
        places.release(account)
        done(nowSilent)
      })
    })
  })
}

const connect = (
  { pool, places, ready, lent, silence, destroy, limits }: Acquiring,
  account: AccountKey,
  done: (error: unknown, connection?: PoolConnection) => void,
): void => {
  pool.getConnection((error, connection) => {
    if (error !== null) {
      if (error.code === 'ETIMEDOUT') silence.gaveUp()
      places.release(account)
      return done(error)
    }
    lent.set(connection, account)
    if (ready.has(connection)) return done(undefined, connection)
    const at = performance.now()
    setUp(connection, limits.statementTimeoutMilliseconds, limitsOf(limits), (failed, host) => {
      if (host === undefined) {
        destroy(connection)
        return done(failed)
      }
      ready.set(connection, { host, at })
      done(undefined, connection)
    })
  })
}

const sqlMode =
  'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY'

/** The server's own limits for a session; 0 means none. */
interface ServerLimits {
  readonly statementMilliseconds: number
  readonly rowLockSeconds: number
  /** For a schema change: how long it waits, and delays others, for transactions on its table. */
  readonly schemaLockSeconds: number
  /** How long the server keeps a connection, and the locks of its transaction, without a statement. */
  readonly idleSeconds: number
}

/**
 * The server times out before this process does, so that a slow statement frees its locks and keeps its connection.
 * MySQL, unlike MariaDB, bounds only reads; a slow change is ended there when it is abandoned. An idle connection is
 * closed by the pool before the server closes it. If the machine of this process fails, or the link to it, the server
 * frees the locks of an open transaction after that time.
 */
const limitsOf = ({ statementTimeoutMilliseconds, idleTimeoutMilliseconds }: Limits): ServerLimits => ({
  statementMilliseconds: Math.max(Math.floor(statementTimeoutMilliseconds * 0.9), 1),
  rowLockSeconds: Math.max(Math.floor((statementTimeoutMilliseconds * 0.8) / 1000), 1),
  schemaLockSeconds: 5,
  idleSeconds: Math.ceil((idleTimeoutMilliseconds * 1.5) / 1000),
})

/**
 * The settings of every session, regardless of the server's defaults. An administrator can change each of them for the
 * whole server, and each changes what a statement does: without autocommit, what is written outside a transaction is
 * lost when its connection ends.
 *
 * @internal
 */
export const sessionSettings = (version: string, limits: ServerLimits): string => {
  const ofProduct = /mariadb/i.test(version)
    ? [`max_statement_time = ${limits.statementMilliseconds / 1000}`]
    : [
        `max_execution_time = ${limits.statementMilliseconds}`,
        // By default MySQL tells sizes and next numbers of tables as they were up to a day ago.
        'information_schema_stats_expiry = 0',
      ]
  const settings = [
    'autocommit = 1',
    'completion_type = 0',
    `sql_mode = '${sqlMode}'`,
    `time_zone = '+00:00'`,
    'foreign_key_checks = 1',
    'unique_checks = 1',
    'sql_auto_is_null = 0',
    'sql_safe_updates = 0',
    'sql_big_selects = 1',
    // No limit. Vitess does not read greater numbers.
    'sql_select_limit = 9223372036854775807',
    // 1 KiB by default on MySQL, 1 MiB on MariaDB.
    'group_concat_max_len = 1048576',
    'net_read_timeout = 30',
    'net_write_timeout = 60',
    `wait_timeout = ${limits.idleSeconds}`,
    `innodb_lock_wait_timeout = ${limits.rowLockSeconds}`,
    `lock_wait_timeout = ${limits.schemaLockSeconds}`,
    ...ofProduct,
  ]
  return `set ${settings.map((setting) => `session ${setting}`).join(', ')}`
}

const setUp = (
  connection: Connection,
  waitMilliseconds: number,
  limits: ServerLimits,
  done: (failed: unknown, host?: string) => void,
): void => {
  let isDone = false
  const end = (failed: unknown, host?: string): void => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    done(failed, host)
  }
  const timer = setTimeout(() => end(timedOut('the settings of a new connection')), waitMilliseconds)
  connection.query('select version() as version, @@hostname as host', (error, rows) => {
    if (error !== null) return end(error)
    const { version = '', host = '' } = (rows as { version?: string; host?: string }[])[0] ?? {}
    connection.query('set session transaction isolation level read committed, read write', (isolationError) => {
      if (isolationError !== null) return end(isolationError)
      connection.query(sessionSettings(version, limits), (settingsError) =>
        settingsError === null ? end(undefined, host) : end(settingsError),
      )
    })
  })
}

const schemaLimits: ServerLimits = {
  statementMilliseconds: 0,
  rowLockSeconds: 60,
  schemaLockSeconds: 60,
  idleSeconds: 3600,
}

const openUnbounded = (place: MysqlPlace, limits: Limits): Promise<Connection> =>
  new Promise((resolve, reject) => {
    // Values of a JSON column of a part from outside are copied as they are.
    const connection = mysql.createConnection({
      ...shared(place, limits.connectTimeoutMilliseconds),
      jsonStrings: true,
    })
    connection.on('error', () => undefined)
    connection.connect((error) => {
      if (error !== null) return reject(error)
      setUp(connection, limits.statementTimeoutMilliseconds, schemaLimits, (failed, host) => {
        if (host !== undefined) return resolve(connection)
        connection.destroy()
        reject(failed)
      })
    })
  })

// On a link without answers a graceful close would block.
const farewellMilliseconds = 1000

const closePool = (pool: Pool, open: ReadonlySet<PoolConnection>): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => {
      for (const connection of open) connection.destroy()
      resolve()
    }, farewellMilliseconds)
    pool.end(() => {
      clearTimeout(timer)
      resolve()
    })
  })
