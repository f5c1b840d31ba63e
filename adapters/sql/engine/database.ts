import type { SqlDatabase } from '../kit/statement.ts'
import type { MysqlOptions, MysqlPlace } from './mysql-pool.ts'
import type { SqliteOptions } from './sqlite-database.ts'
import { openSqliteDatabase } from './sqlite-database.ts'

export interface DatabaseOptions {
  readonly sqlite?: SqliteOptions
  readonly mysql?: MysqlOptions
}

const forms = 'sqlite:PATH, sqlite::memory:, mysql://user:password@host:port/name or mysql+unix://user@/name?socket=PATH'

const wrong = (): Error => new Error(`The database URL is not understood; it is one of ${forms}.`)

/**
 * Opens the database in `MOORAGE_DATABASE_URL` without migrating it. Throws on a URL of another form; the message does not
 * repeat the URL, which may contain a password. A MySQL server is first contacted by the first statement.
 */
export const openDatabase = async (url: string, options: DatabaseOptions = {}): Promise<SqlDatabase> => {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length)
    if (path === '') throw wrong()
    return openSqliteDatabase(path, options.sqlite)
  }
  const place = url.startsWith('mysql+unix:') ? parseSocketUrl(url) : parseMysqlUrl(url)
  if (place === undefined) throw wrong()
  // Loaded only for this kind of database.
  const { openMysqlDatabase } = await import('./mysql-database.ts')
  return openMysqlDatabase(place, options.mysql)
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** `mysql://user:password@host:port/name`; user, password and name are percent-decoded. */
export const parseMysqlUrl = (url: string): MysqlPlace | undefined => {
  if (!url.startsWith('mysql://') || !URL.canParse(url)) return undefined
  const { hostname, port, username, password, pathname, search, hash } = new URL(url)
  const database = decoded(pathname.slice(1))
  const user = decoded(username)
  const secret = decoded(password)
  if (hostname === '' || !database || !user || secret === undefined || search !== '' || hash !== '') return undefined
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return { host, port: port === '' ? 3306 : Number(port), user, password: secret, database }
}

const socketForm = /^mysql\+unix:\/\/([^:@/?#]+)(?::([^@/?#]*))?@\/([^?#]+)\?socket=([^&#]+)$/

/** `mysql+unix://user@/name?socket=PATH`; all parts are percent-decoded. */
export const parseSocketUrl = (url: string): MysqlPlace | undefined => {
  const found = socketForm.exec(url)
  if (found === null) return undefined
  const [user, password, database, socketPath] = found.slice(1, 5).map((part) => decoded(part ?? ''))
  if (!user || password === undefined || !database || !socketPath) return undefined
  return { socketPath, user, password, database }
}

/** Whether the database answers, with a reason in plain words if it does not. */
export type DatabaseHealth = { readonly isHealthy: true } | { readonly isHealthy: false; readonly message: string }

const boundMilliseconds = 1000

/** Checks that the database answers within one second. Concurrent callers share one check. */
export const makeDatabaseHealth = (database: SqlDatabase): (() => Promise<DatabaseHealth>) => {
  const ping = database.prepare((k) => k.raw('select 1 as one'))
  let asking: Promise<DatabaseHealth> | undefined
  const ask = async (): Promise<DatabaseHealth> => {
    try {
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
      timer = setTimeout(() => resolve({ isHealthy: false, message: 'The database did not answer within a second.' }), boundMilliseconds)
    })
    try {
      return await Promise.race([asking, tooLate])
    } finally {
      clearTimeout(timer)
    }
  }
}
