import type { Finding } from '../../../part/finding.ts'
import { ok, problem, warning } from '../../../part/finding.ts'
import { once } from 'node:events'
import { accessSync, constants, readFileSync, statSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, resolve } from 'node:path'
import { daysLeft, expiryTold, readTlsIdentity, validityOf } from '../../../../adapters/security/tls-identity.ts'
import { openDatabase, unsuitableSettings } from '../../../../adapters/sql/engine/database.ts'
import { isCurrent, migrationStatus, unfinishedMigration } from '../../../../adapters/sql/engine/migrator.ts'
import type { SqlDatabase } from '../../../../adapters/sql/kit/statement.ts'
import { whyUnwritable } from '../../../../adapters/system/files.ts'
import { openSharedClock, worstSkewMs } from '../../../../adapters/system/shared-clock.ts'
import { isOpen } from '../../../../core/kernel/deployment.ts'
import { showAddress } from '../../../part/setting-type.ts'
import type { RuntimeSettings } from '../../../part/runtime-settings.ts'
import { bindProblem } from '../../../part/boot.ts'
import type { AnyPart } from '../../../part/part.ts'
import type { MigratedParts } from '../../migrations.ts'
import { migrationsFor } from '../../migrations.ts'
import { tooFewFiles } from '../../http/connections.ts'
import { databaseTrouble, isInUse, isKeyringOf, keyringLost, keyringOfAnother } from '../../service/foundation.ts'
import type { KeyringContent } from '../../../../adapters/security/keyring.ts'
import { openKeyring } from '../../../../adapters/security/keyring.ts'
import { readKeyringContent } from '../../../../adapters/security/keyring-file.ts'
import { makeSqlSealedValues } from '../../../../adapters/sql/kernel/sealed-values.ts'
import { systemClock } from '../../../../adapters/system/system-clock.ts'
import { countKeyUse, faultsOf, sealedColumnsOf } from '../keys/key-use.ts'

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown'

export const checkNode = (version = process.versions.node): Finding =>
  Number(version.split('.')[0]) >= 24
    ? ok('node', `Node ${version}.`)
    : problem(
        'node',
        `Node ${version} is too old: 24 is needed. On Linux it comes with \`npm ci\` and npm scripts use ` +
          'it; elsewhere install it.',
      )

/**
 * Checks that the listeners can be bound: that this machine has their addresses. Their ports may be taken by the
 * running service.
 */
export const checkListeners = async (
  settings: Pick<
    RuntimeSettings,
    'listen' | 'opsListen' | 'marketplaceListen' | 'deploymentType' | 'billingEnabled' | 'runMode'
  >,
): Promise<readonly Finding[]> => {
  const { listen, opsListen, marketplaceListen, deploymentType: type, billingEnabled, runMode } = settings
  const isMarketplace = isOpen('any-marketplace', { type, billingEnabled, runMode })
  const addresses = [
    { name: 'MOORAGE_LISTEN', address: listen },
    ...(isMarketplace ? [{ name: 'MOORAGE_MARKETPLACE_LISTEN', address: marketplaceListen }] : []),
    { name: 'MOORAGE_OPS_LISTEN', address: opsListen },
  ]
  const found = await Promise.all(
    addresses.map(async ({ name, address }) => {
      try {
        const server = createServer().listen(0, address.host)
        await once(server, 'listening')
        server.close()
        return []
      } catch (cause) {
        return [problem('listeners', bindProblem(name, address, cause))]
      }
    }),
  )
  const problems = found.flat()
  return problems.length > 0
    ? problems
    : [
        ok(
          'listeners',
          `${addresses.map(({ address }) => showAddress(address)).join(' and ')} are addresses of this machine.`,
        ),
      ]
}

const leastFreeBytes = 512 * 1024 * 1024

export const checkDataFolder = ({ dataDir }: RuntimeSettings): Finding => {
  const subject = 'data folder'
  try {
    const { mode, uid } = statSync(dataDir)
    if (!statSync(dataDir).isDirectory()) return problem(subject, `${dataDir} is no folder.`)
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    if (process.getuid?.() !== 0 && uid !== process.getuid?.())
      return warning(subject, `${dataDir} belongs to another user (uid ${uid}).`)
    if ((mode & 0o007) !== 0)
      return warning(subject, `Other users of this machine can look into ${dataDir}. Run: chmod o-rwx ${dataDir}`)
    const { bavail, bsize } = statfsSync(dataDir)
    const free = bavail * bsize
    if (free < leastFreeBytes)
      return warning(subject, `Only ${Math.round(free / 1024 / 1024)} MiB are free in ${dataDir}.`)
    return ok(subject, `${dataDir} can be read and written.`)
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && canBeMade(dataDir))
      return ok(subject, `${dataDir} does not exist yet; the first start makes it.`)
    return problem(
      subject,
      `${dataDir} cannot be used (${codeOf(error)}). It must belong to the user that runs the service.`,
    )
  }
}

