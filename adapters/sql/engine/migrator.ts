import type { MigrationRun } from './migration-run.ts'
import { inTurn, makeMigrationKnex, runAllUndoably, runLocked, schemaParameters } from './migration-run.ts'
import type { MigrationLedger, MigrationRecord, RecordedState } from './migration-ledger.ts'
import {
  makeMigrationLedger,
  newHolder,
  checkedRecords,
  isInterrupted,
  isOfAbsentPart,
  mayRunBeside,
  MigrationRefused,
  outsidePartOf,
  pendingOf,
  refuseUnknown,
} from './migration-ledger.ts'
import { isDenied } from '../kit/driver-errors.ts'
import type { Fill, OrderedMigration, Phase } from '../kit/migration.ts'
import type { StatementLock } from '../kit/statement-locks.ts'
import { lockOf } from '../kit/statement-locks.ts'
import type { SchemaSession, SqlDatabase } from '../kit/statement.ts'
import { tablesOf } from './statement-tables.ts'
import { raiseEveryone } from '../authz/access-revisions.ts'

export interface MigrateOptions {
  /** All migrations of this version, as `orderedMigrations` returns them. */
  readonly migrations: readonly OrderedMigration[]
  /** How long to wait for another instance that is migrating. */
  readonly waitMilliseconds?: number
  /** A holder of the lock without a heartbeat for this long is considered dead. */
  readonly staleMilliseconds?: number
  /** Called with a line for each migration that starts, and for each tenth of the rows that it sets, for logs. */
  readonly say?: (line: string) => void
  /** The newest migration of the release before this one. Its instances may run beside this version. */
  readonly beside?: string
  /** Names the instances that are alive and do not know the migration. Without it, none is alive. */
  readonly aliveWithout?: MigrationRun['aliveWithout']
  /** Called for a contracting migration that must wait for these instances. The others run. */
  readonly onPostponed?: MigrationRun['onPostponed']
}

/** The state of one migration. */
export interface MigrationStatus {
  readonly id: string
  /** Undefined for a migration of a newer version. */
  readonly part: string | undefined
  readonly summary: string
  readonly phase: Phase | undefined
  /**
   * `unknown`: of a newer version that this one must not run beside; `newer`: of one that it may run beside. `absent`: of
   * a part from outside that is not loaded, whose tables stay.
   */
  readonly state: RecordedState | 'pending' | 'unknown' | 'newer' | 'absent'
  readonly statementsDone: number
  readonly finishedAt: Date | undefined
}

/** A migration that `migrateUp` would run. */
export interface PlannedMigration {
  readonly id: string
  readonly part: string
  readonly summary: string
  readonly phase: Phase | undefined
  readonly statements: readonly string[]
  /** What each statement touches, in the same order. */
  readonly effects: readonly StatementEffect[]
  /** Set if the last statements run again and again, each time for so many rows of the table. */
  readonly fills: Pick<Fill, 'table' | 'rowsAtATime'> | undefined
}

/** What a statement touches. */
export interface StatementEffect {
  readonly lock: StatementLock
  /** The table that it changes, and about how many rows it has. Undefined for a table that does not exist yet. */
  readonly table: string | undefined
  readonly rows: number | undefined
}

const defaultStaleMilliseconds = 60_000
const defaultWaitMilliseconds = 120_000

