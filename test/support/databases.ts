import Database from 'better-sqlite3'
import type { Connection, ConnectionOptions, RowDataPacket } from 'mysql2/promise'
import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase, type DatabaseOptions } from '../../adapters/sql/engine/database.ts'
import { openSqliteDatabase } from '../../adapters/sql/engine/sqlite-database.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { databaseServer } from './components/available.ts'
import { cached } from './components/cache-folder.ts'
import { isSwitchedOff } from './components/names.ts'
import { migrateToNow } from './schema.ts'

/** A busy machine takes its time. Milliseconds. */
const connectTimeout = 60_000

/** The driver is loaded only by tests on a server. */
const createConnection = async (options: ConnectionOptions): Promise<Connection> =>
  (await import('mysql2/promise')).createConnection(options)

/** A kind of database on which a contract suite runs. */
export interface TestedDatabase {
  readonly name: 'sqlite' | 'mysql'
  /** A database of one's own: migrated, empty, seen by nobody else. The caller closes it. */
  open(options?: DatabaseOptions): Promise<SqlDatabase>
}

/** SQLite in memory and, unless the run was started `--without mariadb`, MariaDB. */
export const eachDatabase = (): readonly TestedDatabase[] => [
  {
    name: 'sqlite',
    open: async (options) => openSqliteDatabase(await sqliteTemplate(), { ...patientSqlite, ...options?.sqlite }),
  },
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
  const server = await databaseServer()
  if (server === undefined) throw new Error('MariaDB is switched off in this run')
  return server.createDatabase()
}

/** The URL of a migrated MariaDB database that no other test uses. */
export const migratedMysqlUrl = async (): Promise<string> => {
  const url = await emptyMysqlUrl()
  const connection = await createConnection({ uri: url, multipleStatements: true, connectTimeout })
  try {
    await connection.query(await mysqlTemplate())
  } finally {
    await connection.end()
  }
  return url
}

/** A migrated, empty MariaDB database that is handed on. */
export interface BorrowedDatabase {
  readonly url: string
  /** To be called when every connection to it is closed. Returns whether the next test can have it. */
  giveBack(): Promise<boolean>
}

/**
 * Making the tables of the schema costs MariaDB far more than emptying them. So a database that a test is done with is
 * emptied and waits in a table of `moorage_pool` for the next test of any file. The table is that of its schema and
 * server: a server that somebody has running keeps those of earlier schemas.
 */
export const borrowMysqlDatabase = async (): Promise<BorrowedDatabase> => {
  const spare = await takeSpare()
  const url = spare ?? (await migratedMysqlUrl())
  let given: Promise<boolean> | undefined
  return { url, giveBack: () => (given ??= keepSpare(url)) }
}

const poolUrl = async (): Promise<string> => {
  const server = await databaseServer()
  if (server === undefined) throw new Error('MariaDB is switched off in this run')
  return server.url('')
}

/** The table of databases that wait, made if there is none. */
const pool = once(async (): Promise<string> => {
  const table = `moorage_pool.spare_${await schemaKey()}_${await versionKey()}`
  const connection = await createConnection({ uri: await poolUrl(), multipleStatements: true, connectTimeout })
  await connection.query(
    `create database if not exists moorage_pool; create table if not exists ${table} (url varchar(200) primary key)`,
  )
  await connection.end()
  return table
})

const takeSpare = async (): Promise<string | undefined> => {
  const table = await pool()
  const connection = await createConnection({ uri: await poolUrl(), connectTimeout })
  try {
    // MySQL has no `delete ... returning`.
    await connection.beginTransaction()
    const [rows] = await connection.query<RowDataPacket[]>(`select url from ${table} limit 1 for update skip locked`)
    const url = rows[0]?.['url'] as string | undefined
    if (url !== undefined) await connection.query(`delete from ${table} where url = ?`, [url])
    await connection.commit()
    return url
  } finally {
    await connection.end()
  }
}

/** Only a database with the tables of the schema and no others is kept, and none whose rows a test still holds. */
const keepSpare = async (url: string): Promise<boolean> => {
  const connection = await createConnection({ uri: url, multipleStatements: true, connectTimeout })
  try {
    const [tables] = await connection.query<RowDataPacket[]>(
      'select table_name as name, auto_increment as next from information_schema.tables where table_schema = database()',
    )
    // The server sorts `_` after letters.
    const names = tables.map((row) => String(row['name'])).sort()
    if (names.join() !== (await schemaTables()).join()) return false
    const emptied = names.filter((name) => !name.startsWith('schema_'))
    const [filled] = await connection.query<RowDataPacket[]>(
      emptied
        .map((name) => connection.format('select ? as name from dual where exists (select 1 from ??)', [name, name]))
        .join(' union all '),
    )
    const numbered = tables.filter((row) => Number(row['next'] ?? 0) > 1)
    await connection.query(
      [
        'set lock_wait_timeout = 5, innodb_lock_wait_timeout = 5, foreign_key_checks = 0',
        ...filled.map((row) => connection.format('delete from ??', [String(row['name'])])),
        ...numbered.map((row) => connection.format('alter table ?? auto_increment = 1', [String(row['name'])])),
        connection.format(`insert into ${await pool()} values (?)`, [url]),
      ].join(';\n'),
    )
    return true
  } catch {
    // It goes with the server.
    return false
  } finally {
    await connection.end()
  }
}

