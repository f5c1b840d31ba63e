import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from '../../core/kernel/unavailable.ts'
import { isAlreadyDone } from './driver-errors.ts'
import { makeMigrationKnex } from './migration-knex.ts'
import { makeMigrationLedger, newHolder, type MigrationLedger, type MigrationRecord, type RecordedState } from './migration-ledger.ts'
import { allMigrations } from './migrations/all-migrations.ts'
import type { SchemaParameters } from './migrations/columns.ts'
import type { Migration } from './migrations/migration.ts'
import type { SchemaSession, SqlDatabase } from './statement.ts'

export interface MigrateOptions {
  /** In order; all of this version by default. */
  readonly migrations?: readonly Migration[]
  /** How long to wait for another instance that migrates. */
  readonly waitMilliseconds?: number
  /** A holder of the lock that has given no sign of life for this long is taken for dead. */
  readonly staleMilliseconds?: number
  /** Told of each migration that begins, for logs. */
  readonly say?: (line: string) => void
}

/** Where one migration stands. */
export interface MigrationStatus {
  readonly id: string
  readonly summary: string
  readonly state: RecordedState | 'pending' | 'unknown'
  readonly statementsDone: number
  readonly finishedAt: Date | undefined
}

/** What `migrateUp` would do now. */
export interface PlannedMigration {
  readonly id: string
  readonly summary: string
  readonly statements: readonly string[]
}

/** The schema cannot be brought to this version by itself; the message tells a person in plain words what to do. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused'
}

const beatMilliseconds = 5000
const pollMilliseconds = 200

/** Brings the schema to this version. Answers the ids of the migrations that it ran. Throws `MigrationRefused`. */
export const migrateUp = async (database: SqlDatabase, options: MigrateOptions = {}): Promise<readonly string[]> => {
  const session = await database.openSchemaSession()
  try {
    const ledger = makeMigrationLedger(session, database.dialect)
    const migrations = options.migrations ?? allMigrations
    if ((await ledger.exists()) && pendingOf(migrations, await checkedRecords(ledger, migrations)).length === 0) return []
    await ledger.create()
    const run: Run = { session, ledger, holder: newHolder(), options, say: options.say ?? (() => undefined) }
    return await (database.dialect === 'sqlite' ? runAllUndoably(run, migrations) : runLocked(database, run, migrations))
  } finally {
    await session.close()
  }
}

/** Where every migration stands, also those of a newer version (`unknown`). Changes nothing. */
export const migrationStatus = async (
  database: SqlDatabase,
  migrations: readonly Migration[] = allMigrations,
): Promise<readonly MigrationStatus[]> => {
  const records = await readRecords(database)
  const known = migrations.map(({ id, summary }): MigrationStatus => {
    const record = records.find((candidate) => candidate.id === id)
    return { id, summary, state: record?.state ?? 'pending', statementsDone: record?.statementsDone ?? 0, finishedAt: record?.finishedAt }
  })
  const unknown = records.filter((record) => !migrations.some(({ id }) => id === record.id))
  return [
    ...known,
    ...unknown.map(({ id, statementsDone, finishedAt }): MigrationStatus => ({
      id, summary: 'of a newer version', state: 'unknown', statementsDone, finishedAt,
    })),
  ]
}

/** The migrations that have not run, with the SQL that they will run. Changes nothing. */
export const migrationPlan = async (
  database: SqlDatabase,
  migrations: readonly Migration[] = allMigrations,
): Promise<readonly PlannedMigration[]> => {
  const records = await readRecords(database)
  refuseUnknown(migrations, records)
  const parameters = await readParameters(database)
  const plan: PlannedMigration[] = []
  for (const migration of pendingOf(migrations, records)) {
    const statements: string[] = []
    const knex = makeMigrationKnex(database.dialect, parameters, async (sql) => {
      statements.push(sql)
      return []
    })
    await migration.up(knex, database.dialect)
    plan.push({ id: migration.id, summary: migration.summary, statements })
  }
  return plan
}

/**
 * Frees the lock after a person has made sure that nobody migrates; an interrupted migration is then taken up by the next
 * `migrateUp`. Answers in one line what it did. Refuses while the holder shows signs of life.
 */
