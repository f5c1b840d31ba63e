import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { SqlDatabase } from '../kit/statement.ts'
import type { MysqlOptions, MysqlPlace, MysqlTls } from './mysql-pool.ts'
import type { SqliteOptions } from './sqlite-database.ts'
import { openSqliteDatabase } from './sqlite-database.ts'
import { refusesChanges } from '../kit/driver-errors.ts'

export interface DatabaseOptions {
  readonly sqlite?: SqliteOptions
  readonly mysql?: MysqlOptions
}

const forms =
  'sqlite:PATH, sqlite::memory:, mysql://user:password@host:port/name (?tls=required and &ca=PATH for TLS) ' +
  'or mysql+unix://user@/name?socket=PATH'

const wrong = (): Error => new Error(`The database URL is not understood; it is one of ${forms}.`)

/**
 * Opens the database in `MOORAGE_DATABASE_URL` without migrating it. Throws on a URL of another form; the message does
 * not repeat the URL, which may contain a password. A MySQL server is first contacted by the first statement.
 */
export const openDatabase = async (url: string, options: DatabaseOptions = {}): Promise<SqlDatabase> => {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length)
    if (path === '') throw wrong()
    return openSqliteDatabase(path, options.sqlite)
  }
  const found = url.startsWith('mysql+unix:') ? parseSocketUrl(url) : parseMysqlUrl(url)
  if (found === undefined) throw wrong()
  const { authorityFile, ...place } = found
  const tls = authorityFile === undefined ? undefined : await readTls(place.host, authorityFile)
  // Loaded only for this kind of database.
  const { openMysqlDatabase } = await import('./mysql-database.ts')
  return openMysqlDatabase(tls === undefined ? place : { ...place, tls }, options.mysql)
}

/** A server as a database URL names it. */
export interface MysqlAddress extends Omit<MysqlPlace, 'tls'> {
  /** Set if TLS is required: the file with the authorities, or empty for those of Node.js. */
  readonly authorityFile?: string
}

