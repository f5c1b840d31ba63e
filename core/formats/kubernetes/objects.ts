import type { FreeObject, Json } from '../../kernel/json.ts'
import { asTable } from '../helm/value-tables.ts'

/** Returns the plural of a kind as used in paths, as API servers form it for nearly every kind. */
export const pluralOf = (kind: string): string => {
  const word = kind.toLowerCase()
  if (word === 'endpoints') return word
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`
  return /(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`
}

/** Splits `apps/v1` into group and version. */
export const groupVersionOf = (apiVersion: string): { readonly group: string; readonly version: string } => {
  const [first = '', second] = apiVersion.split('/')
  return second === undefined ? { group: '', version: first } : { group: first, version: second }
}

/** `/apis/apps/v1` or `/api/v1`. */
export const apiRootOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`

/** One object of a manifest. */
export interface ManifestObject {
  readonly apiVersion: string
  readonly kind: string
  /** As written in the manifest; empty if it names none. */
  readonly namespace: string
  readonly name: string
  readonly body: FreeObject
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')

/** Returns the objects of one document; a list is split into its items. */
export const manifestObjectsOf = (value: Json): readonly ManifestObject[] => {
  const body = asTable(value)
  if (body === undefined) return []
  const kind = textOf(body.kind)
  if (kind.endsWith('List') && Array.isArray(body.items))
    return (body.items as readonly Json[]).flatMap(manifestObjectsOf)
  const metadata = asTable(body.metadata) ?? {}
  return kind === ''
    ? []
    : [
        {
          apiVersion: textOf(body.apiVersion),
          kind,
          namespace: textOf(metadata.namespace),
          name: textOf(metadata.name),
          body,
        },
      ]
}

/** Returns `Deployment web`, or `Deployment other/web` if the namespace is not the release's own. */
export const labelOf = (object: Pick<ManifestObject, 'kind' | 'namespace' | 'name'>, home: string): string =>
  `${object.kind} ${object.namespace === '' || object.namespace === home ? '' : `${object.namespace}/`}${object.name}`

/** `1 object`, `2 objects`. */
export const countOf = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

/** Returns counts by kind as text, `ConfigMap 2, Deployment 1`, and as numbers. */
export const countByKind = (
  objects: readonly ManifestObject[],
): { readonly text: string; readonly counts: Readonly<Record<string, number>> } => {
  const counts = new Map<string, number>()
  for (const { kind } of objects) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
  return { text: sorted.map(([kind, count]) => `${kind} ${count}`).join(', '), counts: Object.fromEntries(sorted) }
}

/** Returns the path of an object of a built-in namespaced kind. */
export const pathOf = (
  object: Pick<ManifestObject, 'apiVersion' | 'kind' | 'namespace' | 'name'>,
  home: string,
): string =>
  `${apiRootOf(object.apiVersion)}/namespaces/${encodeURIComponent(object.namespace || home)}/${pluralOf(object.kind)}/${encodeURIComponent(object.name)}`

/** Encodes a query value. */
export const queryValue = encodeURIComponent
