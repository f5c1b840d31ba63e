import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import * as t from 'io-ts'
import { extract, pack } from 'tar-stream'
import type {
  StoredColumn,
  StoredRow,
  StoredTable,
  StoredValue,
} from '../../../../adapters/sql/kernel/backup/snapshot.ts'
import type { KeyedDigest } from '../../../../core/audit/ports.ts'
import { fromWireJson, toWireJson } from '../../../../core/kernel/json.ts'

/** What an archive is and holds. It is written after everything else. */
export interface Manifest {
  readonly format: 'moorage backup'
  readonly formatVersion: 1
  readonly id: string
  readonly createdAt: string
  /** The release that made it. */
  readonly release: string
  /** The kind of the database that it was made of. */
  readonly engine: 'sqlite' | 'mysql'
  /** The migrations that had run: the version of the schema. */
  readonly migrations: readonly string[]
  readonly tables: readonly TableInManifest[]
  /** Documents and the like, by the name of their kind. */
  readonly files: Readonly<Record<string, { readonly count: number; readonly missing: number }>>
  readonly keyRing: {
    /** HMAC of the id of the archive under the audit key of the key ring. */
    readonly mark: string
    /** The keys that seal values of the archive. */
    readonly keyIds: readonly string[]
  }
}

interface TableInManifest extends StoredTable {
  readonly rows: number
}

/** The archive is not whole, or not one of this version. The message is one sentence. */
export class ArchiveUnusable extends Error {
  override readonly name = 'ArchiveUnusable'
}

const compressed = promisify<Buffer, Buffer>(gzip)
const decompressed = promisify<Buffer, { readonly maxOutputLength: number }, Buffer>(gunzip)

/** Rows are collected up to this length of their text, in characters. */
const pieceLength = 2 * 1024 * 1024
/** A row may have several values of 16 MiB. More is no archive of ours, in an entry or in what it unpacks to. */
const longestPiece = 512 * 1024 * 1024
/** A row has at least one character beside its end. */
const mostRows = pieceLength

/** The end of a tar archive. */
const endOfTar = Buffer.alloc(1024)
const sealName = 'seal'
const sealLength = 2 * 64 + 2
/** The last entry of every archive and the end: a header, one block and two blocks of zeros. */
const tailLength = 512 + 512 + endOfTar.length

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

interface EntryContent {
  readonly name: string
  readonly bytes: Buffer
  /** What the one who restores it must know, as JSON has it. */
  readonly detail?: unknown
}

/** What the header of an entry says of it. */
interface EntryFacts {
  readonly sha256?: string
  readonly detail?: unknown
}

/** Returns an entry of a tar archive, without the end of the archive. */
const tarEntry = async ({ name, bytes, detail }: EntryContent, modifiedAt: Date, isPlain = false): Promise<Buffer> => {
  const packing = pack()
  // Programs that unpack archives know a comment, and would warn of a field of our own.
  const pax = { comment: toWireJson({ sha256: sha256(bytes), detail } satisfies EntryFacts) }
  packing.entry({ name, mode: 0o600, mtime: modifiedAt, size: bytes.length, ...(isPlain ? {} : { pax }) }, bytes)
  packing.finalize()
  const whole = await buffer(packing)
  return whole.subarray(0, whole.length - endOfTar.length)
}

/** Writes an archive. Nothing is kept in memory but a piece of rows or one document. */
export interface ArchiveWriter {
  /** Adds rows of the table that was begun last. */
  rows(table: StoredTable, rows: AsyncIterable<StoredRow>, onRow: (row: StoredRow) => void): Promise<number>
  file(kind: string, ref: string, detail: unknown, bytes: Uint8Array): Promise<void>
  /** Writes the manifest and the seal. `key` is that of the audit log. */
  finish(manifest: Manifest, key: KeyedDigest): Promise<void>
}