const schemaTables = once(async (): Promise<readonly string[]> =>
  [...(await mysqlTemplate()).matchAll(/^CREATE TABLE `(\w+)`/gm)].map(([, name]) => name ?? '').sort(),
)

/** For a database on a busy machine. What a caller sees after the limits of production has tests of its own. */
export const patient = {
  connectTimeoutMilliseconds: 20_000,
  acquireTimeoutMilliseconds: 30_000,
  statementTimeoutMilliseconds: 30_000,
}

/** The same for SQLite. */
const patientSqlite = { writerWaitMilliseconds: 30_000 }

/** Opens a database for a test that runs beside many others: statements and connections wait as long as they must. */
export const openPatiently = async (url: string): Promise<SqlDatabase> =>
  openDatabase(url, { mysql: patient, sqlite: patientSqlite })

/** A copy whose server-side database goes to the next test when this one closes it. */
const openMysqlCopy = async (options?: DatabaseOptions): Promise<SqlDatabase> => {
  const { url, giveBack } = await borrowMysqlDatabase()
  const database = await openDatabase(url, { ...options, mysql: { ...patient, ...options?.mysql } })
  return {
    ...database,
    close: async () => {
      await database.close()
      await giveBack()
    },
  }
}

const sqliteFolder = once(async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-sqlite-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
})

/** Names what a migrated database holds: the sources of the schema, their list, and this file. */
const schemaKey = once(async (): Promise<string> => {
  const key = createHash('sha256').update(await readFile(fileURLToPath(import.meta.url)))
  key.update(await readFile(fileURLToPath(new URL('all-migrations.ts', import.meta.url))))
  const folder = fileURLToPath(new URL('../../adapters/sql/', import.meta.url))
  const sources = (await readdir(folder, { recursive: true }))
    .filter((name) => /(?:migration|schema-columns).*\.ts$/.test(name))
    .sort()
  for (const name of sources) key.update(name).update(await readFile(join(folder, name)))
  return key.digest('hex').slice(0, 16)
})

/** The migrated schema as a file image, made once and kept until a migration changes. */
const sqliteTemplate = once(async (): Promise<Buffer> => {
  const kept = await cached(`sqlite-schema-${await schemaKey()}`, async (into) => {
    await writeFile(join(into, 'schema.sqlite'), await makeSqliteTemplate())
  })
  return readFile(join(kept, 'schema.sqlite'))
})

const makeSqliteTemplate = async (): Promise<Buffer> => {
  const database = openSqliteDatabase(':memory:')
  await migrateToNow(database)
  const session = await database.openSchemaSession()
  const tables = await session.execute(
    "select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by rowid",
    [],
  )
  const records = await session.execute('select * from schema_migrations', [])
  await session.close()
  await database.close()
  return serialized(
    tables.map((row) => String(row['sql'])),
    records,
  )
}

/** The migrated schema as a file image; opening it costs less than a statement. */
const serialized = (statements: readonly string[], records: readonly Readonly<Record<string, unknown>>[]): Buffer => {
  const raw = new Database(':memory:')
  for (const statement of statements) raw.exec(statement)
  for (const record of records) {
    const columns = Object.keys(record)
    raw
      .prepare(`insert into schema_migrations (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`)
      .run(Object.values(record))
  }
  raw.exec("insert into schema_lock values (1, '', 0, 0)")
  const image = raw.serialize()
  raw.close()
  return image
}

/** The statements that make the tables of the schema on MySQL. */
export const mysqlTables = async (): Promise<readonly string[]> =>
  (await mysqlTemplate()).split(/;\n/).filter((statement) => statement.startsWith('CREATE TABLE'))

/** One text that makes the whole schema; read once from a migrated database and kept until a migration changes. */
const mysqlTemplate = once(async (): Promise<string> => {
  const kept = await cached(`mysql-schema-${await schemaKey()}-${await versionKey()}`, async (into) => {
    await writeFile(join(into, 'schema.sql'), await makeMysqlTemplate(await emptyMysqlUrl()))
  })
  return readFile(join(kept, 'schema.sql'), 'utf8')
})

/** Names the version of the server. */
const versionKey = once(async (): Promise<string> =>
  createHash('sha256')
    .update(await serverVersion(await poolUrl()))
    .digest('hex')
    .slice(0, 8),
)

const serverVersion = async (url: string): Promise<string> => {
  const connection = await createConnection({ uri: url, connectTimeout })
  const [rows] = await connection.query<RowDataPacket[]>('select version() as version')
  await connection.end()
  return String(rows[0]!['version'])
}

const makeMysqlTemplate = async (url: string): Promise<string> => {
  const database = await openDatabase(url)
  await migrateToNow(database)
  await database.close()
  const connection = await createConnection({ uri: url, connectTimeout })
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
