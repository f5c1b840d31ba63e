import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { makeHmacDigest } from '../../../../adapters/security/digests.ts'
import { openSealedKeyring } from '../../../../adapters/security/keyring-copy.ts'
import { readKeyringContent } from '../../../../adapters/security/keyring-file.ts'
import type { KeyringContent } from '../../../../adapters/security/keyring.ts'
import { openKeyring } from '../../../../adapters/security/keyring.ts'
import type { OrderedMigration } from '../../../../adapters/sql/kit/migration.ts'
import { ofNewerVersion, outsidePartOf } from '../../../../adapters/sql/engine/migration-ledger.ts'
import { StartRefused } from '../../../part/boot.ts'
import { migrationsFor } from '../../migrations.ts'
import type { CommonOptions, ExitCode } from '../../../part/command-context.ts'
import type { RuntimeContext } from '../runtime-context.ts'
import { makeProgress, printJson } from '../../../part/command-context.ts'
import { configOf } from '../config.ts'
import type { Manifest, ReadArchive, ReadingOptions } from './archive.ts'
import { ArchiveUnusable, markOf, readArchive } from './archive.ts'
import { described, keyRingFileOf, percent, readPassphrase } from './create.ts'

export interface ReadOptions extends CommonOptions {
  /** The sealed key ring, if it is not beside the archive. */
  readonly keyRing?: string
  readonly passphraseFile?: string
}

/** Where the key ring that an archive is compared with was found. */
interface FoundKeyRing {
  readonly content: KeyringContent
  readonly path: string
}

/** Checks every byte of an archive. Needs no service and no database. */
export const verifyBackup = async (context: RuntimeContext, path: string, options: ReadOptions): Promise<ExitCode> => {
  const config = await configOf(context, options)
  const { manifest, isMadeWith } = await readWhole(context, resolve(path))
  const faults = schemaFaults(manifest, await migrationsFor(config, { dialect: manifest.engine }))
  const ring = (await openKeyRingOf(resolve(path), options)) ?? existingKeyRing(config.settings.keyring)
  const keyRing = ring === undefined ? 'not compared' : keyRingFault({ manifest, isMadeWith }, ring)
  if (keyRing !== undefined && ring !== undefined) faults.push(keyRing)
  if (faults.length > 0) throw new StartRefused(faults)
  report(context, options, { path, manifest, ring })
  return 0
}

const report = (
  context: RuntimeContext,
  options: CommonOptions,
  {
    path,
    manifest,
    ring,
  }: { readonly path: string; readonly manifest: Manifest; readonly ring: FoundKeyRing | undefined },
): void => {
  const { id, createdAt, release, engine, tables, files } = manifest
  if (options.json === true)
    return printJson(context, { path, id, createdAt, release, engine, tables, files, keyRing: ring?.path ?? null })
  context.print(`${path} is whole: ${described(manifest)}.`)
  context.print(`Made at ${createdAt} by release ${release} of ${engine === 'sqlite' ? 'SQLite' : 'MySQL or MariaDB'}.`)
  if (ring !== undefined) context.print(`Made with the key ring ${ring.path}.`)
  else context.say('No key ring was found to compare it with (--passphrase-file, MOORAGE_KEYRING).')
}

/** Reads an archive to its end. Throws StartRefused that names it. */
export const readWhole = async (
  context: RuntimeContext,
  path: string,
  { doing = 'reading the archive', ...options }: ReadingOptions & { readonly doing?: string } = {},
): Promise<ReadArchive> => {
  const progress = makeProgress(context)
  try {
    return await readArchive(path, {
      onBytes: (part) => progress.show(`${doing}: ${percent(part)}`),
      ...options,
    })
  } catch (error) {
    if (error instanceof ArchiveUnusable)
      throw new StartRefused([`The backup ${path} cannot be used. ${error.message}`])
    throw error
  } finally {
    progress.clear()
  }
}

/** Returns why this version cannot restore the schema of an archive. */
export const schemaFaults = (manifest: Manifest, known: readonly OrderedMigration[]): string[] => {
  const unknown = manifest.migrations.filter((id) => !known.some((migration) => migration.id === id))
  const parts = [...new Set(unknown.flatMap((id) => outsidePartOf(id) ?? []))]
  const absent = parts.filter((part) => !known.some((migration) => migration.part === part))
  const newer = unknown.filter((id) => !absent.includes(outsidePartOf(id) ?? ''))
  return [
    ...(newer.length > 0 ? [ofNewerVersion(newer).replace('This database was migrated', 'The backup was made')] : []),
    ...absent.map((part) => `The backup has tables of the part ${part}, which is not loaded (MOORAGE_PLUGINS).`),
  ]
}

/** Returns why an archive does not belong to a key ring. */
export const keyRingFault = (
  { manifest, isMadeWith }: ReadArchive,
  { content, path }: FoundKeyRing,
): string | undefined => {
  const { auditKey, keyIds } = openKeyring(content)
  const key = makeHmacDigest(auditKey.reveal())
  if (markOf(key, manifest.id) !== manifest.keyRing.mark)
    return `The key ring ${path} is not that of the backup: it could not read what the backup holds sealed.`
  if (!isMadeWith(key)) return 'The backup was changed by someone who does not have its key ring.'
  const missing = manifest.keyRing.keyIds.filter((id) => !keyIds.includes(id))
  return missing.length === 0
    ? undefined
    : `The key ring ${path} does not hold the key ${missing.join(', ')} that seals values of the backup.`
}

const existingKeyRing = (path: string): FoundKeyRing | undefined => {
  const content = readKeyringContent(path)
  return content === undefined ? undefined : { content, path }
}

/** Opens the sealed key ring of an archive, if there is a passphrase. */
export const openKeyRingOf = async (archive: string, options: ReadOptions): Promise<FoundKeyRing | undefined> => {
  const path = options.keyRing ?? keyRingFileOf(archive)
  if (options.passphraseFile === undefined) {
    if (options.keyRing !== undefined) throw new StartRefused(['--key-ring needs --passphrase-file.'])
    return undefined
  }
  if (!existsSync(path))
    throw new StartRefused([`The sealed key ring ${path} does not exist. Name it with --key-ring.`])
  const passphrase = await readPassphrase(options.passphraseFile)
  try {
    return { content: await openSealedKeyring(readFileSync(path, 'utf8'), passphrase), path }
  } catch (cause) {
    throw new StartRefused([`The sealed key ring ${path} cannot be opened: ${(cause as Error).message}.`])
  }
}