export const makeArchiveWriter = (file: FileHandle, now: Date): ArchiveWriter => {
  const whole = createHash('sha256')
  const write = async (bytes: Buffer): Promise<void> => {
    whole.update(bytes)
    await writeAll(file, bytes)
  }
  const entry = async (content: EntryContent): Promise<void> => write(await tarEntry(content, now))
  return {
    async rows({ name }, rows, onRow) {
      let [count, pieces, length] = [0, 0, 0]
      let lines: string[] = []
      const flush = async (): Promise<void> => {
        if (lines.length === 0) return
        pieces += 1
        const bytes = await compressed(Buffer.from(`${lines.join('\n')}\n`))
        await entry({ name: `rows/${name}/${String(pieces).padStart(6, '0')}.jsonl.gz`, bytes })
        ;[lines, length] = [[], 0]
      }
      for await (const row of rows) {
        onRow(row)
        const line = toWireJson(row.map(encodedValue))
        lines.push(line)
        length += line.length
        count += 1
        if (length >= pieceLength) await flush()
      }
      await flush()
      return count
    },
    file: (kind, ref, detail, bytes) => entry({ name: `files/${kind}/${ref}`, bytes: Buffer.from(bytes), detail }),
    async finish(manifest, key) {
      await entry({ name: 'manifest.json', bytes: Buffer.from(`${toWireJson(manifest, 2)}\n`) })
      const mac = hexOf(key.digest(`moorage backup ${whole.copy().digest('hex')}`))
      const digest = whole.update(mac).digest('hex')
      const seal = Buffer.from(`${digest} ${mac}\n`)
      await writeAll(file, await tarEntry({ name: sealName, bytes: seal }, now, true))
      await writeAll(file, endOfTar)
    },
  }
}

