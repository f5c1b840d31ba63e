import { once } from 'node:events'
import { accessSync, constants, readFileSync, statfsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, resolve } from 'node:path'
import { connectBy, natsServers } from '../../../adapters/bus/nats-connection.ts'
import { makeNatsMint } from '../../../adapters/bus/nats-mint.ts'
import { lookUpClaims } from '../../../adapters/bus/nats-server.ts'
import { hasStreams } from '../../../adapters/bus/nats-task-bus.ts'
import type { SmtpPlace } from '../../../adapters/mail/mail-url.ts'
import { mailUrlForms, parseMailUrl } from '../../../adapters/mail/mail-url.ts'
import { verifySmtp } from '../../../adapters/mail/mailers.ts'
import { missingForCustomTokens, readSigningKey } from '../../../adapters/security/jose-custom-tokens.ts'
import { makeSecretBox, readKeyringFile } from '../../../adapters/security/keyring.ts'
import { systemEntropy } from '../../../adapters/system/system-entropy.ts'
import { daysLeft, expiryTold, readTlsIdentity, validityOf } from '../../../adapters/security/tls-identity.ts'
import { makeSqlBusIdentityStore } from '../../../adapters/sql/bus/bus-store.ts'
import { openDatabase, unsuitableSettings } from '../../../adapters/sql/engine/database.ts'
import { migrationStatus, unfinishedMigration } from '../../../adapters/sql/engine/migrator.ts'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { whyUnwritable } from '../../../adapters/system/temporary-folder.ts'
import { openSharedClock, worstSkewMs } from '../../../adapters/system/shared-clock.ts'
import { systemClock } from '../../../adapters/system/system-clock.ts'
import { readBusKeys, makeSealedKeys, makePlatformLogin, makeSystemLogin } from '../../../core/bus/keys.ts'
import { isOpen } from '../../../core/kernel/deployment.ts'
import { showAddress } from '../../config/setting-type.ts'
import type { Settings } from '../../config/settings.ts'
import { bindProblem } from '../../boot.ts'
import { tooFewFiles } from '../../http/connections.ts'
import { deploymentOf } from '../../service/compose.ts'
import { databaseTrouble, isInUse, isKeyringOf, keyringLost, keyringOfAnother } from '../../service/foundation.ts'
import { customTokenOptions } from '../../wiring/custom-token-options.ts'

/** The result of one check. A warning does not prevent operation today; a problem does. */
export interface Finding {
  readonly subject: string
  readonly state: 'ok' | 'warning' | 'problem'
  /** One sentence, with the action to take. */
  readonly message: string
}

