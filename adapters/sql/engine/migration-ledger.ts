import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { databaseNow } from '../kit/fragments.ts'
import type { SchemaSession } from '../kit/statement.ts'
import type { OrderedMigration, Phase } from '../kit/migration.ts'

type Dialect = 'sqlite' | 'mysql'

/**
 * `filling`: the schema is changed, and rows are being set. It continues by itself. `failed` and `started` require a person to run `unlock`, which changes them to `resumable`. They occur only on MySQL:
 * SQLite rolls back.
 */
export type RecordedState = 'started' | 'failed' | 'resumable' | 'filling' | 'done'

/** The database's record of one migration. */
export interface MigrationRecord {
  readonly id: string
  readonly state: RecordedState
  /** The number of statements that are known to have run. */
  readonly statementsDone: number
  readonly startedAt: Date
  readonly finishedAt: Date | undefined
  /** The process that ran it, `host:pid:random`. */
  readonly holder: string
  /** Undefined for a migration that declares none. */
  readonly phase: Phase | undefined
  /** The newest migration of the release that may run beside the one that ran this. */
  readonly beside: string
  /** The `id` of the last row that a fill has set. */
  readonly filledTo: number
}

interface LockState {
  /** The process that is migrating, or undefined. */
  readonly holder: string | undefined
  readonly acquiredAt: Date
  /** Since its last heartbeat, by the database's clock. */
  readonly silentMilliseconds: number
}

/** The tables that record which migrations ran, and the lock that allows one process to migrate at a time. */
export interface MigrationLedger {
  create(): Promise<void>
  exists(): Promise<boolean>
  records(): Promise<MigrationRecord[]>
  /** Inserts the record, or continues one that was interrupted. */
  begin(migration: Pick<OrderedMigration, 'id' | 'phase'>, holder: string, resumes: boolean): Promise<void>
  /** Removes the record of a migration that was begun and has changed nothing. */
  abandon(id: string): Promise<void>
  advance(id: string, statementsDone: number): Promise<void>
  /** Records that the rows up to this `id` are set. */
  fillTo(id: string, row: number): Promise<void>
  finish(id: string, state: 'done' | 'failed' | 'filling'): Promise<void>
  lock(): Promise<LockState>
  /** Takes the lock if it is free or its holder has been silent for longer than `staleMilliseconds`. */
  tryLock(holder: string, staleMilliseconds: number): Promise<boolean>
  beat(holder: string): Promise<void>
  unlock(holder: string): Promise<void>
  /** Frees the lock regardless of its holder, and makes interrupted migrations resumable. */
  forceUnlock(): Promise<void>
}

export const newHolder = (): string => `${hostname().slice(0, 30)}:${process.pid}:${randomBytes(4).toString('hex')}`

const checksumOf = (id: string): string => createHash('sha256').update(id).digest('hex')