const writeAll = async (file: FileHandle, bytes: Buffer): Promise<void> => {
  for (let at = 0; at < bytes.length;) at += (await file.write(bytes, at)).bytesWritten
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Returns how an archive is marked that was made with this key ring. */
export const markOf = (key: KeyedDigest, id: string): string => hexOf(key.digest(`moorage backup of ${id}`))

const encodedValue = (value: StoredValue): unknown =>
  value instanceof Uint8Array ? { b: Buffer.from(value).toString('base64') } : value

const decodedValue = (value: unknown): StoredValue => {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value
  const { b } = value as { readonly b?: unknown }
  if (typeof b !== 'string') throw new ArchiveUnusable('A row has a value of an unknown form.')
  return new Uint8Array(Buffer.from(b, 'base64'))
}

/** An entry of an archive whose digest was checked. */
export type ArchiveEntry =
  | { readonly kind: 'rows'; readonly table: string; readonly rows: readonly StoredRow[] }
  | {
      readonly kind: 'file'
      readonly of: string
      readonly ref: string
      readonly detail: unknown
      readonly bytes: Uint8Array
    }

/** The last bytes of an archive. */
interface Seal {
  readonly digest: string
  readonly mac: string
}

const cut = 'It is cut, or its backup was not finished: the seal at its end is missing.'

/** Reads the seal by its place. Throws ArchiveUnusable if the file does not end as an archive does. */
const readSeal = async (file: FileHandle, size: number): Promise<Seal> => {
  if (size < tailLength) throw new ArchiveUnusable(cut)
  const tail = Buffer.alloc(tailLength)
  await file.read(tail, 0, tailLength, size - tailLength)
  const text = tail.toString('latin1', 512, 512 + sealLength)
  const found = /^([0-9a-f]{64}) ([0-9a-f]{64})\n$/.exec(text)
  const isPadded = tail.subarray(512 + sealLength).every((byte) => byte === 0)
  if (tail.toString('latin1', 0, sealName.length + 1) !== `${sealName}\0` || found === null || !isPadded)
    throw new ArchiveUnusable(cut)
  return { digest: found[1] ?? '', mac: found[2] ?? '' }
}

/** An archive that was read to its end. */
export interface ReadArchive {
  readonly manifest: Manifest
  /**
   * Returns whether the archive was made with a key ring, by its audit key, and not changed since by anyone without it.
   */
  isMadeWith(key: KeyedDigest): boolean
}

export interface ReadingOptions {
  /** Called with each entry before the rest is checked. */
  readonly onEntry?: (entry: ArchiveEntry) => Promise<void>
  /** Called with the part that is read, from 0 to 1. */
  readonly onBytes?: (part: number) => void
  /**
   * False: rows are neither unpacked nor counted nor passed to `onEntry`, which is most of the time. Their digests are
   * checked.
   */
  readonly opensRows?: boolean
}

/** Reads an archive to its end, and checks every byte of it. Throws ArchiveUnusable with what is wrong. */
export const readArchive = async (
  path: string,
  { onEntry = async () => undefined, onBytes = () => undefined, opensRows = true }: ReadingOptions = {},
): Promise<ReadArchive> => {
  const file = await openArchive(path)
  try {
    const { size } = await file.stat()
    const seal = await readSeal(file, size)
    const whole = createHash('sha256')
    let done = 0
    const hashed = async function* (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
      for await (const bytes of source) {
        const left = size - tailLength - done
        if (left > 0) whole.update(bytes.subarray(0, left))
        done += bytes.length
        onBytes(done / size)
        yield bytes
      }
    }
    const passed: { refused?: Error } = {}
    const reader = makeEntryReader(opensRows, async (entry) => {
      try {
        await onEntry(entry)
      } catch (error) {
        passed.refused = error as Error
        throw error
      }
    })
    let fault: Error | undefined
    try {
      await pipeline(file.createReadStream({ autoClose: false, start: 0 }), hashed, (source) => reader.read(source))
    } catch (error) {
      fault = error as Error
    }
    if (passed.refused !== undefined) throw passed.refused
    // What is wrong with an entry says more than that some byte was changed.
    if (fault instanceof ArchiveUnusable) throw fault
    if (fault !== undefined && isOfTar(fault)) throw new ArchiveUnusable(cut)
    if (fault !== undefined) throw fault
    const macInput = whole.copy().digest('hex')
    if (whole.update(seal.mac).digest('hex') !== seal.digest)
      throw new ArchiveUnusable('It was changed after it was made: its digest is another one.')
    const manifest = reader.manifest()
    return {
      manifest,
      isMadeWith: (key) => hexOf(key.digest(`moorage backup ${macInput}`)) === seal.mac,
    }
  } finally {
    await file.close()
  }
}

const isOfTar = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === undefined

const openArchive = async (path: string): Promise<FileHandle> => {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw new ArchiveUnusable('It does not exist.')
  if (!found.isFile()) throw new ArchiveUnusable('It is not a file.')
  return open(path, 'r')
}

interface EntryHeader {
  readonly name: string
  readonly size?: number
  readonly pax?: Record<string, string> | null
}

interface EntryReader {
  read(source: AsyncIterable<Buffer>): Promise<void>
  manifest(): Manifest
}

const makeEntryReader = (opensRows: boolean, onEntry: (entry: ArchiveEntry) => Promise<void>): EntryReader => {
  const counts = new Map<string, number>()
  const files = new Map<string, number>()
  let text: string | undefined
  const take = async (name: string, bytes: Buffer, facts: EntryFacts): Promise<void> => {
    if (name === sealName) return
    if (facts.sha256 !== sha256(bytes)) throw new ArchiveUnusable(`It was changed: the entry ${name} is not as it was.`)
    const [kind, owner = '', ref = ''] = name.split('/')
    if (name === 'manifest.json') text = bytes.toString('utf8')
    else if (kind === 'rows') {
      if (!opensRows) return
      const rows = await rowsOf(name, bytes)
      counts.set(owner, (counts.get(owner) ?? 0) + rows.length)
      await onEntry({ kind: 'rows', table: owner, rows })
    } else if (kind === 'files') {
      files.set(owner, (files.get(owner) ?? 0) + 1)
      await onEntry({ kind: 'file', of: owner, ref, detail: facts.detail, bytes })
    } else throw new ArchiveUnusable(`It was changed: it has an entry of an unknown kind, ${name}.`)
  }
  return {
    async read(source) {
      const entries = extract()
      const parsing = (async () => {
        for await (const entry of entries) {
          const { name, size = 0, pax } = entry.header as EntryHeader
          if (size > longestPiece) throw new ArchiveUnusable(`It has an entry that is too large for a backup, ${name}.`)
          await take(name, await buffer(entry), factsOf(name, pax?.['comment']))
        }
      })()
      await Promise.all([pipeline(source, entries), parsing])
    },
    manifest() {
      const manifest = manifestOf(text)
      for (const { name, rows } of manifest.tables)
        if (opensRows && (counts.get(name) ?? 0) !== rows)
          throw new ArchiveUnusable(`It has ${counts.get(name) ?? 0} rows of ${name} instead of ${rows}.`)
      for (const [name, { count }] of Object.entries(manifest.files))
        if ((files.get(name) ?? 0) !== count)
          throw new ArchiveUnusable(`It has ${files.get(name) ?? 0} files of ${name} instead of ${count}.`)
      return manifest
    },
  }
}

const factsOf = (name: string, comment = '{}'): EntryFacts => {
  try {
    return fromWireJson(comment) as EntryFacts
  } catch {
    throw new ArchiveUnusable(`It was changed: the header of the entry ${name} is not as it was.`)
  }
}

const manifestCodec = t.type({
  id: t.string,
  createdAt: t.string,
  release: t.string,
  engine: t.keyof({ sqlite: null, mysql: null }),
  migrations: t.array(t.string),
  tables: t.array(t.type({ name: t.string, rows: t.number, columns: t.array(t.type({ name: t.string })) })),
  files: t.record(t.string, t.type({ count: t.number, missing: t.number })),
  keyRing: t.type({ mark: t.string, keyIds: t.array(t.string) }),
})

const parsedManifest = (text: string): Partial<Manifest> | null => {
  try {
    return fromWireJson(text) as Partial<Manifest> | null
  } catch {
    throw new ArchiveUnusable('Its manifest cannot be read.')
  }
}

const manifestOf = (text: string | undefined): Manifest => {
  if (text === undefined) throw new ArchiveUnusable(cut)
  const manifest = parsedManifest(text)
  if (manifest?.format !== 'moorage backup') throw new ArchiveUnusable('It is not a backup of Moorage.')
  if (manifest.formatVersion !== 1)
    throw new ArchiveUnusable('A newer release made it, with another format. Use that release, or a later one.')
  if (!manifestCodec.is(manifest)) throw new ArchiveUnusable('Its manifest cannot be read.')
  return manifest as Manifest
}

const rowOf = (line: string): StoredRow => (fromWireJson(line) as readonly unknown[]).map(decodedValue)

/** Each row is a line. They are counted before all of them are in memory. */
const rowsOf = async (name: string, bytes: Buffer): Promise<readonly StoredRow[]> => {
  try {
    const text = (await decompressed(bytes, { maxOutputLength: longestPiece })).toString('utf8')
    const rows: StoredRow[] = []
    for (let from = 0; from < text.length;) {
      const to = text.indexOf('\n', from)
      if (rows.length === mostRows) throw new ArchiveUnusable(`The entry ${name} has too many rows for a backup.`)
      if (to < 0) throw new ArchiveUnusable(`The entry ${name} is cut.`)
      rows.push(rowOf(text.slice(from, to)))
      from = to + 1
    }
    return rows
  } catch (cause) {
    throw cause instanceof ArchiveUnusable ? cause : new ArchiveUnusable(`The entry ${name} cannot be read.`)
  }
}

/** Returns the rows with their values in the order of other columns of the same names. */
export const inOrderOf = (
  from: readonly StoredColumn[],
  to: readonly StoredColumn[],
  rows: readonly StoredRow[],
): readonly StoredRow[] => {
  const places = to.map(({ name }) => from.findIndex((column) => column.name === name))
  if (places.every((place, at) => place === at) && from.length === to.length) return rows
  return rows.map((row) => places.map((place) => row[place] ?? null))
}
