import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openOrMakeKeyringFile, readKeyringFile } from '../../../adapters/security/keyring-file.ts'
import type { KeyringInUse } from '../../../adapters/security/keyring-in-use.ts'
import { fixedKeyring, followKeyringFile } from '../../../adapters/security/keyring-in-use.ts'
import type { Keyring } from '../../../adapters/security/keyring.ts'
import { newKeyring, openKeyring } from '../../../adapters/security/keyring.ts'
import type { TlsIdentity } from '../../../adapters/security/tls-identity.ts'
import { openSelfSignedIdentity, readTlsIdentity } from '../../../adapters/security/tls-identity.ts'
import { makeHmacDigest } from '../../../adapters/security/digests.ts'
import { newestEvents } from '../../../adapters/sql/audit/audit-log.ts'
import { makeSqlInstanceRegister } from '../../../adapters/sql/kernel/instance-store.ts'
import { openDatabase, watchChanges } from '../../../adapters/sql/engine/database.ts'
import { ofNewerVersion } from '../../../adapters/sql/engine/migration-ledger.ts'
import { isCurrent, migrationStatus } from '../../../adapters/sql/engine/migrator.ts'
import { databaseOptionsOf, runtimeSettings } from '../../part/runtime-settings.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import type { ReadingBudgets } from '../../../adapters/outbound/reading-budgets.ts'
import { makeReadingBudgets } from '../../../adapters/outbound/reading-budgets.ts'
import type { WaitingAccount } from '../../../adapters/sql/engine/wait-queue.ts'
import type { SharedClock } from '../../../adapters/system/shared-clock.ts'
import { openSharedClock } from '../../../adapters/system/shared-clock.ts'
import { isSealedBy } from '../../../core/audit/audit-chain.ts'
import type { LocalClock } from '../../../adapters/system/system-clock.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import { StartRefused } from '../../part/boot.ts'
import type { MigratedParts } from '../migrations.ts'
import { migrationsFor } from '../migrations.ts'
import type { OpenTracing } from './tracing.ts'
import { noOpenTracing } from './tracing.ts'
import { definedFields } from '../../../core/kernel/json.ts'

/** Opens the database and queries it once, so that a wrong setting is reported here. It is not migrated. */
export const openStore = async (settings: RuntimeSettings, account?: WaitingAccount): Promise<SqlDatabase> => {
  makeDataFolder(settings.dataDir)
  // SQLite sorts much data in a file. It takes the first of several folders that can be written; that of the system may
  // be read-only.
  process.env['SQLITE_TMPDIR'] ??= settings.tempDir
  let database: SqlDatabase | undefined
  try {
    database = await openDatabase(settings.databaseUrl.reveal(), databaseOptionsOf(settings, account))
    await signOfLife(database)
    return database
  } catch (cause) {
    await database?.close().catch(() => undefined)
    throw new StartRefused([databaseTrouble(settings, cause)], cause)
  }
}

/** Queries a table. SQLite does not read its file before the first access to a table. */
const signOfLife = (database: SqlDatabase): Promise<unknown> =>
  database.query((k) => (database.dialect === 'sqlite' ? k('sqlite_master').count() : k.raw('select 1')))

/** Returns one sentence about a failure of the database, naming the database without its password. */
export const databaseTrouble = ({ databaseUrl }: Pick<RuntimeSettings, 'databaseUrl'>, cause: unknown): string =>
  `The database ${runtimeSettings.databaseUrl.type.show(databaseUrl)} cannot be used: ` +
  `${(cause as Error).message.replace(/\.$/, '')}${codeInWords(cause)}. ` +
  'Check MOORAGE_DATABASE_URL, and that the database is there and accepts this user.'

/**
 * Returns the error code of the driver, at any depth of the causes. ECONNREFUSED is more informative than 'does not
 * answer'; of a failed handshake the reason is.
 */
const codeInWords = (error: unknown, depth = 0): string => {
  if (!(error instanceof Error) || depth > 4) return ''
  const { code } = error as NodeJS.ErrnoException
  if (typeof code === 'string' && code.startsWith('HANDSHAKE_')) return ` (${error.message})`
  // The words of the server, such as which user from which host it refuses.
  if (typeof code === 'string' && code.startsWith('ER_') && depth > 0) return ` (${code}: ${error.message})`
  return typeof code === 'string' ? ` (${code})` : codeInWords(error.cause, depth + 1)
}

const makeDataFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    throw new StartRefused([
      `The data folder ${folder} cannot be made (${code}). Set MOORAGE_DATA_DIR to a folder that this user may write.`,
    ])
  }
}

/**
 * Opens the key ring, or creates it for a database that is not in use yet. A new key ring for data sealed with another
 * would look healthy and lose every credential, so a lost key ring stops the start.
 */
const openKeys = async (path: string, database: SqlDatabase): Promise<KeyringInUse> => {
  const isMissing = (): boolean => readKeyringFile(path) === undefined
  // Checked twice: an instance that starts at the same time may have created it in between.
  if (isMissing() && (await isInUse(database)) && isMissing()) throw new Error(keyringLost(path))
  return followKeyringFile(path, openOrMakeKeyringFile(path))
}

export const keyringLost = (path: string): string =>
  `The key ring ${path} is not there, but the database is in use: a new one could not read what it holds sealed. ` +
  'Restore it from its backup, or give this instance that of the others (MOORAGE_KEYRING). If it is lost ' +
  'for good, make a new one with: moorage keys init, and start once with: moorage serve --accept-key-ring. ' +
  'Then every cluster must be imported again.'

