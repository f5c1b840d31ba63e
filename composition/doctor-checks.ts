import { X509Certificate } from 'node:crypto'
import { accessSync, constants, readFileSync, statfsSync, statSync } from 'node:fs'
import { readKeyringFile } from '../adapters/security/keyring-file.ts'
import { readTlsIdentity } from '../adapters/security/tls-identity.ts'
import { openDatabase } from '../adapters/sql/database.ts'
import { migrationStatus } from '../adapters/sql/migrations.ts'
import type { SqlDatabase } from '../adapters/sql/statement.ts'
import { openSharedClock, worstSkewMs } from '../adapters/system/shared-clock.ts'
import { isInUse, keyringLost } from './open-keys.ts'
import { databaseTrouble } from './open-store.ts'
import type { Settings } from './settings.ts'

/** What one look found. A warning works today; a problem does not. */
export interface Finding {
  readonly subject: string
  readonly state: 'ok' | 'warning' | 'problem'
  /** One plain sentence, with what to do about it. */
  readonly message: string
}

const ok = (subject: string, message: string): Finding => ({ subject, state: 'ok', message })
const warning = (subject: string, message: string): Finding => ({ subject, state: 'warning', message })
const problem = (subject: string, message: string): Finding => ({ subject, state: 'problem', message })

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown'

export const checkNode = (version = process.versions.node): Finding =>
  Number(version.split('.')[0]) >= 24
    ? ok('node', `Node ${version}.`)
    : problem('node', `Node ${version} is too old: 24 is needed. On Linux it comes with \`npm ci\` and npm scripts use it; elsewhere install it.`)

const leastFreeBytes = 512 * 1024 * 1024

export const checkDataFolder = ({ dataDir }: Settings): Finding => {
  const subject = 'data folder'
  try {
    const { mode, uid } = statSync(dataDir)
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    if (process.getuid?.() !== 0 && uid !== process.getuid?.()) return warning(subject, `${dataDir} belongs to another user (uid ${uid}).`)
    if ((mode & 0o007) !== 0) return warning(subject, `Other users of this machine can look into ${dataDir}. Run: chmod o-rwx ${dataDir}`)
    const { bavail, bsize } = statfsSync(dataDir)
    const free = bavail * bsize
    if (free < leastFreeBytes) return warning(subject, `Only ${Math.round(free / 1024 / 1024)} MiB are free in ${dataDir}.`)
    return ok(subject, `${dataDir} can be read and written.`)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ok(subject, `${dataDir} does not exist yet; the first start makes it.`)
    return problem(subject, `${dataDir} cannot be used (${codeOf(error)}). It must belong to the user that runs the service.`)
  }
}

export const checkKeyring = ({ keyring: path }: Settings): Finding => {
  const subject = 'key ring'
  try {
    const keyring = readKeyringFile(path)
    if (keyring === undefined) return ok(subject, `${path} does not exist yet; the first start makes it. Back it up: sealed credentials cannot be read without it.`)
    return ok(subject, `${path} holds ${keyring.keyIds.length} keys; the current one is ${keyring.wrapper.currentKeyId}.`)
  } catch (error) {
    return problem(subject, (error as Error).message)
  }
}

/** An operator's own certificate; the self-signed one takes care of itself. */
export const checkTls = ({ tls, tlsCertificate, tlsKey }: Settings): Finding => {
  const subject = 'tls'
  if (!tls) return ok(subject, 'The API port speaks plain HTTP only (MOORAGE_TLS=false).')
  if (tlsCertificate === undefined || tlsKey === undefined) return ok(subject, 'The API port speaks HTTPS with a self-signed certificate.')
  try {
    readTlsIdentity(tlsCertificate, tlsKey)
  } catch (error) {
    return problem(subject, (error as Error).message)
  }
  const until = new X509Certificate(readFileSync(tlsCertificate)).validTo
  if (Date.parse(until) < Date.now()) return problem(subject, `The certificate ${tlsCertificate} ended on ${until}. Renew it.`)
  return ok(subject, `${tlsCertificate} and ${tlsKey} belong together, until ${until}.`)
}

/** The database itself, its schema, and its clock against this machine's. */
export const checkDatabase = async (settings: Settings): Promise<readonly Finding[]> => {
  const { dataDir, keyring } = settings
  const url = settings.databaseUrl.reveal()
  const file = missingFile(url)
  if (file !== undefined) return [ok('database', `${file} does not exist yet; the first start makes it in ${dataDir}.`)]
  let database: SqlDatabase | undefined
  try {
    database = await openDatabase(url)
    const { dialect, now } = database
    const before = performance.now()
    const clock = await openSharedClock({ ask: now })
    return [ok('database', `The ${dialect} database answers in ${Math.round(performance.now() - before)} ms.`), skewFinding(-clock.skewMs()), await schemaFinding(database), ...(await lostKeys(database, keyring))]
  } catch (error) {
    return [problem('database', databaseTrouble(settings, error))]
  } finally {
    await database?.close().catch(() => undefined)
  }
}

/** The file of an SQLite database that was not made yet: opening it would make it. */
export const missingFile = (databaseUrl: string): string | undefined => {
  const file = /^sqlite:(?!:memory:)(.+)$/s.exec(databaseUrl)?.[1]
  return file === undefined || exists(file) ? undefined : file
}

/** Only the database tells whether a key ring should be there. */
const lostKeys = async (database: SqlDatabase, keyring: string): Promise<readonly Finding[]> =>
  !exists(keyring) && (await isInUse(database)) ? [problem('key ring', keyringLost(keyring))] : []

const exists = (path: string): boolean => {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

export const skewFinding = (skewMs: number): Finding =>
  Math.abs(skewMs) <= worstSkewMs
    ? ok('clock', `The database's clock and this machine's agree within ${(Math.abs(skewMs) / 1000).toFixed(1)} s.`)
    : problem('clock', `The database's clock is ${(Math.abs(skewMs) / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's. Set both by NTP: until they agree, no job runs on this machine and /readyz answers 503.`)

const schemaFinding = async (database: SqlDatabase): Promise<Finding> => {
  const states = await migrationStatus(database)
  const count = (wanted: string): number => states.filter(({ state }) => state === wanted).length
  const missing = states.length - count('done') - count('unknown')
  if (count('unknown') > 0) return warning('schema', 'The database was migrated by a newer version of Moorage. Upgrade this one.')
  return missing === 0 ? ok('schema', 'The schema is up to date.') : warning('schema', `${missing} migrations are missing. \`moorage serve\` applies them, or run: moorage migrate up`)
}
