import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { ValuesRefused, type Chart, type ChartTexts } from './ports.ts'
import type { JsonPatches } from '../ports.ts'
import { assignAll, listPlaces, parseSet, type Assignment, type SetMode } from './set-grammar.ts'
import { asTable, mergeTables, overDefaults, plainJson } from './value-tables.ts'

/** The values that a caller specifies, as stored in a task's input. */
export interface ValuesSpec {
  /** The complete set of values; the other fields are ignored. */
  readonly replaceValues?: FreeObject
  /** The file of the chart to use as the base; `values.yaml` by default. */
  readonly valuesFile?: string
  /** RFC 6902 patch on the base; the fields below are ignored. */
  readonly valuesPatch?: readonly Json[]
  /** YAML documents, merged in order. */
  readonly valueTexts?: readonly string[]
  /** Lines of `--set`, followed by those of `--set-string`. */
  readonly values?: readonly string[]
  readonly stringValues?: readonly string[]
  /** Dotted paths with values; a backslash escapes a dot in a name. */
  readonly kvPairs?: readonly KeyValue[]
}
export interface KeyValue {
  readonly key: string
  readonly value: Json
}

export interface ValueReaders {
  readonly chartTexts: Pick<ChartTexts, 'parseAll'>
  readonly patches: Pick<JsonPatches, 'apply'>
}

type Composed<A> = Either<Failure<'ValuesRefused'>, A>
type Composing<A> = Outcome<Failure<'ValuesRefused'>, A>

const refused = (field: string, what: string): Failure<'ValuesRefused'> =>
  ValuesRefused(`${field}: ${what}.`, { errors: [`${field}: ${what}`] })

/** Reports whether the spec sets anything. */
export const saysValues = (spec: ValuesSpec): boolean => Object.values(spec).some((part) => part !== undefined)

const readTable = async (readers: ValueReaders, field: string, bytes: Uint8Array): Composing<FreeObject> => {
  const parsed = await readers.chartTexts.parseAll(bytes)
  if (isLeft(parsed)) return left(refused(field, parsed.left.message.replace(/\.$/, '')))
  if (parsed.right.length > 1) return left(refused(field, 'The text holds several documents; one is wanted'))
  const table = asTable(parsed.right[0] ?? {})
  return table === undefined ? left(refused(field, 'must be a map of values')) : right(table)
}

/** Maximum number of list elements that all lines of one field may create: a short line can address the last element of nested lists. */
const mostListPlaces = 262_144

const setLines = (lines: readonly string[] | undefined, field: string, mode: SetMode): Composed<readonly Assignment[]> => {
  const all: Assignment[] = []
  for (const [index, line] of (lines ?? []).entries()) {
    const parsed = parseSet(line, mode)
    if (isLeft(parsed)) return left(refused(`${field}.${index}`, parsed.left))
    for (const assignment of parsed.right) all.push(assignment)
  }
  return listPlaces(all) > mostListPlaces ? left(refused(field, 'its indexes make lists that are too long')) : right(all)
}

/** Splits a dotted path. */
const partsOf = (path: string): readonly string[] =>
  (path.match(/(?:\\[\s\S]|[^.\\])+/g) ?? []).map((part) => part.replace(/\\([\s\S])/g, '$1'))

const pairsOf = (pairs: readonly KeyValue[] | undefined): Composed<readonly Assignment[]> => {
  const all: Assignment[] = []
  for (const [index, { key, value }] of (pairs ?? []).entries()) {
    const parts = partsOf(key)
    if (parts.length === 0 || parts.length > 30) return left(refused(`kv_pairs.${index}.K`, 'must be a path of 1 to 30 names'))
    all.push({ path: parts.map((part) => ({ key: part })), value: plainJson(value) })
  }
  return right(all)
}