/** Migrates the schema to this version. Returns the ids of the migrations that ran. Throws `MigrationRefused`. */
export const migrateUp = async (database: SqlDatabase, options: MigrateOptions): Promise<readonly string[]> => {
  const session = await database.openSchemaSession()
  let applied: readonly string[]
  try {
    const ledger = makeMigrationLedger(session, database.dialect, options.beside)
    const { migrations } = options
    const onPostponed = options.onPostponed ?? (() => undefined)
    if (await ledger.exists()) {
      const pending = pendingOf(migrations, await checkedRecords(ledger, migrations))
      if (pending.length === 0) return []
      // The service works without what contracts, so a user of the database without the right to do it may start it.
      if (pending.every(({ phase }) => phase === 'contract') && !(await mayCreate(ledger))) {
        for (const migration of pending) onPostponed(migration, [])
        return []
      }
    }
    await createdBy(ledger)
    const run: MigrationRun = {
      session,
      ledger,
      holder: newHolder(),
      migrations,
      waitMilliseconds: options.waitMilliseconds ?? defaultWaitMilliseconds,
      staleMilliseconds: options.staleMilliseconds ?? defaultStaleMilliseconds,
      say: options.say ?? (() => undefined),
      aliveWithout: options.aliveWithout ?? (async () => []),
      onPostponed,
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

const mayCreate = async (ledger: MigrationLedger): Promise<boolean> => {
  try {
    await ledger.create()
    return true
  } catch (cause) {
    if (isDenied(cause)) return false
    throw cause
  }
}

/**
 * Returns the state of every migration, including those of a newer version (`unknown`) and of parts that are not loaded
 * (`absent`). Changes nothing.
 */
export const migrationStatus = async (
  database: SqlDatabase,
  migrations: readonly OrderedMigration[],
): Promise<readonly MigrationStatus[]> => {
  const records = await readRecords(database)
  const known = migrations.map(({ id, part, summary, phase }): MigrationStatus => {
    const record = records.find((candidate) => candidate.id === id)
    return {
      id,
      part,
      summary,
      phase,
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
  const { id, phase, statementsDone, finishedAt } = record
  const part = outsidePartOf(id)
  const isAbsent = isOfAbsentPart(migrations, id)
  const summary = isAbsent ? 'of a part that is not loaded' : 'of a newer version'
  const foreign = mayRunBeside(migrations, record) ? 'newer' : 'unknown'
  const state = isAbsent ? (isInterrupted(record) ? record.state : 'absent') : foreign
  return { id, part, summary, phase, state, statementsDone, finishedAt }
}

/**
 * Reports whether this version can work on the schema: every migration has run, or belongs to a part that is not
 * loaded, or only removes what this version does not use.
 */
export const isCurrent = (migrations: readonly MigrationStatus[]): boolean =>
  migrations.every(
    ({ state, phase }) => ['done', 'absent', 'newer'].includes(state) || (state === 'pending' && phase === 'contract'),
  )

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
  const { parameters, rows } = await readSchema(database)
  const plan: PlannedMigration[] = []
  for (const migration of inTurn(pendingOf(migrations, records))) {
    const { id, part, summary, phase, fill } = migration
    const statements: string[] = []
    const knex = makeMigrationKnex(database.dialect, parameters, async (sql) => {
      statements.push(sql)
      return []
    })
    await migration.up(knex, database.dialect)
    await fill?.rows(knex, database.dialect, 0, fill.rowsAtATime)
    const effects = statements.map((sql): StatementEffect => {
      const table = tablesOf(sql)?.changed.find((name) => rows.has(name))
      return { lock: lockOf(sql, database.dialect), table, rows: rows.get(table ?? '') }
    })
    plan.push({ id, part, summary, phase, statements, effects, fills: fill })
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

/** Returns what the server supports, and about how many rows each table has. */
const readSchema = async (database: SqlDatabase) => {
  const session = await database.openSchemaSession()
  try {
    const parameters = await schemaParameters(session, database.dialect)
    return { parameters, rows: await rowCounts(session, database.dialect) }
  } finally {
    await session.close()
  }
}

const rowCounts = async (
  { execute }: SchemaSession,
  dialect: 'sqlite' | 'mysql',
): Promise<ReadonlyMap<string, number>> => {
  if (dialect === 'mysql') {
    const tables = await execute(
      'select table_name as name, table_rows as count from information_schema.tables where table_schema = database()',
      [],
    )
    return new Map(tables.map(({ name, count }) => [String(name), Number(count)]))
  }
  const counts = new Map<string, number>()
  for (const { name } of await execute("select name from sqlite_master where type = 'table'", [])) {
    const [row] = await execute(`select count(*) as count from "${String(name)}"`, [])
    counts.set(String(name), Number(row?.['count']))
  }
  return counts
}