/** `beside`: the newest migration of the release before this one, which may run beside it. */
export const makeMigrationLedger = (session: SchemaSession, dialect: Dialect, beside = ''): MigrationLedger => {
  const now = databaseNow(dialect)
  const { execute } = session
  const lock = async (): Promise<LockState> => {
    const [row] = await execute(
      `select holder, acquired_at, ${now} - beat_at as silent from schema_lock where id = 1`,
      [],
    )
    return {
      holder: row === undefined || row['holder'] === '' ? undefined : String(row['holder']),
      acquiredAt: new Date(Number(row?.['acquired_at'] ?? 0)),
      silentMilliseconds: Number(row?.['silent'] ?? 0),
    }
  }
  return {
    create: () => createTables(session, dialect),
    exists: () => tableExists(session, dialect, 'schema_lock'),
    records: async () => {
      // Releases up to v2026.11.25 have made no such table.
      const steps = (await tableExists(session, dialect, 'schema_steps'))
        ? await execute('select * from schema_steps', [])
        : []
      const stepOf = new Map(steps.map((step) => [step['id'], step]))
      const rows = await execute('select * from schema_migrations order by id', [])
      return rows.map((row) => toRecord(row, stepOf.get(row['id'])))
    },
    begin: async ({ id, phase }, holder, resumes) => {
      const ignore = dialect === 'mysql' ? 'insert ignore' : 'insert or ignore'
      await execute(`${ignore} into schema_steps (id, phase, beside, filled_to) values (?, ?, ?, 0)`, [
        id,
        phase ?? '',
        beside,
      ])
      await (resumes
        ? execute(`update schema_migrations set state = 'started', holder = ?, started_at = ${now} where id = ?`, [
            holder,
            id,
          ])
        : execute(
            'insert into schema_migrations (id, checksum, state, statements_done, holder, started_at) ' +
              `values (?, ?, 'started', 0, ?, ${now})`,
            [id, checksumOf(id), holder],
          ))
    },
    abandon: async (id) => {
      await execute('delete from schema_migrations where id = ?', [id])
    },
    fillTo: async (id, row) => {
      await execute('update schema_steps set filled_to = ? where id = ?', [row, id])
    },
    advance: async (id, statementsDone) => {
      await execute('update schema_migrations set statements_done = ? where id = ?', [statementsDone, id])
    },
    finish: async (id, state) => {
      await execute(`update schema_migrations set state = ?, finished_at = ${now} where id = ?`, [state, id])
    },
    lock,
    tryLock: async (holder, staleMilliseconds) => {
      await execute(
        `update schema_lock set holder = ?, acquired_at = ${now}, beat_at = ${now} where id = 1 and ` +
          `(holder = '' or beat_at < ${now} - ?)`,
        [holder, staleMilliseconds],
      )
      return (await lock()).holder === holder
    },
    beat: async (holder) => {
      await execute(`update schema_lock set beat_at = ${now} where id = 1 and holder = ?`, [holder])
    },
    unlock: async (holder) => {
      await execute(`update schema_lock set holder = '' where id = 1 and holder = ?`, [holder])
    },
    forceUnlock: async () => {
      await execute(`update schema_migrations set state = 'resumable' where state in ('started', 'failed')`, [])
      await execute(`update schema_lock set holder = '' where id = 1`, [])
    },
  }
}

const createTables = async ({ execute }: SchemaSession, dialect: Dialect): Promise<void> => {
  const settings = dialect === 'mysql' ? ' engine = InnoDB character set utf8mb4 collate utf8mb4_bin' : ''
  await execute(
    'create table if not exists schema_migrations (id varchar(64) not null primary key, checksum ' +
      'varchar(64) not null, state varchar(16) not null, statements_done integer not null, holder ' +
      `varchar(64) not null, started_at bigint not null, finished_at bigint null)${settings}`,
    [],
  )
  await execute(
    'create table if not exists schema_lock (id integer not null primary key, holder varchar(64) not null, ' +
      `acquired_at bigint not null, beat_at bigint not null)${settings}`,
    [],
  )
  await execute(
    'create table if not exists schema_steps (id varchar(64) not null primary key, phase varchar(16) not null, ' +
      `beside varchar(64) not null, filled_to bigint not null)${settings}`,
    [],
  )
  const ignore = dialect === 'mysql' ? 'insert ignore' : 'insert or ignore'
  await execute(`${ignore} into schema_lock (id, holder, acquired_at, beat_at) values (1, '', 0, 0)`, [])
}

const tableExists = async ({ execute }: SchemaSession, dialect: Dialect, name: string): Promise<boolean> => {
  const found =
    dialect === 'mysql'
      ? 'select 1 from information_schema.tables where table_schema = database() and table_name = ?'
      : "select 1 from sqlite_master where type = 'table' and name = ?"
  return (await execute(found, [name])).length > 0
}

type Row = Readonly<Record<string, unknown>>

const toRecord = (row: Row, step: Row | undefined): MigrationRecord => {
  const id = String(row['id'])
  if (row['checksum'] !== checksumOf(id)) {
    throw new Error(
      `The record of migration ${id} has been altered by hand. Restore a backup, or ask for help with this message.`,
    )
  }
  return {
    id,
    state: String(row['state']) as RecordedState,
    statementsDone: Number(row['statements_done']),
    startedAt: new Date(Number(row['started_at'])),
    finishedAt: row['finished_at'] === null ? undefined : new Date(Number(row['finished_at'])),
    holder: String(row['holder']),
    phase: phaseOf(step?.['phase']),
    beside: String(step?.['beside'] ?? ''),
    filledTo: Number(step?.['filled_to'] ?? 0),
  }
}

const phaseOf = (stored: unknown): Phase | undefined =>
  stored === 'expand' || stored === 'contract' ? stored : undefined

/**
 * The schema cannot be migrated to this version automatically. The message states in plain words what a person must do.
 */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused'
}