/** Reports whether an account exists. The first start creates one together with the key ring. */
export const isInUse = async (database: SqlDatabase): Promise<boolean> => {
  const isMigrated = (await migrationStatus(database, [])).some(({ finishedAt }) => finishedAt !== undefined)
  return isMigrated && (await database.query((k) => k('users').select('id').limit(1))).length > 0
}

/**
 * Refuses to start without migration, unless the schema is that of this version. An older version on a newer schema
 * would not check what it does not know, such as a second factor. Throws `StartRefused`.
 */
export const refuseOtherSchema = async (database: SqlDatabase, parts: MigratedParts): Promise<void> => {
  const status = await migrationStatus(database, await migrationsFor(parts, database))
  const newer = status.filter(({ state }) => state === 'unknown')
  if (newer.length > 0) throw new StartRefused([ofNewerVersion(newer.map(({ id }) => id))])
  const missing = status.filter((migration) => !isCurrent([migration]))
  if (missing.length > 0)
    throw new StartRefused([`The schema is behind by ${missing.length} migrations. Run: moorage migrate up`])
}

/** Altered rows must not prevent the start, so one row that was made with the key is enough. */
const comparedRows = 20

/** Reports whether the audit log was written with the key ring, or is empty. */
export const isKeyringOf = async (database: SqlDatabase, { auditKey }: Pick<Keyring, 'auditKey'>): Promise<boolean> => {
  const newest = await newestEvents(database, comparedRows)
  const key = makeHmacDigest(auditKey.reveal())
  return newest.length === 0 || newest.some((event) => isSealedBy(key, event))
}

export const keyringOfAnother = (path: string): string =>
  `The key ring ${path} is not that of this database: it could not read what the database holds sealed, ` +
  'and would break the audit log. ' +
  'All instances of a deployment share one (MOORAGE_KEYRING). If the right one is lost for good, start ' +
  'once with: moorage serve --accept-key-ring'

const keyringBehind = (path: string, key: string): string =>
  `The key ring ${path} does not hold the key ${key}, with which another instance seals: it is an old copy. ` +
  'Replace it by the key ring of that instance.'

/**
 * Refuses a key ring with which the database was not used, and an old copy that lacks the key of an instance that is
 * alive. Throws `StartRefused`. The schema must be up to date.
 */
export const refuseOtherKeyring = async (
  { database, keyring, instanceId }: Pick<Foundation, 'database' | 'keyring' | 'instanceId'>,
  path: string,
): Promise<void> => {
  if (!(await isKeyringOf(database, keyring))) throw new StartRefused([keyringOfAnother(path)])
  for (const { sealingKey } of await makeSqlInstanceRegister(database, instanceId).alive()) {
    if (sealingKey !== undefined && !keyring.keyIds.includes(sealingKey))
      throw new StartRefused([keyringBehind(path, sealingKey)])
  }
}

/** The basis of every port. */
export interface Foundation {
  readonly database: SqlDatabase
  /** Returns why the database refused a change within the last 30 seconds, or undefined. */
  readonly refusal: () => string | undefined
  /** The clock of the database. */
  readonly clock: SharedClock
  readonly keyring: KeyringInUse
  readonly instanceId: string
  readonly traces: OpenTracing
  readonly readings: ReadingBudgets
  /** Undefined when MOORAGE_TLS is off. */
  readonly tls: TlsIdentity | undefined
}

/** Creates the data folder and the key ring at the first start, and opens the database, without migrating it. */
export const openFoundation = async (settings: RuntimeSettings, local?: LocalClock): Promise<Foundation> => {
  const readings = makeReadingBudgets()
  const { database, refusal } = watchChanges(await openStore(settings, () => readings.account()))
  try {
    const keyring = await inPlainWords(() => openKeys(settings.keyring, database))
    const tls = await inPlainWords(() => openTls(settings))
    const clock = await inPlainWords(() => clockOf(database, local))
    return { keyring, tls, database, refusal, clock, instanceId: randomUUID(), traces: noOpenTracing(), readings }
  } catch (error) {
    await database.close()
    throw error
  }
}

const clockOf = (database: SqlDatabase, local?: LocalClock): Promise<SharedClock> =>
  openSharedClock({ ask: () => database.now(), ...definedFields({ local }) })

const inPlainWords = async <A>(step: () => Promise<A>): Promise<A> => {
  try {
    return await step()
  } catch (cause) {
    throw new StartRefused([(cause as Error).message], cause)
  }
}

/**
 * Returns a foundation for commands that describe this deployment without its data: an empty in-memory database and
 * temporary keys.
 */
export const passingFoundation = async (): Promise<Foundation> => {
  const database = await openDatabase('sqlite::memory:')
  return {
    database,
    refusal: () => undefined,
    clock: await clockOf(database),
    keyring: fixedKeyring(openKeyring(newKeyring())),
    instanceId: randomUUID(),
    traces: noOpenTracing(),
    readings: makeReadingBudgets(),
    tls: undefined,
  }
}

/**
 * Returns an operator's own certificate, or else a self-signed one for every name by which this machine is likely
 * reached.
 */
const openTls = async (settings: RuntimeSettings): Promise<TlsIdentity | undefined> => {
  if (!settings.tls) return undefined
  const { tlsCertificate, tlsKey } = settings
  if (tlsCertificate !== undefined && tlsKey !== undefined) return readTlsIdentity(tlsCertificate, tlsKey)
  const named = settings.baseUrl === undefined ? [] : [new URL(settings.baseUrl).hostname.replace(/^\[|\]$/g, '')]
  const listening = ['0.0.0.0', '::'].includes(settings.listen.host) ? [] : [settings.listen.host]
  return openSelfSignedIdentity(join(settings.dataDir, 'tls'), [
    ...new Set(['localhost', '127.0.0.1', '::1', ...named, ...listening]),
  ])
}
