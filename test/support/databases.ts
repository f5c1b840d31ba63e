import Database from 'better-sqlite3'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase, type DatabaseOptions } from '../../adapters/sql/database.ts'
import { migrateUp } from '../../adapters/sql/migrations.ts'
import { openSqliteDatabase } from '../../adapters/sql/sqlite-database.ts'
import type { SqlDatabase } from '../../adapters/sql/statement.ts'
import { mariaDb } from './components/available.ts'
import { cached } from './components/cache-folder.ts'
import { isSwitchedOff } from './components/names.ts'

/** A kind of database on which a contract suite runs. */
export interface TestedDatabase {
  readonly name: 'sqlite' | 'mysql'
  /** A database of one's own: migrated, empty, seen by nobody else. The caller closes it. */
  open(options?: DatabaseOptions): Promise<SqlDatabase>
}

/** SQLite in memory and, unless the run was started `--without mariadb`, MariaDB. */
export const eachDatabase = (): readonly TestedDatabase[] => [
  { name: 'sqlite', open: async (options) => openSqliteDatabase(await sqliteTemplate(), options?.sqlite) },
  ...(isSwitchedOff('mariadb') ? [] : [{ name: 'mysql' as const, open: openMysqlCopy }]),
]

/** The path of a migrated SQLite file that nobody else uses; it goes with the process. */
export const migratedSqlitePath = async (): Promise<string> => {
  const path = join(await sqliteFolder(), `${randomUUID()}.sqlite`)
  await writeFile(path, await sqliteTemplate())
  return path
}

const once = <A>(make: () => Promise<A>): (() => Promise<A>) => {
  let made: Promise<A> | undefined
  return () => (made ??= make())
}

/** The URL of an empty MariaDB database that nobody else uses. */
export const emptyMysqlUrl = async (): Promise<string> => {
  const server = await mariaDb()
  if (server === undefined) throw new Error('MariaDB is switched off in this run')
  return server.createDatabase()
}

/** The URL of a migrated MariaDB database that nobody else uses. */
export const migratedMysqlUrl = async (): Promise<string> => {
  const url = await emptyMysqlUrl()
  const connection = await createConnection({ uri: url, multipleStatements: true })
  try {
    await connection.query(await mysqlTemplate())
  } finally {
    await connection.end()
  }
  return url
}

const openMysqlCopy = async (options?: DatabaseOptions): Promise<SqlDatabase> => openDatabase(await migratedMysqlUrl(), options)

const sqliteFolder = once(async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-sqlite-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
})

const sqliteTemplate = once(async (): Promise<Buffer> => {
  const database = openSqliteDatabase(':memory:')
  await migrateUp(database)
  const session = await database.openSchemaSession()
  const tables = await session.execute("select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by rowid", [])
  const records = await session.execute('select * from schema_migrations', [])
  await session.close()
  await database.close()
  return serialized(tables.map((row) => String(row['sql'])), records)
})

/** The migrated schema as a file image; opening it costs less than a statement. */
const serialized = (statements: readonly string[], records: readonly Readonly<Record<string, unknown>>[]): Buffer => {
  const raw = new Database(':memory:')
  for (const statement of statements) raw.exec(statement)
  for (const record of records) {
    const columns = Object.keys(record)
    raw.prepare(`insert into schema_migrations (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`).run(Object.values(record))
  }
  raw.exec("insert into schema_lock values (1, '', 0, 0)")
  const image = raw.serialize()
  raw.close()
  return image
}

/** One text that makes the whole schema; read once from a migrated database and kept until a migration changes. */
const mysqlTemplate = once(async (): Promise<string> => {
  const key = createHash('sha256')
  const folder = fileURLToPath(new URL('../../adapters/sql/', import.meta.url))
  const sources = (await readdir(folder, { recursive: true })).filter((name) => /^migration.*\.ts$/.test(name)).sort()
  for (const name of sources) key.update(name).update(await readFile(join(folder, name)))
  const url = await emptyMysqlUrl()
  key.update(await serverVersion(url)).update(await readFile(fileURLToPath(import.meta.url)))
  const kept = await cached(`mysql-schema-${key.digest('hex').slice(0, 16)}`, async (into) => {
    await writeFile(join(into, 'schema.sql'), await makeMysqlTemplate(url))
  })
  return readFile(join(kept, 'schema.sql'), 'utf8')
})

const serverVersion = async (url: string): Promise<string> => {
  const connection = await createConnection(url)
  const [rows] = await connection.query<RowDataPacket[]>('select version() as version')
  await connection.end()
  return String(rows[0]!['version'])
}

const makeMysqlTemplate = async (url: string): Promise<string> => {
  const database = await openDatabase(url)
  await migrateUp(database)
  await database.close()
  const connection = await createConnection(url)
  try {
    const [tables] = await connection.query<RowDataPacket[]>('show tables')
    const statements = ['set foreign_key_checks = 0']
    for (const row of tables) {
      const [made] = await connection.query<RowDataPacket[]>('show create table ??', [String(Object.values(row)[0])])
      statements.push(String(made[0]!['Create Table']))
    }
    const [records] = await connection.query<RowDataPacket[]>('select * from schema_migrations')
    for (const record of records) statements.push(connection.format('insert into schema_migrations set ?', [record]))
    statements.push("insert into schema_lock values (1, '', 0, 0)", 'set foreign_key_checks = 1')
    return statements.join(';\n')
  } finally {
    await connection.end()
  }
}
