import { setImmediate } from 'node:timers/promises'
import { loadAll } from 'js-yaml'
import type { ChartVersion } from '../../../core/packages/repositories/types.ts'
import type { Json } from '../../../core/kernel/json.ts'
import { isObject, toWireJson } from '../../../core/kernel/json.ts'
import { kubernetesSchema } from '../kubernetes-yaml.ts'
import { newestFirst, readVersion } from '../versions.ts'

/** One version of a chart in an index, reduced to what this service uses. The URL of its icon is never fetched. */
export interface IndexedVersion extends Omit<ChartVersion, 'digest'> {
  /** Lower-case hex of SHA-256; undefined if the index has none, `unreadable` if its value is not a digest. */
  readonly digest: string | undefined
}

/** Versions by chart, newest first. */
export type RepositoryIndex = ReadonlyMap<string, readonly IndexedVersion[]>

/** The file is not a valid index. The message states the reason. */
export class IndexRefused extends Error {}

const maxText = 2_000
const maxItems = 50
/** The largest public index has a fifth of this. */
const maxVersions = 100_000

const text = (value: Json | undefined): string =>
  (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '').slice(0, maxText)
const texts = (value: Json | undefined): readonly string[] =>
  (Array.isArray(value) ? (value as readonly Json[]).filter((item) => typeof item === 'string') : [])
    .slice(0, maxItems)
    .map((item) => item.slice(0, maxText))
const instant = (value: Json | undefined): string => {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? '' : new Date(at).toISOString()
}

/** Returns undefined for an entry that cannot be installed. Such entries are left out, as in Helm. */
const reduce = (name: string, entry: Json): IndexedVersion | undefined => {
  if (!isObject(entry)) return undefined
  const version = text(entry['version'])
  const urls = texts(entry['urls'])
  if (readVersion(version) === undefined || urls.length === 0) return undefined
  const written = entry['digest'] ?? ''
  const digest = text(written)
    .toLowerCase()
    .replace(/^sha256:/, '')
  return {
    name,
    version,
    urls,
    digest: written === '' ? undefined : /^[0-9a-f]{64}$/.test(digest) ? digest : 'unreadable',
    description: text(entry['description']),
    apiVersion: text(entry['apiVersion']),
    appVersion: text(entry['appVersion']),
    kubeVersion: text(entry['kubeVersion']),
    type: text(entry['type']),
    deprecated: entry['deprecated'] === true,
    icon: text(entry['icon']),
    home: text(entry['home']),
    keywords: texts(entry['keywords']),
    sources: texts(entry['sources']),
    created: instant(entry['created']),
  }
}

const sorted = (versions: readonly IndexedVersion[]): readonly IndexedVersion[] => {
  const byVersion = new Map(versions.toReversed().map((each) => [each.version, each]))
  return newestFirst([...byVersion.keys()]).flatMap((version) => byVersion.get(version) ?? [])
}

/** Aliases and merges are references: what they cost is bounded where entries are read. */
const maxAliases = 1_000_000
const maxMergedKeys = 500_000

/** Returns the first document, as Helm does: some generators end the file with `---`. */
const parse = (source: string): Json | undefined => {
  try {
    return loadAll(source, {
      schema: kubernetesSchema,
      json: true,
      maxDepth: 50,
      maxAliases,
      maxTotalMergeKeys: maxMergedKeys,
    })[0] as Json | undefined
  } catch {
    throw new IndexRefused('The index of the repository is no YAML that can be read.')
  }
}

/** Entries that an index without aliases cannot exceed: the shortest one takes more characters. */
const mostEntries = (source: string): number => 1_000 + Math.floor(source.length / 16)

/** Parses the index of an HTTP repository. Throws IndexRefused. */
export const readIndex = (bytes: Uint8Array): RepositoryIndex => {
  let source: string
  try {
    source = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new IndexRefused('The index of the repository is no UTF-8 text.')
  }
  const index = parse(source)
  const entries = isObject(index) ? index['entries'] : undefined
  if (!isObject(entries))
    throw new IndexRefused('The index of the repository has no entries: it is no chart repository.')
  const found = new Map<string, readonly IndexedVersion[]>()
  let left = mostEntries(source)
  let room = maxVersions
  for (const [name, versions] of Object.entries(entries)) {
    if (!Array.isArray(versions) || name.length > 250) continue
    left -= versions.length
    if (left < 0) throw new IndexRefused('The aliases in the index of the repository make too many entries of it.')
    const reduced = (versions as readonly Json[]).flatMap((entry) => reduce(name, entry) ?? [])
    room -= reduced.length
    if (room < 0) throw new IndexRefused(`The index of the repository has more than ${maxVersions} versions of charts.`)
    if (reduced.length > 0) found.set(name, sorted(reduced))
  }
  return found
}

/** Versions in one part, which is read in a few milliseconds. */
const partVersions = 250

/** Returns an index as texts, each of which is read in a few milliseconds. */
export const packIndex = (index: RepositoryIndex): readonly string[] => {
  const all = [...index.values()].flat()
  return Array.from({ length: Math.ceil(all.length / partVersions) }, (_, at) =>
    toWireJson(all.slice(at * partVersions, (at + 1) * partVersions)),
  )
}

/** Returns the index that was packed. Other work runs between the parts. */
export const unpackIndex = async (parts: readonly string[]): Promise<RepositoryIndex> => {
  const index = new Map<string, IndexedVersion[]>()
  for (const part of parts) {
    await setImmediate()
    // A version without a digest has no such member in JSON.
    for (const { digest, ...version } of JSON.parse(part) as readonly (Omit<IndexedVersion, 'digest'> & {
      readonly digest?: string
    })[]) {
      const known = index.get(version.name)
      if (known === undefined) index.set(version.name, [{ ...version, digest }])
      else known.push({ ...version, digest })
    }
  }
  return index
}

/** An archive as received from its repository. */
export interface ChartArchive {
  readonly version: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The digests that the repository states, not yet verified: lower-case hex of SHA-256. */
  readonly digests: readonly string[]
  /** Called when the bytes are no longer kept. */
  readonly release?: () => void
}

export type Download = Pick<ChartArchive, 'bytes' | 'digests' | 'release'>

/** A repository opened for one caller. Its methods throw the errors that `toSourceFailure` handles. */
export interface Repository {
  /** Returns the newest version of each chart, ordered by name. */
  charts(signal: AbortSignal): Promise<readonly IndexedVersion[]>
  /** Returns the versions, newest first. Throws ChartMissing if there are none. */
  versions(name: string, signal: AbortSignal): Promise<readonly IndexedVersion[]>
  /** @param wanted a version, a range, or empty for the newest stable one. */
  fetch(name: string, wanted: string, signal: AbortSignal): Promise<ChartArchive>
}
