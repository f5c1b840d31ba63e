import type { MigrationRun } from './migration-run.ts'
import { makeMigrationKnex, runAllUndoably, runLocked, schemaParameters } from './migration-run.ts'
import type { MigrationLedger, MigrationRecord, RecordedState } from './migration-ledger.ts'
import {
  makeMigrationLedger,
  newHolder,
  checkedRecords,
  isInterrupted,
  isOfAbsentPart,
  MigrationRefused,
  outsidePartOf,
  pendingOf,
  refuseUnknown,
} from './migration-ledger.ts'
import type { SchemaParameters } from '../kit/schema-columns.ts'
import type { OrderedMigration } from '../kit/migration.ts'
import { raiseEveryone } from '../authz/access-revisions.ts'
import type { SqlDatabase } from '../kit/statement.ts'

export interface MigrateOptions {
  /** All migrations of this version, as `orderedMigrations` returns them. */
  readonly migrations: readonly OrderedMigration[]
  /** How long to wait for another instance that is migrating. */
  readonly waitMilliseconds?: number
  /** A holder of the lock without a heartbeat for this long is considered dead. */
  readonly staleMilliseconds?: number
  /** Called with a line for each migration that starts, for logs. */
  readonly say?: (line: string) => void
}

/** The state of one migration. */
export interface MigrationStatus {
  readonly id: string
  /** Undefined for a migration of a newer version. */
  readonly part: string | undefined
  readonly summary: string
  /** `unknown`: of a newer version. `absent`: of a part from outside that is not loaded, whose tables stay. */
  readonly state: RecordedState | 'pending' | 'unknown' | 'absent'
  readonly statementsDone: number
  readonly finishedAt: Date | undefined
}

/** A migration that `migrateUp` would run. */
export interface PlannedMigration {
  readonly id: string
  readonly part: string
  readonly summary: string
  readonly statements: readonly string[]
}

const defaultStaleMilliseconds = 60_000
const defaultWaitMilliseconds = 120_000

/** Migrates the schema to this version. Returns the ids of the migrations that ran. Throws `MigrationRefused`. */
export const migrateUp = async (database: SqlDatabase, options: MigrateOptions): Promise<readonly string[]> => {
  const session = await database.openSchemaSession()
  let applied: readonly string[]
  try {
    const ledger = makeMigrationLedger(session, database.dialect)
    const { migrations } = options
    if ((await ledger.exists()) && pendingOf(migrations, await checkedRecords(ledger, migrations)).length === 0)
      return []
    await createdBy(ledger)
    const run: MigrationRun = {
      session,
      ledger,
      holder: newHolder(),
      migrations,
      waitMilliseconds: options.waitMilliseconds ?? defaultWaitMilliseconds,
      staleMilliseconds: options.staleMilliseconds ?? defaultStaleMilliseconds,
      say: options.say ?? (() => undefined),
    }
    applied = await (database.dialect === 'sqlite' ? runAllUndoably(run) : runLocked(database, run))
  } finally {
    await session.close()
  }
  // A migration may change what other processes have in memory.
  if (applied.length > 0) await raiseEveryone(database)
  return applied
}

/** Without the right to make tables, no migration can run, also not in a schema that an earlier version made. */
const createdBy = async (ledger: MigrationLedger): Promise<void> => {
  try {
    await ledger.create()
  } catch (cause) {
    if (!isDenied(cause)) throw cause
    throw new MigrationRefused(
      `The user of the database may not change the schema: ${(cause as Error).message}. ` +
        'Run `moorage migrate up` with a user who may create, alter, index, reference and drop tables. The ' +
        'service itself needs select, insert, update and delete.',
    )
  }
}

const isDenied = (cause: unknown): boolean =>
  ['ER_TABLEACCESS_DENIED_ERROR', 'ER_DBACCESS_DENIED_ERROR'].includes(
    String((cause as { readonly code?: unknown }).code),
  )

