import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { Unavailable } from '../../../core/kernel/failure.ts'
import { definedFields } from '../../../core/kernel/json.ts'
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

// In order of preference: collations that compare by bytes, including trailing spaces. MariaDB has the first, MySQL 8
// the second.
const collations = ['utf8mb4_nopad_bin', 'utf8mb4_0900_bin', 'utf8mb4_bin']

/** Returns what a server of this kind supports for the tables that migrations create. */
export const schemaParameters = async (
  session: SchemaSession,
  dialect: 'sqlite' | 'mysql',
): Promise<SchemaParameters> => {
  if (dialect === 'sqlite') return {}
  const rows = await session.execute('select collation_name as name from information_schema.collations', [])
  const offered = new Set(rows.map((row) => String(row['name'])))
  const collation = collations.find((name) => offered.has(name))
  return definedFields({ collation })
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
  for (const migration of run.migrations) if (await runUndoably(run, migration)) applied.push(migration.id)
  return applied
}

const runUndoably = async (run: MigrationRun, migration: OrderedMigration): Promise<boolean> => {
  const { session, ledger, holder } = run
  await beginAlone(run)
  try {
    const isPending = !(await checkedRecords(ledger, run.migrations)).some(({ id }) => id === migration.id)
    if (isPending) {
      announce(run, migration)
      await ledger.begin(migration.id, holder, false)
      await migration.up(checkedKnex(migration, session), 'sqlite')
      await ledger.finish(migration.id, 'done')
    }
    await session.execute('commit', [])
    return isPending
  } catch (error) {
    await session.execute('rollback', []).catch(() => undefined)
    if (error instanceof MigrationRefused) throw error
    throw new MigrationRefused(
      `Migration ${migration.id} failed and was undone; the database is as it was. ${String(error)}`,
      { cause: error },
    )
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

const runPending = async (run: MigrationRun): Promise<readonly string[]> => {
  const records = await checkedRecords(run.ledger, run.migrations)
  const parameters = await schemaParameters(run.session, 'mysql')
  const applied: string[] = []
  for (const migration of pendingOf(run.migrations, records)) {
    if ((await run.ledger.lock()).holder !== run.holder) {
      throw new MigrationRefused(
        'Another instance took this one for dead and has taken over the migration. Start again.',
      )
    }
    announce(run, migration)
    await runStepwise(
      run,
      migration,
      records.find(({ id }) => id === migration.id),
      parameters,
    )
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
  await ledger.begin(migration.id, holder, record !== undefined)
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
    await migration.up(knex, 'mysql')
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
  await ledger.finish(migration.id, 'done')
}
