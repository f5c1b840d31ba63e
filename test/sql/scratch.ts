import test, { type ExecutionContext } from 'ava'
import { openDatabase, type DatabaseOptions } from '../../adapters/sql/engine/database.ts'
import { schemaParameters } from '../../adapters/sql/engine/migration-run.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { eachDatabase, migratedSqlitePath } from '../support/databases.ts'
import type { Things } from './things.ts'
import { prepareThings } from './things.ts'

/** A database on which the runner's own tests run; SQLite as a file has two connections, in memory it has one. */
interface ScratchDatabase {
  readonly name: string
  open(options?: DatabaseOptions): Promise<SqlDatabase>
}

const scratchDatabases = (): readonly ScratchDatabase[] => [
  ...eachDatabase(),
  { name: 'sqlite file', open: async (options) => openDatabase(`sqlite:${await migratedSqlitePath()}`, options) },
]

/** Declares a test for each database, with an empty table `things` of its own. */
export const onEachDatabase = (
  title: string,
  body: (t: ExecutionContext, database: SqlDatabase, things: Things) => Promise<void>,
  options?: DatabaseOptions,
): void => {
  for (const { name, open } of scratchDatabases()) {
    test(`${name}: ${title}`, async (t) => {
      const database = await open(options)
      try {
        await makeThings(database)
        await body(t, database, prepareThings(database))
      } finally {
        await dropThings(database)
        await database.close()
      }
    })
  }
}

export const makeThings = async (database: SqlDatabase): Promise<void> => {
  const session = await database.openSchemaSession()
  const { collation } = await schemaParameters(session, database.dialect)
  const [id, bytes, settings] =
    database.dialect === 'mysql'
      ? [
          'bigint unsigned not null auto_increment primary key',
          'varbinary(64)',
          ` engine = InnoDB character set utf8mb4 collate ${collation}`,
        ]
      : ['integer not null primary key autoincrement', 'blob', '']
  await session.execute(
    `create table things (id ${id}, name varchar(64) null, amount bigint null, data ${bytes} null, flag boolean null)${settings}`,
    [],
  )
  await session.execute('create unique index things_name_unique on things (name)', [])
  await session.close()
}

/** A database without it goes to the next test. */
export const dropThings = async (database: SqlDatabase): Promise<void> => {
  await database.query((k) => k.raw('drop table if exists things')).catch(() => undefined)
}
