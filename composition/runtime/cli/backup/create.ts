import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { link, open, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { makeHmacDigest } from '../../../../adapters/security/digests.ts'
import { leastPassphrase, sealKeyring } from '../../../../adapters/security/keyring-copy.ts'
import { readKeyringContent } from '../../../../adapters/security/keyring-file.ts'
import { keyIdAtStart } from '../../../../adapters/security/keyring.ts'
import type { Snapshot, StoredRow, StoredTable } from '../../../../adapters/sql/kernel/backup/snapshot.ts'
import { openSnapshot } from '../../../../adapters/sql/kernel/backup/snapshot.ts'
import { recordUpkeep } from '../../../part/upkeep.ts'
import { ofNewerVersion } from '../../../../adapters/sql/engine/migration-ledger.ts'
import { isCurrent, migrationStatus, unfinishedMigration } from '../../../../adapters/sql/engine/migrator.ts'
import { isAlive } from '../../../../adapters/system/processes.ts'
import { releaseVersion } from '../../../../core/platform/version.ts'
import type { Secret } from '../../../../core/kernel/secret.ts'
import { secret } from '../../../../core/kernel/secret.ts'
import { StartRefused } from '../../../part/boot.ts'
import { migrationsFor } from '../../migrations.ts'
import type { StoredFiles } from '../../../part/part.ts'
import type { Composition } from '../../service/compose.ts'
import { isInUse, isKeyringOf, keyringOfAnother, refuseOtherKeyring } from '../../service/foundation.ts'
import type { CommonOptions, ExitCode } from '../../../part/command-context.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { makeProgress, printJson } from '../../../part/command-context.ts'
import { sealedColumnsOf } from '../keys/key-use.ts'
import type { OpenDeployment } from '../on-store.ts'
import { onAnyStore } from '../on-store.ts'
import type { ArchiveWriter, Manifest } from './archive.ts'
import { makeArchiveWriter, markOf } from './archive.ts'

export interface CreateOptions extends CommonOptions {
  readonly passphraseFile?: string
  /** False with `--no-key-ring`. */
  readonly keyRing: boolean
}

/** Writes a backup of the running deployment to a file that does not exist. It is whole, or there is none. */
export const createBackup = async (
  context: RuntimeContext,
  path: string,
  options: CreateOptions,
): Promise<ExitCode> => {
  const target = resolve(path)
  if (options.keyRing === (options.passphraseFile === undefined)) {
    context.say(
      'Give --passphrase-file, with which the key ring is sealed into a file of its own, or --no-key-ring if you ' +
        'keep a copy of the key ring elsewhere. Without the key ring a backup cannot be restored.',
    )
    return 2
  }
  const passphrase = options.passphraseFile === undefined ? undefined : await readPassphrase(options.passphraseFile)
  if (existsSync(target)) throw new StartRefused([`${target} exists. A backup replaces no file.`])
  if (existsSync(keyRingFileOf(target)))
    throw new StartRefused([
      `${keyRingFileOf(target)} exists without its archive: a backup was interrupted, or the archive was moved. ` +
        'Remove it, or give another name. A backup replaces no file.',
    ])
  return onAnyStore<ExitCode>(context, options, async (deployment) => {
    const files = await draftsOf(target)
    try {
      const manifest = await writeArchive(context, deployment, files)
      const { keyring } = deployment.config.settings
      if (passphrase !== undefined) await writeKeyRing(keyring, files.keyRing, passphrase)
      await publish(target, files)
      await recordUpkeep(context, deployment.boot.database, 'backup', new Date(manifest.createdAt))
      report(context, options, { path: target, manifest, keyRing: passphrase !== undefined })
      return 0
    } finally {
      await files.remove()
    }
  })
}

/** Where the sealed key ring of an archive is. */
export const keyRingFileOf = (archive: string): string => `${archive}.keyring`

/** Reads the first line of a file, or of stdin. It never comes from the command line, which other users can read. */
export const readPassphrase = async (file: string): Promise<Secret> => {
  const [line = ''] = (file === '-' ? await text(process.stdin) : readNamed(file)).split(/\r?\n/)
  if ([...line].length < leastPassphrase)
    throw new StartRefused([`The passphrase must have ${leastPassphrase} characters or more.`])
  return secret(line)
}

/** Reads a file that the command line names. Throws StartRefused. */
export const readNamed = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new StartRefused([`The file ${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`])
  }
}

/** Files that are not whole yet, or that are removed at the end. */
interface Drafts {
  readonly archive: string
  readonly keyRing: string
  /** The copy of an SQLite file. */
  readonly copy: string
  remove(): Promise<void>
}