/**
 * Returns the state of every migration, including those of a newer version (`unknown`) and of parts that are not loaded
 * (`absent`). Changes nothing.
 */
export const migrationStatus = async (
  database: SqlDatabase,
  migrations: readonly OrderedMigration[],
): Promise<readonly MigrationStatus[]> => {
  const records = await readRecords(database)
  const known = migrations.map(({ id, part, summary }): MigrationStatus => {
    const record = records.find((candidate) => candidate.id === id)
    return {
      id,
      part,
      summary,
      state: record?.state ?? 'pending',
      statementsDone: record?.statementsDone ?? 0,
      finishedAt: record?.finishedAt,
    }
  })
  const others = records.filter((record) => !migrations.some(({ id }) => id === record.id))
  return [...known, ...others.map((record) => statusOfOther(record, migrations))]
}

/** Of a record that no migration of this version has made. */
const statusOfOther = (record: MigrationRecord, migrations: readonly OrderedMigration[]): MigrationStatus => {
  const { id, statementsDone, finishedAt } = record
  const part = outsidePartOf(id)
  const isAbsent = isOfAbsentPart(migrations, id)
  const summary = isAbsent ? 'of a part that is not loaded' : 'of a newer version'
  const state = isAbsent ? (isInterrupted(record) ? record.state : 'absent') : 'unknown'
  return { id, part, summary, state, statementsDone, finishedAt }
}

/** Reports whether nothing remains to be done: every migration has run, or belongs to a part that is not loaded. */
export const isCurrent = (migrations: readonly MigrationStatus[]): boolean =>
  migrations.every(({ state }) => state === 'done' || state === 'absent')

/**
 * Returns what to do about a migration that has begun and not ended, or undefined when there is none. `migrateUp`
 * refuses to pass it.
 */
export const unfinishedMigration = (migrations: readonly MigrationStatus[]): string | undefined => {
  const begun = migrations.find(({ state }) => state === 'started' || state === 'failed')
  if (begun === undefined) return undefined
  const how = begun.state === 'failed' ? 'failed' : 'has begun and not ended'
  return (
    `Migration ${begun.id} ${how}, after ${begun.statementsDone} of its statements. If no instance is ` +
    `migrating now, run \`moorage migrate unlock\`, then \`moorage migrate up\`: it continues where it ` +
    'stopped.'
  )
}

/** Returns the migrations that have not run, with their SQL. Changes nothing. */
export const migrationPlan = async (
  database: SqlDatabase,
  migrations: readonly OrderedMigration[],
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
    plan.push({ id: migration.id, part: migration.part, summary: migration.summary, statements })
  }
  return plan
}

/**
 * Frees the lock, after a person has checked that no process migrates. The next `migrateUp` continues an interrupted
 * migration. Returns one line that states what it did. Refuses while the holder sends heartbeats.
 */
export const unlockMigrations = async (
  database: SqlDatabase,
  options: Pick<MigrateOptions, 'staleMilliseconds'> = {},
): Promise<string> => {
  const session = await database.openSchemaSession()
  try {
    const ledger = makeMigrationLedger(session, database.dialect)
    if (!(await ledger.exists())) return 'This database has never been migrated; there is nothing to unlock.'
    const { holder, silentMilliseconds } = await ledger.lock()
    if (holder !== undefined && silentMilliseconds < (options.staleMilliseconds ?? defaultStaleMilliseconds)) {
      throw new MigrationRefused(
        `${holder} is migrating: its last sign of life was ${Math.round(silentMilliseconds / 1000)} s ago. ` +
          'Wait for it, or stop it first.',
      )
    }
    const interrupted = (await ledger.records()).filter(isInterrupted)
    await ledger.forceUnlock()
    if (interrupted.length > 0)
      return `Unlocked. The next migration takes up ${interrupted.map(({ id }) => id).join(', ')} where it stopped.`
    return holder === undefined ? 'No lock was held.' : `Unlocked; ${holder} held the lock.`
  } finally {
    await session.close()
  }
}

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