/** Tries to write where operations on packages write. */
export const checkTempFolder = async ({
  dataDir,
  tempDir,
}: Pick<RuntimeSettings, 'dataDir' | 'tempDir'>): Promise<Finding> => {
  const subject = 'temp folder'
  if (!isFolder(tempDir)) {
    if (!exists(tempDir) && canBeMade(tempDir))
      return ok(subject, `${tempDir} does not exist yet; it is made when it is needed.`)
    return problem(
      subject,
      `${tempDir} cannot be made. Set MOORAGE_TEMP_DIR to a folder that this user may ` +
        `write${tempDir.startsWith(dataDir) ? ', or repair the data folder' : ''}.`,
    )
  }
  const code = await whyUnwritable(tempDir)
  if (code === undefined) return ok(subject, `Temporary files can be written in ${tempDir}.`)
  return problem(
    subject,
    `No temporary file can be written in ${tempDir} (${code}): operations on packages fail. ` +
      `${code === 'ENOSPC' ? 'Free some space' : 'Make it writable'}, or set MOORAGE_TEMP_DIR to another ` +
      'folder.',
  )
}

/** Checks that this process, and so the service of the same user, may open enough files. */
export const checkOpenFiles = (limits?: string): Finding => {
  const told = tooFewFiles(limits)
  return told === undefined ? ok('open files', 'This process may open enough files.') : problem('open files', told)
}

/** Checks an operator's own certificate. The self-signed one needs no check. */
export const checkTls = ({ tls, tlsCertificate, tlsKey }: RuntimeSettings): Finding => {
  const subject = 'tls'
  if (!tls) return ok(subject, 'The API port speaks plain HTTP only (MOORAGE_TLS=false).')
  if (tlsCertificate === undefined || tlsKey === undefined)
    return ok(subject, 'The API port speaks HTTPS with a self-signed certificate.')
  try {
    readTlsIdentity(tlsCertificate, tlsKey)
  } catch (error) {
    return problem(subject, (error as Error).message)
  }
  const certificate = { certificatePem: readFileSync(tlsCertificate, 'utf8') }
  const told = expiryTold(certificate)
  if (told !== undefined)
    return (daysLeft(certificate) < 0 ? problem : warning)(
      subject,
      `The certificate ${tlsCertificate} must be renewed: ${told}.`,
    )
  return ok(
    subject,
    `${tlsCertificate} and ${tlsKey} belong together, until ${validityOf(certificate).until.toISOString()}.`,
  )
}

/**
 * Checks the database, the settings of its server, its schema, and the difference between its clock and that of this
 * machine.
 */
export const checkDatabase = async (
  settings: RuntimeSettings,
  parts: MigratedParts & { readonly parts: readonly Pick<AnyPart, 'migrations' | 'sealedColumns'>[] },
): Promise<readonly Finding[]> => {
  const { dataDir, keyring } = settings
  const url = settings.databaseUrl.reveal()
  const file = missingFile(url)
  if (file !== undefined) return [missingFileFinding(file, dataDir)]
  let database: SqlDatabase | undefined
  try {
    database = await openDatabase(url)
    const { dialect, now } = database
    const before = performance.now()
    const clock = await openSharedClock({ ask: now })
    const answered = Math.round(performance.now() - before)
    const schema = await schemaFinding(database, parts)
    const wrong = await wrongKeys(database, keyring)
    return [
      ok('database', `The ${dialect} database answers in ${answered} ms.`),
      ...(await unsuitableSettings(database)).map((message) => warning('database', message)),
      skewFinding(-clock.skewMs()),
      schema,
      ...wrong,
      ...(schema.state === 'ok' && wrong.length === 0 ? await usedKeys(database, keyring, parts.parts) : []),
    ]
  } catch (error) {
    return [problem('database', databaseTrouble(settings, error))]
  } finally {
    await database?.close().catch(() => undefined)
  }
}

/** Of the folders for the file, a start makes the data folder only. */
const missingFileFinding = (file: string, dataDir: string): Finding => {
  const above = dirname(resolve(file))
  if (above === dataDir || isFolder(above))
    return ok('database', `${file} does not exist yet; the first start makes it.`)
  return problem(
    'database',
    `${above}, the folder of the database ${file}, does not exist. Make it, or change MOORAGE_DATABASE_URL.`,
  )
}

