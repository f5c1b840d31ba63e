import { gzipSync } from 'node:zlib'
import { pack, type Header } from 'tar-stream'

type EntryKind = 'file' | 'symlink' | 'link' | 'directory' | 'character-device' | 'fifo'

export interface ArchiveEntry {
  readonly name: string
  readonly content?: string | Uint8Array
  readonly type?: EntryKind
  readonly linkname?: string
}

/** The bytes of a tar file with these entries, in this order; nothing is checked. */
export const tarOf = async (entries: readonly ArchiveEntry[]): Promise<Uint8Array> => {
  const tarball = pack()
  const parts: Uint8Array[] = []
  const gathered = (async () => {
    for await (const part of tarball as AsyncIterable<Uint8Array>) parts.push(part)
  })()
  for (const { name, content = '', type = 'file', linkname } of entries) {
    const bytes = Buffer.from(content as Uint8Array)
    const header = {
      name,
      type,
      mode: 0o644,
      mtime: new Date(0),
      size: type === 'file' ? bytes.length : 0,
      ...(linkname === undefined ? {} : { linkname }),
    } as Header
    tarball.entry(header, type === 'file' ? bytes : (undefined as never))
  }
  tarball.finalize()
  await gathered
  return Buffer.concat(parts)
}

export const archiveOf = async (entries: readonly ArchiveEntry[]): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(gzipSync(await tarOf(entries)))

/** A chart's archive from its files, below the folder `root`; the same files give the same bytes. */
export const chartArchive = (
  files: Readonly<Record<string, string | Uint8Array>>,
  root = 'web',
): Promise<Uint8Array<ArrayBuffer>> =>
  archiveOf(Object.entries(files).map(([name, content]) => ({ name: `${root}/${name}`, content })))

export const chartYaml = (name: string, more = '', version = '1.0.0'): string =>
  `apiVersion: v2\nname: ${name}\nversion: ${version}\n${more}`

export const minimalChart = (name = 'web', version = '1.0.0'): Promise<Uint8Array<ArrayBuffer>> =>
  chartArchive(
    {
      'Chart.yaml': chartYaml(name, '', version),
      'values.yaml': 'replicas: 1\n',
      'templates/map.yaml': 'kind: ConfigMap\n',
    },
    name,
  )
