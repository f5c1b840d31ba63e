import { dirname, basename, resolve } from 'node:path'
import { isRight } from 'fp-ts/lib/Either.js'
import { makeHmacDigest } from '../../../../adapters/security/digests.ts'
import { readKeyringContent } from '../../../../adapters/security/keyring-file.ts'
import { MigrationRefused, restoreMark } from '../../../../adapters/sql/engine/migration-ledger.ts'
import { migrateUp } from '../../../../adapters/sql/engine/migrator.ts'
import type { Loading } from '../../../../adapters/sql/kernel/backup/loading.ts'
import { openLoading } from '../../../../adapters/sql/kernel/backup/loading.ts'
import type { StoredTable } from '../../../../adapters/sql/kernel/backup/snapshot.ts'
import { makeSqlSealedValues } from '../../../../adapters/sql/kernel/sealed-values.ts'
import { makeSqlAuditLog } from '../../../../adapters/sql/audit/audit-log.ts'
import { writeWhole } from '../../../../adapters/system/files.ts'
import { verifyChain } from '../../../../core/audit/audit-chain.ts'
import { AuthenticatorPort } from '../../../../core/identity/ports.ts'
import type { Secret } from '../../../../core/kernel/secret.ts'
import { secret } from '../../../../core/kernel/secret.ts'
import { toWireJson } from '../../../../core/kernel/json.ts'
import { StartRefused } from '../../../part/boot.ts'
import type { LoadedConfig } from '../../config/config.ts'
import { besideOthers, migrationsFor } from '../../migrations.ts'
import { isOpenPart } from '../../service/compose.ts'
import { openStore } from '../../service/foundation.ts'
import type { ExitCode } from '../../../part/command-context.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { printJson } from '../../../part/command-context.ts'
import type { Finding } from '../../../part/finding.ts'
import { ok, problem } from '../../../part/finding.ts'
import { sealedColumnsOf, shownColumn } from '../keys/key-use.ts'
import { configOf } from '../config.ts'
import type { OpenDeployment } from '../on-store.ts'
import { onAnyStore } from '../on-store.ts'
import type { ArchiveEntry, Manifest, ReadArchive } from './archive.ts'
import { inOrderOf } from './archive.ts'
import { described, readNamed, storedFilesOf } from './create.ts'
import type { ReadOptions } from './verify.ts'
import { keyRingFault, openKeyRingOf, readWhole, schemaFaults } from './verify.ts'

export interface RestoreOptions extends ReadOptions {
  /** A file with a login in its first line and a password in the second, which are tried at the end. */
  readonly signIn?: string
}

/**
 * Restores an archive into the empty database of this deployment, of either kind. The archive is checked before
 * anything is written. A database whose restore has not ended carries a mark, with which no service starts and which
 * another restore takes as the leave to empty it.
 */
export const restoreBackup = async (
  context: RuntimeContext,
  path: string,
  options: RestoreOptions,
): Promise<ExitCode> => {
  const archive = resolve(path)
  const signIn = options.signIn === undefined ? undefined : readSignIn(options.signIn)
  const config = await configOf(context, options)
  const read = await readWhole(context, archive, { doing: 'checking the archive', opensRows: false })
  const { manifest } = read
  const faults = [
    ...schemaFaults(manifest, await migrationsFor(config, { dialect: manifest.engine })),
    ...fileFaults(manifest, config),
  ]
  if (faults.length > 0) throw new StartRefused(faults)
  const saveKeyRing = await keyRingToUse(config, archive, options, read)
  const findings = await inPlainWords(async () => {
    await onLoading(config, manifest, async (loading, database) => {
      await saveKeyRing()
      await loadRows(context, { archive, manifest, config, loading, database })
    })
    return onAnyStore(context, options, async (deployment) => {
      await writeFiles(context, archive, manifest, deployment)
      const found = [rowsFinding(manifest), ...(await check(deployment))]
      if (signIn !== undefined) found.push(await signInFinding(deployment, signIn))
      const loading = await openLoading(deployment.foundation.database)
      await loading.finish().finally(() => loading.close())
      return found
    })
  })
  report(context, options, manifest, findings)
  return findings.some(({ state }) => state === 'problem') ? 1 : 0
}

type Database = Awaited<ReturnType<typeof openStore>>

const inPlainWords = async <A>(work: () => Promise<A>): Promise<A> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof MigrationRefused) throw new StartRefused([error.message])
    throw error
  }
}

