import { mkdirSync } from 'node:fs'
import { openDatabase } from '../adapters/sql/database.ts'
import type { MysqlOptions } from '../adapters/sql/mysql-pool.ts'
import type { SqlDatabase } from '../adapters/sql/statement.ts'
import type { Settings } from './settings.ts'
import { settingsTable } from './settings-table.ts'
import { StartRefused } from './start-refused.ts'

/** Opens the database and asks it for a sign of life, so that a wrong setting is told here. It is not migrated. */
export const openStore = async (settings: Settings): Promise<SqlDatabase> => {
  makeDataFolder(settings.dataDir)
  let database: SqlDatabase | undefined
  try {
    database = await openDatabase(settings.databaseUrl.reveal(), { mysql: limitsWithin(settings.databaseTimeoutSeconds) })
    await signOfLife(database)
    return database
  } catch (cause) {
    await database?.close().catch(() => undefined)
    throw new StartRefused([databaseTrouble(settings, cause)])
  }
}

/** A statement has nine tenths of the time: the rest is for noticing that it ended. */
const limitsWithin = (seconds: number): MysqlOptions => ({
  connectTimeoutMilliseconds: seconds * 600,
  acquireTimeoutMilliseconds: seconds * 400,
  statementTimeoutMilliseconds: seconds * 900,
})

/** SQLite looks at its file no earlier than at the first table. */
const signOfLife = (database: SqlDatabase): Promise<unknown> =>
  database.query((k) => (database.dialect === 'sqlite' ? k('sqlite_master').count() : k.raw('select 1')))

/** What a database refused, in one sentence that says which one it was; never with its password. */
export const databaseTrouble = ({ databaseUrl }: Pick<Settings, 'databaseUrl'>, cause: unknown): string =>
  `The database ${settingsTable.databaseUrl.type.show(databaseUrl)} cannot be used: ${(cause as Error).message.replace(/\.$/, '')}${codeInWords(cause)}. ` +
  'Check MOORAGE_DATABASE_URL, and that the database is there and accepts this user.'

/** The driver's code, wherever it stands: ECONNREFUSED tells more than 'does not answer'. */
const codeInWords = (error: unknown, depth = 0): string => {
  if (!(error instanceof Error) || depth > 4) return ''
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? ` (${code})` : codeInWords(error.cause, depth + 1)
}

export const makeDataFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    throw new StartRefused([`The data folder ${folder} cannot be made (${code}). Set MOORAGE_DATA_DIR to a folder that this user may write.`])
  }
}
