import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { Unavailable } from '../../../core/kernel/failure.ts'
import { isAlreadyDone } from '../kit/driver-errors.ts'
import type { SchemaSession, SqlDatabase } from '../kit/statement.ts'
import type { Bind } from '../kit/columns.ts'
import type { SchemaParameters } from '../kit/schema-columns.ts'
import type { OrderedMigration } from '../kit/migration.ts'
import type { MigrationLedger, MigrationRecord } from './migration-ledger.ts'
import {
  checkedRecords,
  makeMigrationLedger,
  MigrationRefused,
  pendingOf,
  refuseInterrupted,
} from './migration-ledger.ts'
import { makeComposer } from './prepare.ts'

// Collations that compare by bytes, including spaces at the end. MariaDB has the first, MySQL 8.0.17 and newer the second.
const collations = ['utf8mb4_nopad_bin', 'utf8mb4_0900_bin']
// Releases up to v2026.11.25 took it where a server had none of them.
const formerCollation = 'utf8mb4_bin'

/**
 * Returns what the tables that migrations create have in common. It is what most tables of the database have already:
 * a server that was upgraded may support a better collation, but compares no text of one with text of the other.
 */
export const schemaParameters = async (
  session: SchemaSession,
  dialect: 'sqlite' | 'mysql',
): Promise<SchemaParameters> => {
  if (dialect === 'sqlite') return {}
  const names = async (sql: string): Promise<readonly string[]> =>
    (await session.execute(sql, [])).map((row) => String(row['name']))
  const used = await names(
    'select table_collation as name from information_schema.tables where table_schema = database() and ' +
      "table_name not like 'schema\\_%' group by table_collation order by count(*) desc",
  )
  const offered = new Set(await names('select collation_name as name from information_schema.collations'))
  const collation =
    used.find((name) => [...collations, formerCollation].includes(name)) ?? collations.find((name) => offered.has(name))
  if (collation !== undefined) return { collation }
  throw new MigrationRefused(
    'The server compares text without the spaces at its end. Use MySQL 8.0.17 or newer, or MariaDB 10.6 or newer.',
  )
}

/** Runs one statement of a migration and returns its rows. */
export type Execute = (sql: string, binds: readonly Bind[]) => Promise<Readonly<Record<string, unknown>>[]>

interface KnexQuery {
  readonly sql: string
  readonly bindings?: readonly Bind[]
  response?: unknown
  context?: unknown
}

/** A knex whose statements all go to `execute`, one after the other. Counts of changed rows are not available. */
export const makeMigrationKnex = (
  dialect: 'sqlite' | 'mysql',
  parameters: SchemaParameters,
  execute: Execute,
): Knex => {
  const knex = makeComposer(dialect)
  knex.userParams = parameters
  Object.assign(knex.client as object, {
    acquireConnection: async () => ({}),
    releaseConnection: async () => undefined,
    _query: async (_connection: unknown, query: KnexQuery): Promise<KnexQuery> => {
      const rows = await execute(query.sql, query.bindings ?? [])
      query.response = dialect === 'mysql' ? [rows, []] : rows
      query.context = { lastID: 0, changes: 0 }
      return query
    },
  })
  return knex
}

/**
 * Throws if the part may not run the statement. The statements were checked before, but a migration that reads rows may
 * run others.
 */
const checkStatement = ({ id, faultOf }: OrderedMigration, sql: string): void => {
  const fault = faultOf?.(sql)
  if (fault !== undefined) throw new Error(`The migration ${id} ${fault}`)
}

/** One migration of a schema to this version. */
export interface MigrationRun {
  readonly session: SchemaSession
  readonly ledger: MigrationLedger
  readonly holder: string
  /** All migrations of this version, in order. */
  readonly migrations: readonly OrderedMigration[]
  readonly waitMilliseconds: number
  readonly staleMilliseconds: number
  readonly say: (line: string) => void
  /** Names the instances that are alive and do not know the migration. */
  readonly aliveWithout: (session: SchemaSession, id: string) => Promise<readonly string[]>
  /** Called for a contracting migration that must wait for these instances. */
  readonly onPostponed: (migration: OrderedMigration, instances: readonly string[]) => void
}

/** Steps that contract run after all others: each of them may have to wait. */
export const inTurn = (migrations: readonly OrderedMigration[]): readonly OrderedMigration[] => [
  ...migrations.filter(({ phase }) => phase !== 'contract'),
  ...migrations.filter(({ phase }) => phase === 'contract'),
]

/**
 * Reports whether a contracting migration must wait. If not, its record exists. It does while the instances are asked
 * for: one that starts at the same time is seen here, or sees the record after its first heartbeat and stops.
 */