/** Returns what saves the key ring of the archive, where this deployment has none. It must be that of the archive. */
const keyRingToUse = async (
  { settings }: LoadedConfig,
  archive: string,
  options: ReadOptions,
  read: ReadArchive,
): Promise<() => Promise<void>> => {
  const present = readKeyringContent(settings.keyring)
  if (present !== undefined) {
    const fault = keyRingFault(read, { content: present, path: settings.keyring })
    if (fault !== undefined) throw new StartRefused([fault])
    return async () => undefined
  }
  const sealed = await openKeyRingOf(archive, options)
  if (sealed === undefined)
    throw new StartRefused([
      `The key ring ${settings.keyring} is not there. Put that of the backup there, or give --passphrase-file for ` +
        'the sealed one beside the backup.',
    ])
  const fault = keyRingFault(read, sealed)
  if (fault !== undefined) throw new StartRefused([fault])
  const { keyring } = settings
  return () => writeWhole(dirname(keyring), basename(keyring), Buffer.from(`${toWireJson(sealed.content, 2)}\n`))
}

/** Opens the database if it is empty, or has what an unfinished restore has left. */
const onLoading = async (
  { settings }: LoadedConfig,
  { migrations }: Manifest,
  work: (loading: Loading, database: Database) => Promise<void>,
): Promise<void> => {
  const database = await openStore(settings)
  try {
    const loading = await openLoading(database)
    try {
      const state = await loading.state()
      if (state.kind === 'used')
        throw new StartRefused([
          `The database has data already: its table ${state.table} has rows. Nothing was changed. Give an empty ` +
            'database (MOORAGE_DATABASE_URL).',
        ])
      if (state.kind === 'empty' && state.migrations.some((id) => !migrations.includes(id)))
        throw new StartRefused(['The schema of the database is newer than the backup. Give a database without tables.'])
      await work(loading, database)
    } finally {
      await loading.close()
    }
  } finally {
    await database.close()
  }
}

interface Restoring {
  readonly archive: string
  readonly manifest: Manifest
  readonly config: LoadedConfig
  readonly loading: Loading
  readonly database: Database
}

/** Makes the schema of the archive, fills its tables, then brings the schema up to this version. */
const loadRows = async (
  context: RuntimeContext,
  { archive, manifest, config, loading, database }: Restoring,
): Promise<void> => {
  const migrations = await migrationsFor(config, database)
  const { beside } = besideOthers(database)
  await loading.begin()
  const then = migrations.filter(({ id }) => manifest.migrations.includes(id))
  await migrateUp(database, { beside, migrations: [...then, restoreMark] })
  const targets = new Map((await loading.tables()).map((table) => [table.name, table]))
  const sources = new Map(manifest.tables.map((table) => [table.name, table]))
  refuseOtherTables(manifest, targets)
  for (const target of targets.values()) await loading.clear(target)
  const insert = async (entry: ArchiveEntry): Promise<void> => {
    if (entry.kind !== 'rows') return
    const [from, to] = [sources.get(entry.table), targets.get(entry.table)]
    if (from === undefined || to === undefined)
      throw new Error(`The archive has rows of an unknown table: ${entry.table}.`)
    await loading.insert(to, inOrderOf(from.columns, to.columns, entry.rows))
  }
  await readWhole(context, archive, { doing: 'restoring', onEntry: insert })
  await loading.setNumbers(manifest.tables)
  await loading.endLeases()
  for (const { name, rows } of manifest.tables) {
    const found = await loading.count(name)
    if (found !== rows)
      throw new StartRefused([`The table ${name} has ${found} rows after the restore instead of ${rows}.`])
  }
  const broken = await loading.brokenReferences()
  if (broken.length > 0) throw new StartRefused([`Rows name rows that do not exist: ${broken.join(', ')}.`])
  await migrateUp(database, { beside, migrations: [...migrations, restoreMark], say: (line) => context.say(line) })
}

/** The schema was made by the same migrations, so a difference is a fault of the archive or of a part. */
const refuseOtherTables = ({ tables }: Manifest, targets: ReadonlyMap<string, StoredTable>): void => {
  const differing = tables.filter(({ name, columns }) => {
    const target = targets.get(name)
    return (
      target === undefined ||
      target.columns.map((column) => column.name).join() !== columns.map((column) => column.name).join()
    )
  })
  if (differing.length > 0)
    throw new StartRefused([
      `The backup has other columns than this version makes, in: ${differing.map(({ name }) => name).join(', ')}.`,
    ])
}