export const unlockMigrations = async (database: SqlDatabase, options: Pick<MigrateOptions, 'staleMilliseconds'> = {}): Promise<string> => {
  const session = await database.openSchemaSession()
  try {
    const ledger = makeMigrationLedger(session, database.dialect)
    if (!(await ledger.exists())) return 'This database has never been migrated; there is nothing to unlock.'
    const { holder, silentMilliseconds } = await ledger.lock()
    if (holder !== undefined && silentMilliseconds < (options.staleMilliseconds ?? defaultStaleMilliseconds)) {
      throw new MigrationRefused(
        `${holder} is migrating: its last sign of life was ${Math.round(silentMilliseconds / 1000)} s ago. Wait for it, or stop it first.`,
      )
    }
    const interrupted = (await ledger.records()).filter(isInterrupted)
    await ledger.forceUnlock()
    if (interrupted.length > 0) return `Unlocked. The next migration takes up ${interrupted.map(({ id }) => id).join(', ')} where it stopped.`
    return holder === undefined ? 'No lock was held.' : `Unlocked; ${holder} held the lock.`
  } finally {
    await session.close()
  }
}

const defaultStaleMilliseconds = 60_000
const waitOf = (options: MigrateOptions): number => options.waitMilliseconds ?? 120_000

const isInterrupted = ({ state }: MigrationRecord): boolean => state === 'started' || state === 'failed'

const readRecords = async (database: SqlDatabase): Promise<MigrationRecord[]> => {
  const session = await database.openSchemaSession()
  try {
    const ledger = makeMigrationLedger(session, database.dialect)
    return (await ledger.exists()) ? await ledger.records() : []
  } finally {
    await session.close()
  }
}

const readParameters = async (database: SqlDatabase): Promise<SchemaParameters> => {
  const session = await database.openSchemaSession()
  try {
    return await schemaParameters(session, database.dialect)
  } finally {
    await session.close()
  }
}

// The best first: compared by bytes, trailing spaces included. MariaDB has the first, MySQL 8 the second.
const collations = ['utf8mb4_nopad_bin', 'utf8mb4_0900_bin', 'utf8mb4_bin']

const schemaParameters = async (session: SchemaSession, dialect: 'sqlite' | 'mysql'): Promise<SchemaParameters> => {
  if (dialect === 'sqlite') return {}
  const rows = await session.execute('select collation_name as name from information_schema.collations', [])
  const offered = new Set(rows.map((row) => String(row['name'])))
  const collation = collations.find((name) => offered.has(name))
  return collation === undefined ? {} : { collation }
}

const pendingOf = (migrations: readonly Migration[], records: readonly MigrationRecord[]): readonly Migration[] =>
  migrations.filter(({ id }) => !records.some((record) => record.id === id && record.state === 'done'))

const refuseUnknown = (migrations: readonly Migration[], records: readonly MigrationRecord[]): void => {
  const unknown = records.filter((record) => !migrations.some(({ id }) => id === record.id)).map(({ id }) => id)
  if (unknown.length === 0) return
  throw new MigrationRefused(
    `This database was migrated by a newer Moorage: this version does not know ${unknown.join(', ')}. Run the newer version, or restore a backup made before the upgrade.`,
  )
}

const checkedRecords = async (ledger: MigrationLedger, migrations: readonly Migration[]): Promise<MigrationRecord[]> => {
  const records = await ledger.records()
  refuseUnknown(migrations, records)
  return records
}

const refuseInterrupted = (records: readonly MigrationRecord[]): void => {
  const record = records.find(isInterrupted)
  if (record === undefined) return
  const how = record.state === 'failed' ? 'failed' : 'was interrupted'
  throw new MigrationRefused(
    `Migration ${record.id}, begun at ${record.startedAt.toISOString()} by ${record.holder}, ${how} after ${record.statementsDone} of its statements. `
    + 'This kind of database cannot undo changes of the schema, so nothing was touched since. '
    + 'Make sure that no other instance is migrating, remove the cause, then run `moorage migrate unlock` and start again: it goes on where it stopped. '
    + 'Or restore the backup made before the upgrade.',
  )
}

const takeLock = async (ledger: MigrationLedger, holder: string, options: MigrateOptions): Promise<void> => {
  const stale = options.staleMilliseconds ?? defaultStaleMilliseconds
  const deadline = performance.now() + waitOf(options)
  for (;;) {
    const lock = await ledger.lock()
    const isFree = lock.holder === undefined || lock.silentMilliseconds > stale
    // A live holder has begun what it will finish; what a dead one has begun needs a person.
    if (isFree) refuseInterrupted(await ledger.records())
    if (isFree && (await ledger.tryLock(holder, stale))) return
    if (performance.now() > deadline) {
      throw new MigrationRefused(
        `${lock.holder ?? 'Another instance'} has been migrating this database since ${lock.acquiredAt.toISOString()} and has not finished. Wait for it and start again; if it is gone, run \`moorage migrate unlock\`.`,
      )
    }
    await sleep(pollMilliseconds)
  }
}