const draftForm = /^\.(.+)\.(\d+)\.(?:part|keyring|copy)(?:-wal|-shm|-journal)?$/

/** Names the drafts by this process, and removes those of processes that were killed. */
const draftsOf = async (target: string): Promise<Drafts> => {
  const [folder, name] = [dirname(target), basename(target)]
  if (!existsSync(folder)) throw new StartRefused([`The folder ${folder} does not exist.`])
  for (const file of readdirSync(folder)) {
    const [, of, pid] = draftForm.exec(file) ?? []
    if (of === name && (Number(pid) === process.pid || !isAlive(Number(pid))))
      await rm(join(folder, file), { force: true })
  }
  const draft = (end: string): string => join(folder, `.${name}.${process.pid}.${end}`)
  const [archive, keyRing, copy] = [draft('part'), draft('keyring'), draft('copy')]
  return {
    archive,
    keyRing,
    copy,
    remove: async () => void (await Promise.all([archive, keyRing, copy].map((file) => rm(file, { force: true })))),
  }
}

const writeArchive = async (context: RuntimeContext, deployment: OpenDeployment, drafts: Drafts): Promise<Manifest> => {
  const { boot } = deployment
  const migrations = await finishedMigrations(deployment)
  const progress = makeProgress(context)
  const snapshot = await openSnapshot(boot.database, {
    copy: drafts.copy,
    onCopied: (part) => progress.show(`copying the database: ${percent(part)}`),
  })
  const file = await open(drafts.archive, 'wx', 0o600)
  try {
    const now = boot.clock.now()
    const writer = makeArchiveWriter(file, now)
    const keys = makeKeysSeen(deployment)
    const tables = await writeRows(snapshot, writer, keys, (line) => progress.show(line))
    const files = await writeFiles(deployment, snapshot, writer, (line) => progress.show(line))
    const id = randomUUID()
    const audit = makeHmacDigest(boot.keys.audit.reveal())
    const { held, lost } = await keysOf(deployment, keys.seen())
    if (lost.length > 0)
      context.say(
        `moorage: the key ring does not hold ${lost.join(', ')}: what is sealed with it cannot be opened here, nor ` +
          'after a restore.',
      )
    const manifest: Manifest = {
      format: 'moorage backup',
      formatVersion: 1,
      id,
      createdAt: now.toISOString(),
      release: releaseVersion,
      engine: boot.database.dialect,
      migrations,
      tables,
      files,
      keyRing: { mark: markOf(audit, id), keyIds: held },
    }
    await writer.finish(manifest, audit)
    await file.sync()
    return manifest
  } finally {
    progress.clear()
    await file.close()
    await snapshot.close()
  }
}

/** Refuses a database in the middle of a change of its schema, and an empty one. */
const finishedMigrations = async ({ foundation, config }: OpenDeployment): Promise<readonly string[]> => {
  const { database } = foundation
  const status = await migrationStatus(database, await migrationsFor(config, database))
  const newer = status.filter(({ state }) => state === 'unknown').map(({ id }) => id)
  if (newer.length > 0) throw new StartRefused([ofNewerVersion(newer)])
  const unfinished = unfinishedMigration(status)
  if (unfinished !== undefined) throw new StartRefused([unfinished])
  const continued = status.find(({ state }) => state === 'filling' || state === 'resumable')
  if (continued !== undefined)
    throw new StartRefused([`Migration ${continued.id} has begun and not ended. Run: moorage migrate up`])
  if (!(await isInUse(database)))
    throw new StartRefused(['This database has no accounts: there is nothing to back up.'])
  const { keyring } = config.settings
  // The register of instances of an older schema cannot be read: its key ring is compared with the audit log alone.
  if (isCurrent(status)) await refuseOtherKeyring(foundation, keyring)
  else if (!(await isKeyringOf(database, foundation.keyring))) throw new StartRefused([keyringOfAnother(keyring)])
  return status.filter(({ state }) => ['done', 'absent', 'newer'].includes(state)).map(({ id }) => id)
}

interface KeysSeen {
  see(table: StoredTable, row: StoredRow): void
  seen(): readonly string[]
}

/** Collects which keys seal values. */
const makeKeysSeen = ({ config }: OpenDeployment): KeysSeen => {
  const sealed = sealedColumnsOf(config.parts)
  const ids = new Set<string>()
  return {
    see({ name, columns }, row) {
      for (const { table, column } of sealed) {
        if (table !== name) continue
        const value = row[columns.findIndex((each) => each.name === column)]
        const id = value instanceof Uint8Array ? keyIdAtStart(value) : undefined
        if (id !== undefined) ids.add(id)
      }
    },
    seen: () => [...ids].sort(),
  }
}