/** Returns the file of an SQLite database that does not exist yet. Opening the database would create the file. */
export const missingFile = (databaseUrl: string): string | undefined => {
  const file = /^sqlite:(?!:memory:)(.+)$/s.exec(databaseUrl)?.[1]
  return file === undefined || exists(file) ? undefined : file
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

const exists = (path: string): boolean => {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** @internal */
export const skewFinding = (skewMs: number): Finding =>
  Math.abs(skewMs) <= worstSkewMs
    ? ok('clock', `The database's clock and this machine's agree within ${(Math.abs(skewMs) / 1000).toFixed(1)} s.`)
    : problem(
        'clock',
        `The database's clock is ${(Math.abs(skewMs) / 1000).toFixed(1)} s ` +
          `${skewMs > 0 ? 'ahead of' : 'behind'} this machine's. Set both by NTP: until they agree, no job ` +
          'runs on this machine and /readyz answers 503.',
      )

const schemaFinding = async (database: SqlDatabase, parts: MigratedParts): Promise<Finding> => {
  const states = await migrationStatus(database, await migrationsFor(parts, database))
  const count = (wanted: string): number => states.filter(({ state }) => state === wanted).length
  const missing = states.filter((state) => !isCurrent([state])).length - count('unknown')
  if (count('unknown') > 0)
    return problem('schema', 'The database was migrated by a newer version of Moorage. Upgrade this one.')
  const unfinished = unfinishedMigration(states)
  if (unfinished !== undefined) return problem('schema', unfinished)
  return missing === 0
    ? ok('schema', 'The schema is up to date.')
    : warning('schema', `${missing} migrations are missing. \`moorage serve\` applies them, or run: moorage migrate up`)
}

/** Reports whether the nearest existing parent folder is writable. */
export const canBeMade = (path: string): boolean => {
  const above = dirname(resolve(path))
  try {
    accessSync(above, constants.W_OK | constants.X_OK)
    return statSync(above).isDirectory()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && canBeMade(above)
  }
}

const subject = 'key ring'

/** Checks the file, and tells how old the current key is. */
export const checkKeyring = ({ keyring: path }: Pick<RuntimeSettings, 'keyring'>): Finding => {
  try {
    const content = readKeyringContent(path)
    if (content === undefined)
      return ok(
        subject,
        `${path} does not exist yet; the first start makes it. Back it up: sealed credentials cannot be ` +
          'read without it.',
      )
    const { keys, currentKeyId } = content
    return ok(
      subject,
      `${path} holds ${keys.length} ${keys.length === 1 ? 'key' : 'keys'}; the current one is ${currentKeyId}, ` +
        `made ${ageOf(content)}.`,
    )
  } catch (error) {
    return problem(subject, (error as Error).message)
  }
}

const ageOf = ({ keys, currentKeyId }: KeyringContent): string => {
  const made = Date.parse(keys.find(({ id }) => id === currentKeyId)?.createdAt ?? '')
  const days = Math.floor((systemClock.now().getTime() - made) / 86_400_000)
  if (!(days >= 0)) return 'at an unknown time'
  return days === 0 ? 'today' : `${days} ${days === 1 ? 'day' : 'days'} ago`
}

/** Reports a lost key ring, and that of another database. Only the database shows which key ring must exist. */
const wrongKeys = async (database: SqlDatabase, path: string): Promise<readonly Finding[]> => {
  if (!(await isInUse(database))) return []
  const content = readableContent(path)
  if (content === 'unreadable') return []
  if (content === undefined) return [problem(subject, keyringLost(path))]
  return (await isKeyringOf(database, openKeyring(content))) ? [] : [problem(subject, keyringOfAnother(path))]
}

/** Reports old keys that still seal values, and values whose key is lost. The schema must be up to date. */
const usedKeys = async (
  database: SqlDatabase,
  path: string,
  parts: readonly Pick<AnyPart, 'migrations' | 'sealedColumns'>[],
): Promise<readonly Finding[]> => {
  const content = readableContent(path)
  if (content === undefined || content === 'unreadable') return []
  const ids = content.keys.map(({ id }) => id)
  const use = await countKeyUse(makeSqlSealedValues(database), sealedColumnsOf(parts), ids)
  const old = ids.filter((id) => id !== content.currentKeyId && use.byKey.has(id))
  return [
    ...faultsOf(use).map((fault) => problem('sealed', `${fault} See: moorage keys status`)),
    ...old.map((id) =>
      warning('sealed', `The old key ${id} still seals ${use.byKey.get(id)} values. Run: moorage keys rotate`),
    ),
  ]
}

/** Returns undefined if the file does not exist. A file that is no key ring is reported by another check. */
const readableContent = (path: string): KeyringContent | 'unreadable' | undefined => {
  try {
    return readKeyringContent(path)
  } catch {
    return 'unreadable'
  }
}