interface Run {
  readonly session: SchemaSession
  readonly ledger: MigrationLedger
  readonly holder: string
  readonly options: MigrateOptions
  readonly say: (line: string) => void
}

const announce = (run: Run, { id, summary }: Migration): void => run.say(`Migrating the database: ${id} (${summary})`)

/** On SQLite each migration is one transaction, which also keeps other processes out: there is no lock to be left behind. */
const runAllUndoably = async (run: Run, migrations: readonly Migration[]): Promise<readonly string[]> => {
  const applied: string[] = []
  for (const migration of migrations) if (await runUndoably(run, migration)) applied.push(migration.id)
  return applied
}

const runUndoably = async (run: Run, migration: Migration): Promise<boolean> => {
  const { session, ledger, holder } = run
  await beginAlone(run)
  try {
    const isPending = !(await checkedRecords(ledger, run.options.migrations ?? allMigrations)).some(({ id }) => id === migration.id)
    if (isPending) {
      announce(run, migration)
      await ledger.begin(migration.id, holder, false)
      await migration.up(makeMigrationKnex('sqlite', {}, session.execute), 'sqlite')
      await ledger.finish(migration.id, 'done')
    }
    await session.execute('commit', [])
    return isPending
  } catch (error) {
    await session.execute('rollback', []).catch(() => undefined)
    if (error instanceof MigrationRefused) throw error
    throw new MigrationRefused(`Migration ${migration.id} failed and was undone; the database is as it was. ${String(error)}`, { cause: error })
  }
}

/** Another process may be migrating for longer than a change usually waits. */
const beginAlone = async ({ session, options }: Run): Promise<void> => {
  const deadline = performance.now() + waitOf(options)
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

/** Elsewhere a change of the schema is no part of a transaction: a lock keeps others out, and each statement is counted. */
const runLocked = async (database: SqlDatabase, run: Run, migrations: readonly Migration[]): Promise<readonly string[]> => {
  await takeLock(run.ledger, run.holder, run.options)
  const stopBeating = await beat(database, run.holder)
  try {
    return await runPending(run, migrations)
  } finally {
    await stopBeating()
    await run.ledger.unlock(run.holder)
  }
}

/** Shows life on a connection of its own, since a change of the schema may take longer than the lock is believed. */
const beat = async (database: SqlDatabase, holder: string): Promise<() => Promise<void>> => {
  const session = await database.openSchemaSession()
  const ledger = makeMigrationLedger(session, database.dialect)
  const timer = setInterval(() => void ledger.beat(holder).catch(() => undefined), beatMilliseconds)
  return async () => {
    clearInterval(timer)
    await session.close()
  }
}

const runPending = async (run: Run, migrations: readonly Migration[]): Promise<readonly string[]> => {
  const records = await checkedRecords(run.ledger, migrations)
  const parameters = await schemaParameters(run.session, 'mysql')
  const applied: string[] = []
  for (const migration of pendingOf(migrations, records)) {
    if ((await run.ledger.lock()).holder !== run.holder) {
      throw new MigrationRefused('Another instance took this one for dead and has taken over the migration. Start again.')
    }
    announce(run, migration)
    await runStepwise(run, migration, records.find(({ id }) => id === migration.id), parameters)
    applied.push(migration.id)
  }
  return applied
}

const runStepwise = async (run: Run, migration: Migration, record: MigrationRecord | undefined, parameters: SchemaParameters): Promise<void> => {
  const { session, ledger, holder } = run
  const alreadyDone = record?.statementsDone ?? 0
  await ledger.begin(migration.id, holder, record !== undefined)
  let index = 0
  const knex = makeMigrationKnex('mysql', parameters, async (sql, binds) => {
    index++
    if (index <= alreadyDone) return []
    const rows = await session.execute(sql, binds).catch((error: unknown) => {
      // The statement at which a run was cut may have been carried out and not been counted.
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
      `Migration ${migration.id} failed at its statement ${index}: ${String(error)}. The statements before it stand, since this kind of database cannot undo changes of the schema. `
      + 'Remove the cause, run `moorage migrate unlock` and start again: it goes on where it stopped. Or restore the backup made before the upgrade.',
      { cause: error },
    )
  }
  await ledger.finish(migration.id, 'done')
}