const readTls = async (host: string | undefined, authorityFile: string): Promise<MysqlTls> => {
  // The driver would compare the certificate of an address with another name.
  if (isIP(host ?? '') !== 0)
    throw new Error(
      'With tls=required, the database URL must have the name of the host: its address cannot be verified.',
    )
  if (authorityFile === '') return {}
  const named = `The file ${authorityFile}, which the database URL names as ca,`
  const ca = await readFile(authorityFile, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${named} cannot be read.`, { cause })
  })
  // An empty file would count as none.
  if (!ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error(`${named} has no certificate in PEM.`)
  return { ca }
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const tlsForm = /^\?tls=required(?:&ca=([^&]+))?$/

/**
 * `mysql://user:password@host:port/name`; user, password and name are percent-decoded. `?tls=required` verifies the
 * server with the authorities of Node.js, `?tls=required&ca=PATH` with those of a file.
 *
 * @internal
 */
export const parseMysqlUrl = (url: string): MysqlAddress | undefined => {
  if (!url.startsWith('mysql://') || !URL.canParse(url)) return undefined
  const { hostname, port, username, password, pathname, search, hash } = new URL(url)
  const database = decoded(pathname.slice(1))
  const user = decoded(username)
  const secret = decoded(password)
  const tls = tlsForm.exec(search)
  const authorityFile = tls === null ? undefined : decoded(tls[1] ?? '')
  if (
    hostname === '' ||
    !database ||
    !user ||
    secret === undefined ||
    (search !== '' && authorityFile === undefined) ||
    hash !== ''
  )
    return undefined
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return {
    host,
    port: port === '' ? 3306 : Number(port),
    user,
    password: secret,
    database,
    ...(authorityFile === undefined ? {} : { authorityFile }),
  }
}

const socketForm = /^mysql\+unix:\/\/([^:@/?#]+)(?::([^@/?#]*))?@\/([^?#]+)\?socket=([^&#]+)$/

/** `mysql+unix://user@/name?socket=PATH`; all parts are percent-decoded. @internal */
export const parseSocketUrl = (url: string): MysqlAddress | undefined => {
  const found = socketForm.exec(url)
  if (found === null) return undefined
  const [user, password, database, socketPath] = found.slice(1, 5).map((part) => decoded(part ?? ''))
  if (!user || password === undefined || !database || !socketPath) return undefined
  return { socketPath, user, password, database }
}

/** Whether the database answers, with a reason in plain words if it does not. */
export type DatabaseHealth = { readonly isHealthy: true } | { readonly isHealthy: false; readonly message: string }

const boundMilliseconds = 1000

/**
 * Checks that the database answers within one second, and keeps what is written. Concurrent callers share one check.
 */
export const makeDatabaseHealth = (database: SqlDatabase): (() => Promise<DatabaseHealth>) => {
  const ping = database.prepare({}, (k) => k.raw('select 1 as one'))
  let asking: Promise<DatabaseHealth> | undefined
  const ask = async (): Promise<DatabaseHealth> => {
    try {
      database.refuseLost()
      await database.first(ping, {})
      return { isHealthy: true }
    } catch (error) {
      return { isHealthy: false, message: error instanceof Error ? error.message : String(error) }
    }
  }
  return async () => {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<DatabaseHealth>((resolve) => {
      timer = setTimeout(
        () => resolve({ isHealthy: false, message: 'The database did not answer within a second.' }),
        boundMilliseconds,
      )
    })
    try {
      return await Promise.race([asking, tooLate])
    } finally {
      clearTimeout(timer)
    }
  }
}

const sizeKeptMs = 60_000

/**
 * Returns a function that returns the bytes of the database by part: `data`, and `wal` of SQLite. A database in memory
 * has none. A server computes its sizes from statistics, at most once a minute.
 */
export const makeDatabaseSize = (
  database: SqlDatabase,
  url: string,
): (() => Promise<Readonly<Record<string, number>>>) => {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length)
    return async () => {
      if (path === ':memory:') return {}
      const [data, wal] = await Promise.all([path, `${path}-wal`].map((file) => stat(file).catch(() => undefined)))
      return { data: data?.size ?? 0, wal: wal?.size ?? 0 }
    }
  }
  let kept: { readonly atMs: number; readonly bytes: number } | undefined
  return async () => {
    const nowMs = performance.now()
    if (kept === undefined || nowMs - kept.atMs > sizeKeptMs) {
      const [row] = await database.query<{ readonly bytes: number | string | null }>((k) =>
        k.raw(
          'select sum(data_length + index_length) as bytes from information_schema.tables where table_schema = database()',
        ),
      )
      kept = { atMs: nowMs, bytes: Number(row?.bytes ?? 0) }
    }
    return { data: kept.bytes }
  }
}

/** The least `max_allowed_packet` of a server, in bytes. A statement may have 4 MiB of values. */
const leastPacket = 16 * 1024 * 1024

/**
 * Returns a sentence for each setting of a MySQL or MariaDB server that makes changes fail, or lets the server lose
 * what it acknowledged, and for tables of a release that is too old. A session can change none of them. Empty for SQLite.
 */
export const unsuitableSettings = async (database: SqlDatabase): Promise<readonly string[]> => {
  if (database.dialect === 'sqlite') return []
  const names = ['max_allowed_packet', 'log_bin', 'binlog_format', 'read_only', 'innodb_flush_log_at_trx_commit']
  const rows = await database.query<{ readonly Variable_name: string; readonly Value: string }>((k) =>
    k.raw(`show global variables where variable_name in (${names.map(() => '?').join(', ')})`, names),
  )
  const [padded] = await database.query<{ readonly tables: number }>((k) =>
    k('information_schema.tables')
      .whereRaw("table_schema = database() and table_collation = 'utf8mb4_bin' and table_name not like 'schema\\_%'")
      .count({ tables: '*' }),
  )
  const values = new Map(rows.map((row) => [row.Variable_name, row.Value]))
  const has = (name: string, value: string): boolean => values.get(name) === value
  return [
    ...(has('read_only', 'OFF') ? [] : ['The server is read-only. Connect to the primary server.']),
    ...(Number(values.get('max_allowed_packet')) < leastPacket
      ? [
          `max_allowed_packet is ${values.get('max_allowed_packet')}: large changes fail. Set it to ` +
            `${leastPacket} or more.`,
        ]
      : []),
    ...(has('log_bin', 'ON') && has('binlog_format', 'STATEMENT')
      ? ['binlog_format is STATEMENT: the server refuses changes. Set it to ROW or MIXED.']
      : []),
    ...(has('innodb_flush_log_at_trx_commit', '1')
      ? []
      : [
          'innodb_flush_log_at_trx_commit is not 1: if the machine of the server fails, acknowledged ' +
            'changes are lost. Set it to 1.',
        ]),
    ...(Number(padded?.tables) === 0
      ? []
      : [
          'The tables were made by MySQL before 8.0.17, which compares text without the spaces at its end. ' +
            'Restore a backup into a new database of a newer server.',
        ]),
  ]
}

/** A database, and whether it takes changes. */
export interface WatchedDatabase {
  readonly database: SqlDatabase
  /**
   * Returns why the database refused a change within the last 30 seconds (read-only, or full), or would refuse one now
   * (its file was removed or replaced), in plain words, or undefined.
   */
  readonly refusal: () => string | undefined
}

/** A full disk may take a small change between large ones that it refuses, so one success proves nothing. */
const keptMs = 30_000

/**
 * Watches the changes that the service makes. No statement is added: each process writes its sign of life every three
 * seconds, so a database that takes no changes is noticed without requests.
 */
export const watchChanges = (
  database: SqlDatabase,
  elapsedMs: () => number = () => performance.now(),
): WatchedDatabase => {
  let last: { readonly atMs: number; readonly message: string } | undefined
  const noted = async <A>(change: Promise<A>): Promise<A> => {
    try {
      return await change
    } catch (error) {
      if (refusesChanges(error)) last = { atMs: elapsedMs(), message: (error as Error).message }
      throw error
    }
  }
  return {
    database: {
      ...database,
      run: (statement, binds) => noted(database.run(statement, binds)),
      transaction: (work) => noted(database.transaction(work)),
    },
    refusal: () => (last !== undefined && elapsedMs() - last.atMs < keptMs ? last.message : lossOf(database)),
  }
}

/** Returns why a change made now would be lost, or undefined. */
const lossOf = (database: SqlDatabase): string | undefined => {
  try {
    database.refuseLost()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
