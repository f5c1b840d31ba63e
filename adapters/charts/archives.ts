import { hash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import type { Header } from 'tar-stream'
import { extract } from 'tar-stream'
import { toWireJson } from '../../core/kernel/json.ts'

/** Bounds of an archive. Helm's own limits are wider; these apply to everything that this service fetches. */
export interface ArchiveLimits {
  /** Bytes of the compressed archive. */
  readonly archiveBytes: number
  /** Bytes of all files together, including those of nested archives. */
  readonly unpackedBytes: number
  readonly fileBytes: number
  /** Entries, including folders. */
  readonly entries: number
  /** Names in a path. */
  readonly pathDepth: number
  readonly pathLength: number
  /** Levels of nested charts. */
  readonly chartDepth: number
  /**
   * Charts of the whole tree, each counted once for each alias under which its parent takes it. Also bounds the entries
   * of one list of dependencies.
   */
  readonly charts: number
  /** Bytes of the default values of that tree, counted in the same way. */
  readonly valuesBytes: number
}

const mebibyte = 1024 * 1024

export const archiveLimits: ArchiveLimits = {
  archiveBytes: 10 * mebibyte,
  unpackedBytes: 50 * mebibyte,
  fileBytes: 5 * mebibyte,
  entries: 5_000,
  pathDepth: 24,
  pathLength: 512,
  chartDepth: 6,
  charts: 500,
  valuesBytes: 10 * mebibyte,
}

/** Returns the SHA-256 in lower-case hex. */
export const sha256Hex = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex')

/** An archive is refused. The message is written for the author of the archive. */
export class ArchiveRefused extends Error {}

/** What remains of the limits. Nested archives share the budget of the outer one. */
export interface ArchiveBudget {
  bytes: number
  entries: number
}

export const wholeBudget = (limits: ArchiveLimits): ArchiveBudget => ({
  bytes: limits.unpackedBytes,
  entries: limits.entries,
})

export interface ArchiveContent {
  /** By path relative to the single top-level folder. */
  readonly files: ReadonlyMap<string, Uint8Array>
}

const headerBytes = 1024

const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`

const gunzip = (archive: Uint8Array, limits: ArchiveLimits): Uint8Array => {
  if (archive.length > limits.archiveBytes)
    throw new ArchiveRefused(`The archive is larger than ${megabytes(limits.archiveBytes)}.`)
  if (archive[0] !== 0x1f || archive[1] !== 0x8b) throw new ArchiveRefused('The archive is not compressed by gzip.')
  try {
    return gunzipSync(archive, { maxOutputLength: limits.unpackedBytes + limits.entries * headerBytes })
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    throw new ArchiveRefused(
      isTooLarge
        ? `The archive unpacks to more than ${megabytes(limits.unpackedBytes)}.`
        : 'The archive is damaged, or not compressed by gzip.',
    )
  }
}

/** Quotes and truncates a name for a message: the author of the archive chose the name. */
const shown = (name: string): string => toWireJson(name.length > 100 ? `${name.slice(0, 100)}…` : name)

/** Returns the parts of an entry's path. Throws if any reader could resolve the path outside the archive. */
const partsOf = (name: string, limits: ArchiveLimits): readonly string[] => {
  const refuse = (what: string): never => {
    throw new ArchiveRefused(`The archive holds the path ${shown(name)}, which ${what}.`)
  }
  if (name.length > limits.pathLength) refuse('is too long')
  if (/\p{Cc}/u.test(name) || name.includes('\ufffd')) refuse('has characters that no file name should have')
  if (name.includes('\\')) refuse('has a backslash')
  if (name.startsWith('/')) refuse('is absolute')
  if (/(?:^|\/)[A-Za-z]:/.test(name)) refuse('names a drive')
  const parts = name.replace(/\/+$/, '').split('/')
  if (parts.includes('..')) refuse('leads upwards')
  if (parts.includes('.') || parts.includes('')) refuse('has an empty part')
  if (parts.length > limits.pathDepth) refuse('is too deep')
  return parts
}

const kinds: Readonly<Record<string, string>> = {
  link: 'a link',
  symlink: 'a link',
  'character-device': 'a device',
  'block-device': 'a device',
  fifo: 'a pipe',
}

/** Reads one `.tgz` in memory. Throws ArchiveRefused. */
export const readArchive = async (
  archive: Uint8Array,
  limits: ArchiveLimits,
  budget: ArchiveBudget,
): Promise<ArchiveContent> => {
  const bytes = gunzip(archive, limits)
  const files = new Map<string, Uint8Array>()
  const seen = new Set<string>()
  let root: string | undefined

  /** Returns the path under which the entry's content is kept, or undefined for a folder. */
  const accept = (header: Header): string | undefined => {
    budget.entries -= 1
    if (budget.entries < 0) throw new ArchiveRefused(`The archive has more than ${limits.entries} entries.`)
    const isFile = header.type === 'file' || header.type === 'contiguous-file'
    if (!isFile && header.type !== 'directory')
      throw new ArchiveRefused(
        `The archive holds ${kinds[header.type ?? ''] ?? 'something that is no file'}: ${shown(header.name)}.`,
      )
    const [first, ...rest] = partsOf(header.name, limits)
    if (root !== undefined && first !== root)
      throw new ArchiveRefused('The archive has more than one folder at its top.')
    root = first
    const path = rest.join('/')
    if (!isFile) return undefined
    if (path === '') throw new ArchiveRefused('The archive has a file beside the folder at its top.')
    if (seen.has(path)) throw new ArchiveRefused(`The archive holds ${shown(path)} more than once.`)
    seen.add(path)
    if ((header.size ?? 0) > limits.fileBytes)
      throw new ArchiveRefused(`${shown(path)} is larger than ${megabytes(limits.fileBytes)}.`)
    budget.bytes -= header.size ?? 0
    if (budget.bytes < 0)
      throw new ArchiveRefused(`The archive unpacks to more than ${megabytes(limits.unpackedBytes)}.`)
    return path
  }

  const reader = extract()
  reader.end(bytes)
  try {
    for await (const entry of reader) {
      const path = accept(entry.header)
      const parts: Uint8Array[] = []
      for await (const part of entry as AsyncIterable<Uint8Array>) parts.push(part)
      // Copied, because the parts are views of the whole buffer.
      if (path !== undefined) files.set(path, new Uint8Array(Buffer.concat(parts)))
    }
  } catch (error) {
    if (error instanceof ArchiveRefused) throw error
    throw new ArchiveRefused('The archive is damaged, or no tar file.')
  }
  if (files.size === 0) throw new ArchiveRefused('The archive holds no files.')
  return { files }
}
