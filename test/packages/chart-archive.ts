import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buffer } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { parse, stringify } from 'yaml'

const folder = fileURLToPath(new URL('./charts/fixtures/', import.meta.url))

/** Path below the chart's root, with `/`, to content. */
export type ChartFiles = Readonly<Record<string, string | Buffer>>

/** A chart as a repository offers it. */
export interface TestChart {
  readonly name: string
  readonly version: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly archive: Buffer
  /** Hex SHA-256 of the archive. */
  readonly digest: string
}

/** The files of a chart of `test/packages/charts/fixtures`. */
export const chartFiles = async (name: string): Promise<ChartFiles> => {
  const root = join(folder, name)
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
  return Object.fromEntries(
    await Promise.all(paths.toSorted().map(async (path) => [path, await readFile(join(root, path))] as const)),
  )
}

/** A `.tgz` of these files below the folder `name`; the same files give the same bytes. */
export const packFiles = async (name: string, files: ChartFiles): Promise<Buffer> => {
  const tar = pack()
  for (const [path, content] of Object.entries(files))
    tar.entry({ name: `${name}/${path}`, mtime: new Date(0), mode: 0o644 }, content)
  tar.finalize()
  return buffer(tar.pipe(createGzip()))
}

/**
 * A chart of `test/packages/charts/fixtures` as an archive, with another version and with files added or replaced where
 * asked.
 */
export const chartOf = async (
  name: string,
  changes: { readonly version?: string; readonly files?: ChartFiles } = {},
): Promise<TestChart> => {
  const files = { ...(await chartFiles(name)), ...changes.files }
  const metadata = parse(String(files['Chart.yaml'])) as Record<string, unknown>
  if (changes.version !== undefined) metadata['version'] = changes.version
  return chartFrom({
    ...files,
    'Chart.yaml': changes.version === undefined ? (files['Chart.yaml'] ?? '') : stringify(metadata),
  })
}

/** A chart of these files; its name and version stand in their Chart.yaml. */
export const chartFrom = async (files: ChartFiles): Promise<TestChart> => {
  const metadata = parse(String(files['Chart.yaml'])) as { readonly name: string; readonly version: string }
  const archive = await packFiles(metadata.name, files)
  return {
    name: metadata.name,
    version: metadata.version,
    metadata: { ...metadata },
    archive,
    digest: createHash('sha256').update(archive).digest('hex'),
  }
}