export const isInterrupted = ({ state }: MigrationRecord): boolean => state === 'started' || state === 'failed'

/** Returns the migrations that have not run, or not to completion. */
export const pendingOf = (
  migrations: readonly OrderedMigration[],
  records: readonly MigrationRecord[],
): readonly OrderedMigration[] =>
  migrations.filter(({ id }) => !records.some((record) => record.id === id && record.state === 'done'))

/**
 * The record of a restore that is not finished. Every version takes it for a migration of a newer one, and does not
 * start. A restore passes it to `migrateUp` as a migration that has run.
 */
export const restoreMark: OrderedMigration = {
  id: '9999-restore-not-finished',
  summary: 'a restore that is not finished',
  part: 'kernel',
  up: async () => undefined,
}

/** Returns the message of an older version for a schema in which these migrations, which it does not know, have run. */
export const ofNewerVersion = (ids: readonly string[]): string => {
  if (ids.includes(restoreMark.id))
    return (
      'A restore into this database has begun and not ended. Run `moorage backup restore` again: it removes what is ' +
      'there and starts over. Until then no service can use the database.'
    )
  const parts = [...new Set(ids.flatMap((id) => outsidePartOf(id) ?? []))]
  const newer = parts.length === 0 ? 'Moorage' : `version of the part ${parts.join(', ')}`
  return (
    `This database was migrated by a newer ${newer}: this version does not know ${ids.join(', ')}. Run the ` +
    'newer version, or restore a backup made before the upgrade.'
  )
}

/** Returns the part of an id of the form `part/NNNN-what`, or undefined for a migration of our own. */
export const outsidePartOf = (id: string): string | undefined => {
  const [part, ...rest] = id.split('/')
  return rest.length === 0 ? undefined : part
}

/** Reports whether a migration belongs to a part from outside that is not loaded: its tables stay as they are. */
export const isOfAbsentPart = (migrations: readonly OrderedMigration[], id: string): boolean => {
  const part = outsidePartOf(id)
  return part !== undefined && !migrations.some((migration) => migration.part === part)
}

/** Returns the newest of our own migrations that this version knows: the version of its schema. */
export const newestOf = (migrations: readonly Pick<OrderedMigration, 'id'>[]): string =>
  migrations.reduce((newest, { id }) => (outsidePartOf(id) === undefined && id > newest ? id : newest), '')

/**
 * Reports whether this version may run beside the next release, which has made a migration that it does not know: the
 * migration only adds, and was made by a release whose predecessor is this version or an older one.
 */
export const mayRunBeside = (
  migrations: readonly OrderedMigration[],
  { id, phase, beside }: Pick<MigrationRecord, 'id' | 'phase' | 'beside'>,
): boolean => phase === 'expand' && beside !== '' && outsidePartOf(id) === undefined && beside <= newestOf(migrations)

/**
 * Throws if the schema was made by a newer version that this one may not run beside. What a part that is not loaded has
 * made does not stop another one.
 */
export const refuseUnknown = (migrations: readonly OrderedMigration[], records: readonly MigrationRecord[]): void => {
  const unknown = records
    .filter((record) => !migrations.some(({ id }) => id === record.id) && !mayRunBeside(migrations, record))
    .map(({ id }) => id)
    .filter((id) => !isOfAbsentPart(migrations, id))
  const own = unknown.filter((id) => outsidePartOf(id) === undefined)
  if (unknown.length > 0) throw new MigrationRefused(ofNewerVersion(own.length > 0 ? own : unknown))
}

export const checkedRecords = async (
  ledger: MigrationLedger,
  migrations: readonly OrderedMigration[],
): Promise<MigrationRecord[]> => {
  const records = await ledger.records()
  refuseUnknown(migrations, records)
  return records
}

export const refuseInterrupted = (records: readonly MigrationRecord[]): void => {
  const record = records.find(isInterrupted)
  if (record === undefined) return
  const how = record.state === 'failed' ? 'failed' : 'was interrupted'
  throw new MigrationRefused(
    `Migration ${record.id}, begun at ${record.startedAt.toISOString()} by ${record.holder}, ${how} after ` +
      `${record.statementsDone} of its statements. ` +
      'This kind of database cannot undo changes of the schema, so nothing was touched since. ' +
      'Make sure that no other instance is migrating, remove the cause, then run `moorage migrate unlock` ' +
      'and start again: it continues where it stopped. ' +
      'Or restore the backup made before the upgrade.',
  )
}
