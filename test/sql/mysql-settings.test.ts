// process: waiting - uses components
import { createConnection } from 'mysql2/promise'
import { openDatabase, unsuitableSettings } from '../../adapters/sql/engine/database.ts'
import { MigrationRefused } from '../../adapters/sql/engine/migration-ledger.ts'
import { schemaParameters } from '../../adapters/sql/engine/migration-run.ts'
import { migrationStatus } from '../../adapters/sql/engine/migrator.ts'
import type { SchemaSession, SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { chosenProduct, startDatabaseServer, type DatabaseServer } from '../support/components/database-server.ts'
import { needing } from '../support/components/needing.ts'
import { makeThings } from './scratch.ts'
import { namesIn, prepareThings } from './things.ts'
import { migrateToNow, ourMigrations } from '../support/schema.ts'

const test = needing('mariadb')

let server: DatabaseServer

/** Settings of a server that each change what a session does unless it has its own. */
const unusual = [
  '--autocommit=0',
  '--completion-type=RELEASE',
  '--sql-mode=PIPES_AS_CONCAT,ANSI_QUOTES,NO_BACKSLASH_ESCAPES',
  '--default-time-zone=+13:00',
  '--transaction-isolation=READ-UNCOMMITTED',
  '--character-set-server=latin1',
  '--collation-server=latin1_swedish_ci',
  '--wait-timeout=1',
  '--net-write-timeout=1',
  '--net-read-timeout=1',
  '--group-concat-max-len=1024',
  '--div-precision-increment=1',
  '--auto-increment-increment=7',
  // The first is of MariaDB, the second of MySQL.
  '--loose-innodb-force-primary-key=ON',
  '--loose-sql-require-primary-key=ON',
  '--lower-case-table-names=1',
]

const administer = async (sql: string): Promise<void> => {
  const connection = await createConnection({ socketPath: server.socket, user: 'root' })
  await connection.query(sql)
  await connection.end()
}

test.before(async () => {
  server = await startDatabaseServer(undefined, { more: unusual })
  await administer('create database app')
  await administer('create database migrated')
  await administer('create database older')
  await administer('create table older.accounts (id integer primary key) collate utf8mb4_bin')
  await administer(
    `set global ${chosenProduct() === 'mariadb' ? 'tx_read_only' : 'transaction_read_only'} = 1, global sql_auto_is_null = 1, global sql_safe_updates = 1, global sql_select_limit = 1, global foreign_key_checks = 0, global unique_checks = 0`,
  )
})
test.after.always(() => server?.stop())

const opened = async <A>(body: (database: SqlDatabase) => Promise<A>, name = 'app'): Promise<A> => {
  const database = await openDatabase(server.url(name))
  try {
    return await body(database)
  } finally {
    await database.close()
  }
}

test.serial('unusual server settings keep writes outside a transaction', async (t) => {
  await opened(async (database) => {
    await makeThings(database)
    const things = prepareThings(database)
    await database.run(things.add, { name: 'a' })
    await database.run(things.add, { name: 'b' })
    await opened(async (other) => t.deepEqual(await namesIn(other, things), ['a', 'b']))
  })
  await opened(async (database) => t.deepEqual(await namesIn(database, prepareThings(database)), ['a', 'b']))
})

test.serial('a server with unusual settings is migrated, and an idle connection to it remains', async (t) => {
  await opened(async (database) => {
    await migrateToNow(database)
    // The server would close an idle connection after a second.
    const connectionOf = async (): Promise<unknown> => database.query((k) => k.raw('select connection_id() as id'))
    const first = await connectionOf()
    await new Promise((resolve) => setTimeout(resolve, 2500))
    t.deepEqual(await connectionOf(), first)
  }, 'migrated')
  await opened(
    async (database) => t.true((await migrationStatus(database, ourMigrations)).every(({ state }) => state === 'done')),
    'migrated',
  )
})

test.serial('unsuitable server settings are reported with a suitable value', async (t) => {
  const report = (): Promise<readonly string[]> => opened(unsuitableSettings)
  await administer('set global innodb_flush_log_at_trx_commit = 1')
  t.deepEqual(await report(), [])
  await administer(
    'set global innodb_flush_log_at_trx_commit = 2, global max_allowed_packet = 1048576, global read_only = 1',
  )
  const found = await report()
  t.is(found.length, 3)
  t.regex(found[0]!, /read-only/)
  t.regex(found[1]!, /max_allowed_packet is 1048576/)
  t.regex(found[2]!, /innodb_flush_log_at_trx_commit is not 1/)
})

test.serial('tables before 8.0.17 are reported, and later ones compare alike', async (t) => {
  await opened(async (database) => {
    t.true((await unsuitableSettings(database)).some((sentence) => sentence.includes('8.0.17')))
    const session = await database.openSchemaSession()
    t.deepEqual(await schemaParameters(session, 'mysql'), { collation: 'utf8mb4_bin' })
    await session.close()
  }, 'older')
})

test('a server that cannot compare text with the spaces at its end gets no schema', async (t) => {
  const session = {
    execute: async (sql: string) => (sql.includes('information_schema.collations') ? [{ name: 'utf8mb4_bin' }] : []),
  } as unknown as SchemaSession
  await t.throwsAsync(schemaParameters(session, 'mysql'), {
    instanceOf: MigrationRefused,
    message: /Use MySQL 8\.0\.17/,
  })
})