/** Returns what the backup has and no open part of this deployment keeps. */
const fileFaults = ({ files }: Manifest, { parts, settings }: LoadedConfig): readonly string[] => {
  const kept = parts.filter((part) => isOpenPart(part, settings)).flatMap(({ storedFiles }) => storedFiles?.name ?? [])
  return Object.entries(files)
    .filter(([name, { count }]) => count > 0 && !kept.includes(name))
    .map(
      ([name]) =>
        `The backup has ${name}, and no part of this deployment keeps them. Check MOORAGE_DEPLOYMENT_TYPE and MOORAGE_PLUGINS.`,
    )
}

const writeFiles = async (
  context: RuntimeContext,
  archive: string,
  { files }: Manifest,
  deployment: OpenDeployment,
): Promise<void> => {
  if (Object.values(files).every(({ count }) => count === 0)) return
  const stores = new Map(storedFilesOf(deployment))
  const onEntry = async (entry: ArchiveEntry): Promise<void> => {
    if (entry.kind === 'file') await stores.get(entry.of)?.write(entry.detail as readonly unknown[], entry.bytes)
  }
  await readWhole(context, archive, { doing: 'storing files', opensRows: false, onEntry })
}

interface SignIn {
  readonly login: string
  readonly password: Secret
}

const readSignIn = (file: string): SignIn => {
  const [login = '', password = ''] = readNamed(file).split(/\r?\n/)
  if (login === '' || password === '')
    throw new StartRefused([`${file} must have a login in its first line and a password in the second.`])
  return { login, password: secret(password) }
}

/** As a person signs in. A second factor is not requested. */
const signInFinding = async ({ container }: OpenDeployment, { login, password }: SignIn): Promise<Finding> => {
  const credential = { kind: 'password', login, password, oneTimeCode: undefined } as const
  const found = await container.resolve(AuthenticatorPort).authenticate(credential, undefined, '127.0.0.1')
  if (isRight(found)) return ok('sign-in', `${login} has signed in`)
  return found.left.tag === 'OneTimeCodeRequired'
    ? ok('sign-in', `the password of ${login} is right; a second factor is asked for`)
    : problem('sign-in', `${login} cannot sign in: ${found.left.message}`)
}

/** They were counted, and references followed, before the schema was brought up to this version. */
const rowsFinding = ({ tables }: Manifest): Finding =>
  ok(
    'rows',
    `${tables.reduce((sum, { rows }) => sum + rows, 0)} in ${tables.length} tables, each as many as the backup has; ` +
      'every reference leads to a row',
  )

/** Looks at what people need first. */
const check = async (deployment: OpenDeployment): Promise<readonly Finding[]> => {
  const { parts, container } = deployment
  const found = [await auditFinding(deployment), await sealedFinding(deployment)]
  for (const { restored } of parts)
    if (restored !== undefined) found.push(...(await restored.make(container.give(restored.needs))()))
  return found
}

const auditFinding = async ({ boot, foundation }: OpenDeployment): Promise<Finding> => {
  const key = makeHmacDigest(boot.keys.audit.reveal())
  let rows = 0
  for await (const chain of makeSqlAuditLog(foundation.database).chains()) {
    const verdict = await verifyChain(key, chain)
    if (verdict.state !== 'whole')
      return problem('audit log', `The chain of account ${chain.tenantId} is not whole. See: moorage audit verify`)
    rows += verdict.rows
  }
  return ok('audit log', `whole, ${rows} rows`)
}

/** Opens one value of each sealed column with the key ring. */
const sealedFinding = async ({ boot, foundation, config }: OpenDeployment): Promise<Finding> => {
  const values = makeSqlSealedValues(foundation.database)
  let opened = 0
  for (const column of sealedColumnsOf(config.parts)) {
    const [first] = await values.others(column, { starts: [], after: undefined, limit: 1 })
    const value = first === undefined ? undefined : await values.find(column, first.key)
    if (value === undefined) continue
    try {
      await boot.secretBox.rewrap(value)
      opened += 1
    } catch {
      return problem('key ring', `It does not open the values of ${shownColumn(column)}.`)
    }
  }
  return ok('key ring', `opens the values of ${opened} sealed columns`)
}

const report = (
  context: RuntimeContext,
  options: RestoreOptions,
  manifest: Manifest,
  findings: readonly Finding[],
): void => {
  const { id, createdAt, tables, files } = manifest
  if (options.json === true) return printJson(context, { id, createdAt, tables, files, findings })
  context.print(`Restored the backup of ${createdAt}: ${described(manifest)}.`)
  for (const { subject, state, message } of findings) context.print(`${state.padEnd(8)} ${subject}: ${message}`)
  context.print('What was revoked or ended after that moment is valid again, and users must sign in again.')
}
