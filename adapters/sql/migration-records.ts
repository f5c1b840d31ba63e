import type { MigrationLedger, MigrationRecord } from './migration-ledger.ts'
import type { Migration } from './migrations/migration.ts'

/** The schema cannot be brought to this version by itself; the message tells a person in plain words what to do. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused'
}

export const isInterrupted = ({ state }: MigrationRecord): boolean => state === 'started' || state === 'failed'

/** What has not run, or not to its end. */
export const pendingOf = (migrations: readonly Migration[], records: readonly MigrationRecord[]): readonly Migration[] =>
  migrations.filter(({ id }) => !records.some((record) => record.id === id && record.state === 'done'))

/** What an older version says of a schema in which these migrations, which it does not know, have run. */
export const ofNewerVersion = (ids: readonly string[]): string =>
  `This database was migrated by a newer Moorage: this version does not know ${ids.join(', ')}. Run the newer version, or restore a backup made before the upgrade.`

/** An older version must not touch what a newer one made. */
export const refuseUnknown = (migrations: readonly Migration[], records: readonly MigrationRecord[]): void => {
  const unknown = records.filter((record) => !migrations.some(({ id }) => id === record.id)).map(({ id }) => id)
  if (unknown.length > 0) throw new MigrationRefused(ofNewerVersion(unknown))
}

export const checkedRecords = async (ledger: MigrationLedger, migrations: readonly Migration[]): Promise<MigrationRecord[]> => {
  const records = await ledger.records()
  refuseUnknown(migrations, records)
  return records
}

export const refuseInterrupted = (records: readonly MigrationRecord[]): void => {
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
