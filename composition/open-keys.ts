import type { Keyring } from '../adapters/security/keyring.ts'
import { openOrMakeKeyringFile, readKeyringFile } from '../adapters/security/keyring-file.ts'
import { migrationStatus } from '../adapters/sql/migrations.ts'
import type { SqlDatabase } from '../adapters/sql/statement.ts'

/**
 * Opens the key ring; makes it for a database that nobody uses yet. A new one beside data that another one sealed would
 * look healthy and lose every credential, so a lost one stops the start.
 */
export const openKeys = async (path: string, database: SqlDatabase): Promise<Keyring> => {
  const isMissing = (): boolean => readKeyringFile(path) === undefined
  // Asked twice: an instance that starts at the same moment may have made it meanwhile.
  if (isMissing() && (await isInUse(database)) && isMissing()) throw new Error(keyringLost(path))
  return openOrMakeKeyringFile(path)
}

export const keyringLost = (path: string): string =>
  `The key ring ${path} is not there, but the database is in use: a new one could not read what it holds sealed. ` +
  'Restore it from its backup, or give this instance that of the others (MOORAGE_KEYRING). If it is lost for good, start once with ' +
  'MOORAGE_DATABASE_URL=sqlite::memory: to make a new one; then every cluster must be imported again.'

/** Whether somebody has an account, which the first start makes together with the key ring. */
export const isInUse = async (database: SqlDatabase): Promise<boolean> => {
  const isMigrated = (await migrationStatus(database)).some(({ state }) => state === 'done')
  return isMigrated && (await database.query((k) => k('users').select('id').limit(1))).length > 0
}