const mustWait = async (run: MigrationRun, migration: OrderedMigration): Promise<boolean> => {
  const { ledger, session, holder } = run
  if (migration.phase !== 'contract') return false
  await ledger.begin(migration, holder, false)
  const instances = await run.aliveWithout(session, migration.id)
  if (instances.length === 0) return false
  await ledger.abandon(migration.id)
  run.onPostponed(migration, instances)
  return true
}

/** Sets the rows that remain. `inStep` runs each part of them. */
const fillRows = async (
  run: MigrationRun,
  { id, fill }: OrderedMigration,
  [knex, dialect]: readonly [Knex, 'sqlite' | 'mysql'],
  inStep: (work: () => Promise<void>) => Promise<void>,
): Promise<void> => {
  if (fill === undefined) return
  const { execute } = run.session
  const one = async (sql: string, binds: readonly Bind[]): Promise<number> =>
    Number(Object.values((await execute(sql, binds))[0] ?? {})[0] ?? 0)
  const from = (await run.ledger.records()).find((record) => record.id === id)?.filledTo ?? 0
  const total = await one(`select count(*) from ${fill.table} where id > ?`, [from])
  let done = 0
  let told = -1
  for (let after = from; ;) {
    const upTo = await one(
      `select max(id) from (select id from ${fill.table} where id > ? order by id limit ${fill.rowsAtATime}) as next_rows`,
      [after],
    )
    if (upTo === 0) return
    await inStep(async () => {
      await fill.rows(knex, dialect, after, upTo)
      await run.ledger.fillTo(id, upTo)
    })
    after = upTo
    done += fill.rowsAtATime
    const tenths = Math.min(10, Math.floor((done * 10) / Math.max(1, total)))
    if (tenths > told) run.say(`Migrating the database: ${id}, ${tenths * 10} % of ${total} rows of ${fill.table}`)
    told = tenths
  }
}

const beatMilliseconds = 5000
const pollMilliseconds = 200

const takeLock = async ({ ledger, holder, waitMilliseconds, staleMilliseconds }: MigrationRun): Promise<void> => {
  const deadline = performance.now() + waitMilliseconds
  for (;;) {
    const lock = await ledger.lock()
    const isFree = lock.holder === undefined || lock.silentMilliseconds > staleMilliseconds
    // A live holder finishes what it started. What a dead one started requires a person.
    if (isFree) refuseInterrupted(await ledger.records())
    if (isFree && (await ledger.tryLock(holder, staleMilliseconds))) return
    if (performance.now() > deadline) {
      throw new MigrationRefused(
        `${lock.holder ?? 'Another instance'} has been migrating this database since ` +
          `${lock.acquiredAt.toISOString()} and has not finished. Wait for it and start again; if it is ` +
          `gone, run \`moorage migrate unlock\`.`,
      )
    }
    await sleep(pollMilliseconds)
  }
}

const announce = (run: MigrationRun, { id, part, summary }: OrderedMigration): void =>
  run.say(`Migrating the database: part ${part}, ${id} (${summary})`)

/**
 * On SQLite each migration is one transaction, which also excludes other processes. No lock can remain after a crash.
 */
export const runAllUndoably = async (run: MigrationRun): Promise<readonly string[]> => {
  const applied: string[] = []
  for (const migration of inTurn(run.migrations)) if (await runUndoably(run, migration)) applied.push(migration.id)
  return applied
}

const runUndoably = async (run: MigrationRun, migration: OrderedMigration): Promise<boolean> => {
  const { session, ledger, holder } = run
  const knex = checkedKnex(migration, session)
  let isUndone = true
  await beginAlone(run)
  try {
    const record = (await checkedRecords(ledger, run.migrations)).find(({ id }) => id === migration.id)
    const isNew = record === undefined && !(await mustWait(run, migration))
    if (isNew) {
      announce(run, migration)
      await ledger.begin(migration, holder, migration.phase === 'contract')
      await migration.up(knex, 'sqlite')
      await ledger.finish(migration.id, migration.fill === undefined ? 'done' : 'filling')
    }
    await session.execute('commit', [])
    isUndone = false
    if (record?.state !== 'filling' && !(isNew && migration.fill !== undefined)) return isNew
    await fillRows(run, migration, [knex, 'sqlite'], async (work) => {
      await beginAlone(run)
      await work()
      await session.execute('commit', [])
    })
    await ledger.finish(migration.id, 'done')
    return true
  } catch (error) {
    await session.execute('rollback', []).catch(() => undefined)
    if (error instanceof MigrationRefused) throw error
    const how = isUndone
      ? 'failed and was undone; the database is as it was.'
      : 'was interrupted while it set rows. Start again: it continues with those that remain.'
    throw new MigrationRefused(`Migration ${migration.id} ${how} ${String(error)}`, { cause: error })
  }
}