const overridden = async (readers: ValueReaders, base: FreeObject, spec: ValuesSpec): Composing<FreeObject> => {
  let values = base
  for (const [index, text] of (spec.valueTexts ?? []).entries()) {
    const table = await readTable(readers, `valueBytes.${index}`, new TextEncoder().encode(text))
    if (isLeft(table)) return table
    values = mergeTables(values, table.right)
  }
  for (const read of [setLines(spec.values, 'values', 'typed'), setLines(spec.stringValues, 'stringValues', 'texts'), pairsOf(spec.kvPairs)]) {
    if (isLeft(read)) return read
    values = assignAll(values, read.right)
  }
  return right(values)
}

const baseOf = async (readers: ValueReaders, chart: Pick<Chart, 'values' | 'files'>, file: string | undefined): Composing<FreeObject> => {
  if (file === undefined || file === '' || file === 'values.yaml') return right(chart.values)
  const bytes = chart.files.get(file)
  if (bytes === undefined) return left(refused('valuesFile', `the chart has no file ${file}`))
  return readTable(readers, 'valuesFile', bytes)
}

/**
 * Returns the complete set of values: `replaceValues` unchanged; else the patched base; else the base merged with all other
 * fields in the order of ValuesSpec. Left names the field and never a value.
 */
export const composeValues = async (readers: ValueReaders, chart: Pick<Chart, 'values' | 'files'>, spec: ValuesSpec): Composing<FreeObject> => {
  if (spec.replaceValues !== undefined) return right(asTable(plainJson(spec.replaceValues)) ?? {})
  const base = await baseOf(readers, chart, spec.valuesFile)
  if (isLeft(base)) return base
  if (spec.valuesPatch === undefined) return overridden(readers, base.right, spec)
  const patched = readers.patches.apply(base.right, plainJson(spec.valuesPatch))
  if (isLeft(patched)) return left(refused('valuesPatch', patched.left.message.replace(/\.$/, '')))
  const table = asTable(patched.right)
  return table === undefined ? left(refused('valuesPatch', 'must leave a map of values')) : right(table)
}

/** Returns only what the caller sets, for an upgrade that keeps the previous values below it. */
export const composeOverrides = (readers: ValueReaders, spec: ValuesSpec): Composing<FreeObject> => overridden(readers, {}, spec)

/** Validates what can be checked before the chart is fetched. */
export const checkValuesSpec = async (readers: ValueReaders, spec: ValuesSpec): Composing<void> => {
  if (spec.replaceValues !== undefined || spec.valuesPatch !== undefined) return right(undefined)
  const read = await overridden(readers, {}, spec)
  return isLeft(read) ? read : right(undefined)
}

/** Returns a chart's subcharts with the keys of their values. */
const subchartKeys = (chart: Chart): readonly (readonly [string, Chart])[] => {
  const declared = (Array.isArray(chart.metadata.dependencies) ? (chart.metadata.dependencies as readonly Json[]) : []).map(asTable)
  return chart.subcharts.flatMap((sub): readonly (readonly [string, Chart])[] => {
    const aliases = declared.filter((entry) => entry?.name === sub.name).map((entry) => (typeof entry?.alias === 'string' && entry.alias !== '' ? entry.alias : sub.name))
    return (aliases.length === 0 ? [sub.name] : [...new Set(aliases)]).map((key) => [key, sub])
  })
}

/** Returns the subcharts' own defaults, under the keys that their parents use. */
const subchartDefaults = (chart: Chart): FreeObject =>
  Object.fromEntries(subchartKeys(chart).map(([key, sub]) => [key, mergeTables(subchartDefaults(sub), sub.values)]))

/**
 * Returns a complete set of values in the form that helm needs. Helm always merges the chart's own defaults below: defaults
 * that are missing from the set are removed by `null`, except that a subchart's own default at that path is kept, as if the
 * chart had set nothing.
 */
export const exactValues = (chart: Chart, complete: FreeObject): FreeObject => overDefaults(chart.values, complete, subchartDefaults(chart))