/** Divides keys that seal values. One is lost after a start with `--accept-key-ring`; a restore must not ask for it. */
const keysOf = async (
  { foundation: { keyring } }: OpenDeployment,
  seen: readonly string[],
): Promise<{ readonly held: readonly string[]; readonly lost: readonly string[] }> => {
  // Another process may have added one since the start.
  await keyring.refresh()
  const isHeld = (id: string): boolean => keyring.keyIds.includes(id)
  return { held: seen.filter(isHeld), lost: seen.filter((id) => !isHeld(id)) }
}

type Show = (line: string) => void

const writeRows = async (
  snapshot: Snapshot,
  writer: ArchiveWriter,
  keys: KeysSeen,
  show: Show,
): Promise<Manifest['tables']> => {
  const tables: Manifest['tables'][number][] = []
  for (const table of snapshot.tables) {
    let count = 0
    const rows = await writer.rows(table, snapshot.rows(table), (row) => {
      keys.see(table, row)
      count += 1
      if (count % 1000 === 0) show(`${table.name}: ${count} rows`)
    })
    tables.push({ ...table, rows })
  }
  return tables
}

/** Returns what parts keep outside of the database, by its name. */
export const storedFilesOf = ({
  parts,
  container,
}: Pick<Composition, 'parts' | 'container'>): readonly (readonly [name: string, stored: StoredFiles])[] =>
  parts.flatMap(({ storedFiles: files }) =>
    files === undefined ? [] : [[files.name, files.make(container.give(files.needs))] as const],
  )

const writeFiles = async (
  composition: Composition,
  snapshot: Snapshot,
  writer: ArchiveWriter,
  show: Show,
): Promise<Manifest['files']> => {
  const counts: Record<string, { count: number; missing: number }> = {}
  for (const [name, stored] of storedFilesOf(composition)) {
    const all = snapshot.tables.find((table) => table.name === stored.table)
    const columns = stored.columns.flatMap((each) => all?.columns.find((column) => column.name === each) ?? [])
    const count = { count: 0, missing: 0 }
    for await (const row of all === undefined ? [] : snapshot.rows({ name: stored.table, columns })) {
      const [ref] = row
      if (typeof ref !== 'string' || ref === '') continue
      const bytes = await stored.read(ref)
      if (bytes === undefined) count.missing += 1
      else {
        await writer.file(name, ref, row, bytes)
        count.count += 1
      }
      show(`${name}: ${count.count}`)
    }
    counts[name] = count
  }
  return counts
}

const writeKeyRing = async (keyring: string, draft: string, passphrase: Secret): Promise<void> => {
  const content = readKeyringContent(keyring)
  if (content === undefined) throw new StartRefused([`The key ring ${keyring} is not there.`])
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(await sealKeyring(content, passphrase))
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Gives the files their names, the archive last. A file of that name that was made in between is not replaced. */
const publish = async (target: string, drafts: Drafts): Promise<void> => {
  const named = async (draft: string, path: string): Promise<void> => {
    if (existsSync(draft)) await link(draft, path)
  }
  await named(drafts.keyRing, keyRingFileOf(target))
  await named(drafts.archive, target)
  const folder: FileHandle = await open(dirname(target), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

export const percent = (part: number): string => `${Math.floor(part * 100)} %`

/** Returns what an archive holds, for people. */
export const described = ({ tables, files }: Pick<Manifest, 'tables' | 'files'>): string => {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const kinds = Object.entries(files).map(([name, { count }]) => `, ${count} ${name}`)
  return `${rows} rows of ${tables.length} tables${kinds.join('')}`
}

const report = (
  context: RuntimeContext,
  options: CommonOptions,
  { path, manifest, keyRing }: { readonly path: string; readonly manifest: Manifest; readonly keyRing: boolean },
): void => {
  const { id, createdAt, engine, files } = manifest
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  if (options.json === true)
    return printJson(context, {
      path,
      id,
      createdAt,
      engine,
      rows,
      files,
      keyRing: keyRing ? keyRingFileOf(path) : null,
    })
  context.print(`Wrote ${path}: ${described(manifest)}.`)
  if (keyRing)
    context.print(`Wrote ${keyRingFileOf(path)}: the key ring, sealed with the passphrase. Keep it elsewhere.`)
  for (const [name, { missing }] of Object.entries(files))
    if (missing > 0) context.say(`moorage: ${missing} ${name} that rows name are not in their store.`)
}