const checkedKnex = (migration: OrderedMigration, { execute }: SchemaSession): Knex =>
  makeMigrationKnex('sqlite', {}, (sql, binds) => {
    checkStatement(migration, sql)
    return execute(sql, binds)
  })

/** Waits with a longer limit than usual: another process may be migrating for longer than a change usually waits. */
const beginAlone = async ({ session, waitMilliseconds }: MigrationRun): Promise<void> => {
  const deadline = performance.now() + waitMilliseconds
  for (;;) {
    try {
      await session.execute('begin immediate', [])
      return
    } catch (error) {
      if (!(error instanceof Unavailable) || performance.now() > deadline) throw error
    }
    await sleep(pollMilliseconds)
  }
}

/**
 * On other databases schema changes are not transactional: a lock excludes other processes, and each statement is
 * counted.
 */
export const runLocked = async (database: SqlDatabase, run: MigrationRun): Promise<readonly string[]> => {
  await takeLock(run)
  const stopBeating = await beat(database, run.holder)
  try {
    return await runPending(run)
  } finally {
    await stopBeating()
    await run.ledger.unlock(run.holder)
  }
}

/**
 * Sends heartbeats on a separate connection: a schema change may take longer than the time after which the lock is
 * stale.
 */
const beat = async (database: SqlDatabase, holder: string): Promise<() => Promise<void>> => {
  const session = await database.openSchemaSession()
  const ledger = makeMigrationLedger(session, database.dialect)
  const timer = setInterval(() => void ledger.beat(holder).catch(() => undefined), beatMilliseconds)
  return async () => {
    clearInterval(timer)
    await session.close()
  }
}

const refuseLostLock = async ({ ledger, holder }: MigrationRun): Promise<void> => {
  if ((await ledger.lock()).holder === holder) return
  throw new MigrationRefused('Another instance took this one for dead and has taken over the migration. Start again.')
}

const runPending = async (run: MigrationRun): Promise<readonly string[]> => {
  const records = await checkedRecords(run.ledger, run.migrations)
  const parameters = await schemaParameters(run.session, 'mysql')
  const applied: string[] = []
  for (const migration of inTurn(pendingOf(run.migrations, records))) {
    await refuseLostLock(run)
    const record = records.find(({ id }) => id === migration.id)
    if (record === undefined && (await mustWait(run, migration))) continue
    announce(run, migration)
    await runStepwise(run, migration, record, parameters)
    applied.push(migration.id)
  }
  return applied
}

const runStepwise = async (
  run: MigrationRun,
  migration: OrderedMigration,
  record: MigrationRecord | undefined,
  parameters: SchemaParameters,
): Promise<void> => {
  const { session, ledger, holder } = run
  const alreadyDone = record?.statementsDone ?? 0
  const isFilling = record?.state === 'filling'
  if (!isFilling) await ledger.begin(migration, holder, record !== undefined || migration.phase === 'contract')
  let index = 0
  const knex = makeMigrationKnex('mysql', parameters, async (sql, binds) => {
    index++
    checkStatement(migration, sql)
    if (index <= alreadyDone) return []
    const rows = await session.execute(sql, binds).catch((error: unknown) => {
      // The statement at which a run was interrupted may have been executed but not counted.
      if (record !== undefined && index === alreadyDone + 1 && isAlreadyDone(error)) return []
      throw error
    })
    await ledger.advance(migration.id, index)
    return rows
  })
  try {
    if (!isFilling) await migration.up(knex, 'mysql')
  } catch (error) {
    await ledger.finish(migration.id, 'failed').catch(() => undefined)
    throw new MigrationRefused(
      `Migration ${migration.id} failed at its statement ${index}: ${String(error)}. The statements before ` +
        'it stand, since this kind of database cannot undo changes of the schema. ' +
        'Remove the cause, run `moorage migrate unlock` and start again: it continues where it stopped. Or ' +
        'restore the backup made before the upgrade.',
      { cause: error },
    )
  }
  if (migration.fill !== undefined) {
    await ledger.finish(migration.id, 'filling')
    const filling = makeMigrationKnex('mysql', parameters, async (sql, binds) => {
      checkStatement(migration, sql)
      return session.execute(sql, binds)
    })
    // An error leaves the state: the next run continues with the rows that remain.
    await fillRows(run, migration, [filling, 'mysql'], async (work) => {
      await refuseLostLock(run)
      await work()
    })
  }
  await ledger.finish(migration.id, 'done')
}
