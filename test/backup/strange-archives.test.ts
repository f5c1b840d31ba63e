import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import type { ExecutionContext } from 'ava'
import test from 'ava'
import { pack } from 'tar-stream'
import { makeHmacDigest } from '../../adapters/security/digests.ts'
import type { Manifest } from '../../composition/runtime/cli/backup/archive.ts'
import { makeArchiveWriter, readArchive } from '../../composition/runtime/cli/backup/archive.ts'

const key = makeHmacDigest(Buffer.alloc(32, 7))
const manifest: Manifest = {
  format: 'moorage backup',
  formatVersion: 1,
  id: 'a',
  createdAt: '2026-01-01T00:00:00.000Z',
  release: 'v2026.1.1',
  engine: 'sqlite',
  migrations: [],
  tables: [],
  files: {},
  keyRing: { mark: '', keyIds: [] },
}

/** The path of an archive with this manifest. `entries` precede it, which the seal does not know. */
const archiveWith = async (t: ExecutionContext, written: unknown, entries: Buffer = Buffer.alloc(0)) => {
  const pieces = [entries]
  const file = {
    write: (bytes: Buffer) => {
      pieces.push(bytes)
      return Promise.resolve({ bytesWritten: bytes.length })
    },
  } as unknown as FileHandle
  await makeArchiveWriter(file, new Date(0)).finish(written as Manifest, key)
  const folder = mkdtempSync(join(tmpdir(), 'moorage-archive-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'archive.tar')
  writeFileSync(path, Buffer.concat(pieces))
  return path
}

const messageOf = async (path: string): Promise<string> => {
  try {
    await readArchive(path)
    return 'read'
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`
  }
}

/** An entry with its digest. */
const entry = async (name: string, bytes: Buffer): Promise<Buffer> => {
  const packing = pack()
  const comment = JSON.stringify({ sha256: createHash('sha256').update(bytes).digest('hex') })
  packing.entry({ name, pax: { comment } } as never, bytes)
  packing.finalize()
  const all = await buffer(packing)
  return all.subarray(0, all.length - 1024)
}

/** The header of an entry without its content. */
const headerOf = (name: string, size: number): Promise<Buffer> =>
  new Promise((resolve) => {
    const packing = pack()
    packing.once('data', (header) => resolve(header as Buffer))
    packing.entry({ name, size })
  })

test('an archive whose manifest is not one is refused with a sentence', async (t) => {
  t.is(await messageOf(await archiveWith(t, manifest)), 'read')
  for (const broken of [
    { ...manifest, keyRing: undefined },
    { ...manifest, keyRing: { mark: '', keyIds: 'all' } },
    { ...manifest, tables: [null] },
    { ...manifest, tables: {} },
    { ...manifest, files: { documents: 1 } },
    { ...manifest, migrations: [1] },
    { ...manifest, engine: 'oracle' },
  ])
    t.is(await messageOf(await archiveWith(t, broken)), 'ArchiveUnusable: Its manifest cannot be read.')
  for (const other of [null, [], 'x', {}])
    t.is(await messageOf(await archiveWith(t, other)), 'ArchiveUnusable: It is not a backup of Moorage.')
})

test('an entry with an excessive size or number of rows is not read', async (t) => {
  const large = await headerOf('files/documents/x', 600 * 1024 * 1024)
  t.is(
    await messageOf(await archiveWith(t, manifest, large)),
    'ArchiveUnusable: It has an entry that is too large for a backup, files/documents/x.',
  )
  const rowsIn = (text: string) => entry('rows/users/000001.jsonl.gz', gzipSync(text))
  for (const [text, message] of [
    ['[]\n'.repeat(3_000_000), 'The entry rows/users/000001.jsonl.gz has too many rows for a backup.'],
    ['\n', 'The entry rows/users/000001.jsonl.gz cannot be read.'],
    ['[1]', 'The entry rows/users/000001.jsonl.gz is cut.'],
    ['{}\n', 'The entry rows/users/000001.jsonl.gz cannot be read.'],
  ] as const)
    t.is(await messageOf(await archiveWith(t, manifest, await rowsIn(text))), `ArchiveUnusable: ${message}`)
})