const ok = (subject: string, message: string): Finding => ({ subject, state: 'ok', message })
const warning = (subject: string, message: string): Finding => ({ subject, state: 'warning', message })
const problem = (subject: string, message: string): Finding => ({ subject, state: 'problem', message })

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
export const checkListeners = async (settings: Settings): Promise<readonly Finding[]> => {
  const { listen, opsListen, marketplaceListen } = settings
  const isMarketplace = isOpen('any-marketplace', deploymentOf(settings))
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

/** Warns of a deployment that accepts leaked passwords. */
export const checkPasswordList = ({ passwordList }: Pick<Settings, 'passwordList'>): readonly Finding[] =>
  passwordList === 'on'
    ? []
    : [
        warning(
          'passwords',
          'Common passwords are accepted, which attackers try first. Remove MOORAGE_PASSWORD_LIST=off ' +
            'unless another system checks passwords.',
        ),
      ]

const leastFreeBytes = 512 * 1024 * 1024

export const checkDataFolder = ({ dataDir }: Settings): Finding => {
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
}: Pick<Settings, 'dataDir' | 'tempDir'>): Promise<Finding> => {
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

export const checkKeyring = ({ keyring: path }: Settings): Finding => {
  const subject = 'key ring'
  try {
    const keyring = readKeyringFile(path)
    if (keyring === undefined)
      return ok(
        subject,
        `${path} does not exist yet; the first start makes it. Back it up: sealed credentials cannot be ` +
          'read without it.',
      )
    return ok(
      subject,
      `${path} holds ${keyring.keyIds.length} keys; the current one is ${keyring.wrapper.currentKeyId}.`,
    )
  } catch (error) {
    return problem(subject, (error as Error).message)
  }
}

/** Checks an operator's own certificate. The self-signed one needs no check. */
export const checkTls = ({ tls, tlsCertificate, tlsKey }: Settings): Finding => {
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
export const checkDatabase = async (settings: Settings): Promise<readonly Finding[]> => {
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
    return [
      ok('database', `The ${dialect} database answers in ${Math.round(performance.now() - before)} ms.`),
      ...(await unsuitableSettings(database)).map((message) => warning('database', message)),
      skewFinding(-clock.skewMs()),
      await schemaFinding(database),
      ...(await wrongKeys(database, keyring)),
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
const missingFile = (databaseUrl: string): string | undefined => {
  const file = /^sqlite:(?!:memory:)(.+)$/s.exec(databaseUrl)?.[1]
  return file === undefined || exists(file) ? undefined : file
}

/** Reports a lost key ring, and that of another database. Only the database shows which key ring must exist. */
const wrongKeys = async (database: SqlDatabase, path: string): Promise<readonly Finding[]> => {
  if (!(await isInUse(database))) return []
  if (!exists(path)) return [problem('key ring', keyringLost(path))]
  const keyring = readableKeyring(path)
  return keyring === undefined || (await isKeyringOf(database, keyring))
    ? []
    : [problem('key ring', keyringOfAnother(path))]
}

/** Returns undefined for a file that is no key ring, which another check reports. */
const readableKeyring = (path: string): ReturnType<typeof readKeyringFile> => {
  try {
    return readKeyringFile(path)
  } catch {
    return undefined
  }
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

const schemaFinding = async (database: SqlDatabase): Promise<Finding> => {
  const states = await migrationStatus(database)
  const count = (wanted: string): number => states.filter(({ state }) => state === wanted).length
  const missing = states.length - count('done') - count('unknown')
  if (count('unknown') > 0)
    return problem('schema', 'The database was migrated by a newer version of Moorage. Upgrade this one.')
  const unfinished = unfinishedMigration(states)
  if (unfinished !== undefined) return problem('schema', unfinished)
  return missing === 0
    ? ok('schema', 'The schema is up to date.')
    : warning('schema', `${missing} migrations are missing. \`moorage serve\` applies them, or run: moorage migrate up`)
}

const busFinding = (state: Finding['state'], message: string): Finding => ({ subject: 'bus', state, message })
const makeKeys = 'Run `moorage bus init` and start nats-server with the configuration that it prints.'

/** Checks that the message bus answers and accepts the keys of this deployment. Changes nothing. */
export const checkBus = async (settings: Settings): Promise<Finding> => {
  const busUrl = settings.busUrl.reveal()
  if (busUrl === 'inproc:') return busFinding('ok', 'Messages stay inside this process: right for one instance.')
  let database: SqlDatabase | undefined
  try {
    const keyring = readKeyringFile(settings.keyring)
    if (keyring === undefined || missingFile(settings.databaseUrl.reveal()) !== undefined)
      return busFinding('problem', `The bus has no keys yet. ${makeKeys}`)
    database = await openDatabase(settings.databaseUrl.reveal())
    return await askServer(database, makeSecretBox(keyring.wrapper), natsServers(busUrl))
  } catch {
    return busFinding(
      'problem',
      'The keys of the bus cannot be read: see what is said about the database and the key ring.',
    )
  } finally {
    await database?.close().catch(() => undefined)
  }
}

const askServer = async (
  database: SqlDatabase,
  secretBox: ReturnType<typeof makeSecretBox>,
  servers: readonly string[],
): Promise<Finding> => {
  const identities = makeSqlBusIdentityStore(database)(database)
  const keys = await readBusKeys(identities)
  const deps = { identities, mint: makeNatsMint(systemClock), safe: makeSealedKeys(secretBox, systemEntropy) }
  const login = keys && (await makeSystemLogin(deps)())
  const tasksLogin = keys && (await makePlatformLogin(deps)())
  if (keys === undefined || login === undefined || tasksLogin === undefined)
    return busFinding('problem', `The bus has no keys yet. ${makeKeys}`)
  const where = servers.join(', ')
  try {
    const connection = await connectBy({ servers }, login, false)
    try {
      if ((await lookUpClaims(connection, keys.platform.publicKey)) === undefined)
        return busFinding('problem', `The bus at ${where} does not know the account of this deployment. ${makeKeys}`)
    } finally {
      await connection.close()
    }
    const tasks = await connectBy({ servers }, tasksLogin, false)
    try {
      if (await hasStreams(tasks))
        return busFinding('ok', `The bus at ${where} answers and knows the account of this deployment.`)
      return busFinding(
        'problem',
        `The bus at ${where} keeps no streams, so the progress of tasks is not published there. Keep the ` +
          `jetstream block of the configuration that \`moorage bus init\` prints.`,
      )
    } finally {
      await tasks.close()
    }
  } catch (error) {
    const reason = (error as Error).message
    if (/authori[sz]ation/i.test(reason))
      return busFinding('problem', `The bus at ${where} refuses the keys of this deployment. ${makeKeys}`)
    return busFinding(
      'problem',
      `The bus at ${where} does not answer (${reason}). Check MOORAGE_BUS_URL, and that nats-server runs. ` +
        'Everything but messages works without it.',
    )
  }
}

const mailFinding = (state: Finding['state'], message: string): Finding => ({ subject: 'mail', state, message })

/**
 * Checks that mail can be delivered: to the folder, or to a mail server that greets, encrypts and accepts the login.
 * Sends nothing.
 */
export const checkMail = async ({ mail }: Pick<Settings, 'mail'>): Promise<Finding> => {
  const place = parseMailUrl(mail.reveal())
  if (place === undefined) return mailFinding('problem', `MOORAGE_MAIL must be ${mailUrlForms}.`)
  return place.kind === 'folder' ? checkFolder(place.path) : checkServer(place.smtp)
}

const checkFolder = (path: string): Finding => {
  const meaning =
    'Mail is written to files and not sent, which is suitable for a trial only. Set MOORAGE_MAIL to a mail ' +
    'server to send it.'
  try {
    if (!statSync(path).isDirectory()) return mailFinding('problem', `${path} is no folder.`)
    accessSync(path, constants.W_OK | constants.X_OK)
    return mailFinding('warning', `Mail goes to the folder ${path}. ${meaning}`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && canBeMade(path))
      return mailFinding('warning', `The folder ${path} does not exist yet; the first mail makes it. ${meaning}`)
    return mailFinding('problem', `Mail cannot be written to ${path} (${code ?? 'unknown'}).`)
  }
}

/** Reports whether the nearest existing parent folder is writable. */
const canBeMade = (path: string): boolean => {
  const above = dirname(resolve(path))
  try {
    accessSync(above, constants.W_OK | constants.X_OK)
    return statSync(above).isDirectory()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && canBeMade(above)
  }
}

const checkServer = async (place: SmtpPlace): Promise<Finding> => {
  const server = `The mail server ${place.host}:${place.port}`
  try {
    await verifySmtp(place)
  } catch (error) {
    return mailFinding('problem', `${server} ${troubleWith(error as { readonly code?: string })}`)
  }
  const signedIn =
    place.user === undefined
      ? 'No user is configured, so it is used without signing in.'
      : `It accepts the sign-in of ${place.user}.`
  if (place.tls === 'off')
    return mailFinding('warning', `${server} answers, without encryption as ?tls=off says. ${signedIn}`)
  return mailFinding('ok', `${server} answers. ${signedIn}`)
}

const troubleWith = ({ code }: { readonly code?: string }): string => {
  switch (code) {
    case 'EAUTH':
      return 'refuses the user or the password in MOORAGE_MAIL.'
    case 'ENOAUTH':
      return 'wants a user and a password in MOORAGE_MAIL.'
    case 'ETLS':
      return (
        'offers no encryption that can be trusted. Give it a certificate for its name; on a network of your ' +
        'own, ?tls=off does without.'
      )
    case 'EDNS':
      return 'has a name that leads nowhere.'
    case 'ETIMEDOUT':
      return 'does not answer in time. A firewall may block the connection.'
    case 'ESOCKET':
    case 'ECONNECTION':
      return (
        'takes no connection of this kind: nothing listens there, or it speaks the other of smtp:// (mostly ' +
        'port 587) and smtps:// (mostly 465).'
      )
    default:
      return `cannot be spoken to (${code ?? 'unknown'}).`
  }
}

const subject = 'external id'

/**
 * Checks that tokens for the external identity provider can be signed. Returns nothing when the route does not exist.
 */
export const checkExtIdp = (settings: Settings): readonly Finding[] => {
  if (settings.deploymentType !== 'VendorHosted') return []
  const options = customTokenOptions(settings, '')
  const missing = missingForCustomTokens(options)
  if (missing !== undefined || options.keyFile === undefined)
    return [{ subject, state: 'warning', message: `${missing ?? ''} GET /user/extidp-token answers 503 until then.` }]
  try {
    const { algorithm } = readSigningKey(options.keyFile)
    return [
      {
        subject,
        state: 'ok',
        message: `${options.keyFile} signs tokens for the external identity provider by ${algorithm}.`,
      },
    ]
  } catch (error) {
    return [{ subject, state: 'problem', message: (error as Error).message }]
  }
}
