import type { FreeObject, Json } from '../../kernel/json.ts'
import { definedFields } from '../../kernel/json.ts'
import type { Redact } from '../../kernel/secret.ts'
import { asTable, entriesOf, isSame } from '../helm/value-tables.ts'
import type { ManifestObject } from './objects.ts'
import { labelOf } from './objects.ts'

export type ObjectChange = 'added' | 'changed' | 'removed' | 'kept'

/** One object in a comparison of two revisions. */
export interface ObjectDiff {
  readonly object: string
  readonly change: ObjectChange
  /** Lines prefixed with `+`, `-` or a space; empty for an object that its resource policy keeps. */
  readonly diff: string
}

/** The changes that an operation would make, for display. */
export interface ManifestDiff {
  readonly added: number
  readonly changed: number
  readonly removed: number
  /** Removed from the chart, but kept in the cluster by `helm.sh/resource-policy: keep`. */
  readonly kept: number
  readonly unchanged: number
  readonly objects: readonly ObjectDiff[]
  /** Describes what was omitted for length; absent if nothing was. */
  readonly cut?: string
}

/** Maximum characters: of one object's diff, then of all of them. */
const maxOfOne = 16 * 1024
const maxOfAll = 128 * 1024
const maxObjects = 500

const keyOf = (object: ManifestObject, home: string): string => {
  // An object keeps its identity when only its API version changes.
  const group = object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : ''
  return [group, object.kind, object.namespace || home, object.name].join('|')
}

/** Masks Secret data of two versions: shows only whether the values differ. */
const hidden = (data: FreeObject | undefined, other: FreeObject | undefined, mark: string): FreeObject | undefined =>
  data === undefined
    ? undefined
    : Object.fromEntries(
        entriesOf(data).map(([key, value]) => [key, other?.[key] === value ? '(hidden)' : `(hidden, ${mark})`]),
      )

const shownBody = (object: ManifestObject, other: ManifestObject | undefined, mark: 'old' | 'new'): FreeObject => {
  if (object.kind !== 'Secret') return object.body
  const { data, stringData, ...rest } = object.body
  const hiddenData = hidden(asTable(data), asTable(other?.body.data), mark)
  const hiddenTexts = hidden(asTable(stringData), asTable(other?.body.stringData), mark)
  return { ...rest, ...definedFields({ data: hiddenData, stringData: hiddenTexts }) }
}

const isKept = (object: ManifestObject): boolean => {
  const annotations = asTable(asTable(object.body.metadata)?.annotations)
  return (
    String(annotations?.['helm.sh/resource-policy'] ?? '')
      .trim()
      .toLowerCase() === 'keep'
  )
}

/** Prints an object as YAML, and compares two texts by line. */
export interface DiffTools {
  readonly chartTexts: { print(value: Json): Promise<string> }
  readonly textDiff: { lines(from: string, to: string): Promise<string> }
}

/** Cuts at a line end and reports how many lines are missing. */
const cutLines = (text: string): string => {
  if (text.length <= maxOfOne) return text
  const shown = text.slice(0, text.lastIndexOf('\n', maxOfOne) + 1)
  return `${shown}… ${text.slice(shown.length).split('\n').length} more lines\n`
}

/**
 * Compares two revisions object by object. Secret data is never shown; `redact` removes further secrets. The length is
 * limited, and cuts are reported.
 */
export const diffManifests = async (
  { chartTexts, textDiff }: DiffTools,
  from: readonly ManifestObject[],
  to: readonly ManifestObject[],
  { home, redact }: { readonly home: string; readonly redact: Redact },
): Promise<ManifestDiff> => {
  const before = new Map(from.map((object) => [keyOf(object, home), object]))
  const after = new Map(to.map((object) => [keyOf(object, home), object]))
  const counts = { added: 0, changed: 0, removed: 0, kept: 0, unchanged: 0 }
  const objects: ObjectDiff[] = []
  let total = 0
  let left = 0

  const text = async (
    object: ManifestObject | undefined,
    other: ManifestObject | undefined,
    mark: 'old' | 'new',
  ): Promise<string> => (object === undefined ? '' : redact(await chartTexts.print(shownBody(object, other, mark))))

  const add = async (
    object: ManifestObject,
    change: ObjectChange,
    old: ManifestObject | undefined,
    fresh: ManifestObject | undefined,
  ): Promise<void> => {
    counts[change] += 1
    if (objects.length >= maxObjects || total >= maxOfAll) return void (left += 1)
    const diff =
      change === 'kept'
        ? ''
        : cutLines(await textDiff.lines(await text(old, fresh, 'old'), await text(fresh, old, 'new')))
    total += diff.length
    objects.push({ object: labelOf(object, home), change, diff })
  }

  for (const [key, fresh] of after) {
    const old = before.get(key)
    if (old === undefined) await add(fresh, 'added', undefined, fresh)
    else if (isSame(old.body, fresh.body)) counts.unchanged += 1
    else await add(fresh, 'changed', old, fresh)
  }
  for (const [key, old] of before) {
    if (!after.has(key)) await add(old, isKept(old) ? 'kept' : 'removed', old, undefined)
  }
  return {
    ...counts,
    objects,
    ...(left === 0 ? {} : { cut: `${left} more objects differ; their lines are left out for length` }),
  }
}

/** `2 added, 1 changed, 0 removed, 0 kept by policy, 4 unchanged`. */
export const describeDiff = ({ added, changed, removed, kept, unchanged }: ManifestDiff): string =>
  `${added} added, ${changed} changed, ${removed} removed, ${kept} kept by policy, ${unchanged} unchanged`

/** Reports whether the live value contains everything wanted; fields that the cluster adds are ignored. */
export const isContained = (wanted: Json | undefined, live: Json | undefined): boolean => {
  if (Array.isArray(wanted))
    return (
      Array.isArray(live) &&
      wanted.length === live.length &&
      wanted.every((item, index) => isContained(item as Json, live[index] as Json))
    )
  const table = asTable(wanted)
  if (table === undefined) return wanted === live || String(wanted) === String(live)
  const there = asTable(live)
  return (
    there !== undefined && entriesOf(table).every(([key, value]) => isContained(value, there[key]) || isEmpty(value))
  )
}

const isEmpty = (value: Json): boolean =>
  value === null ||
  value === '' ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (asTable(value) !== undefined && entriesOf(value as FreeObject).length === 0)
