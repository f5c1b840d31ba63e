import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { ValuesRefused, type Chart, type ChartTexts } from './ports.ts'
import type { JsonPatches } from '../ports.ts'
import { assignAll, listPlaces, parseSet, type Assignment, type SetMode } from './set-grammar.ts'
import { asTable, mergeTables, overDefaults, plainJson } from './value-tables.ts'

/** What a caller says about values, as it travels in a task's input. */
export interface ValuesSpec {
  /** The whole set, as it is; nothing else counts beside it. */
  readonly replaceValues?: FreeObject
  /** A file of the chart that is the base; `values.yaml` unless told. */
  readonly valuesFile?: string
  /** RFC 6902 on the base; what follows does not count beside it. */
  readonly valuesPatch?: readonly Json[]
  /** YAML documents, merged one over the other. */
  readonly valueTexts?: readonly string[]
  /** Lines of `--set`, then of `--set-string`. */
  readonly values?: readonly string[]
  readonly stringValues?: readonly string[]
  /** Dotted paths with values; a backslash keeps a dot in a name. */
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

/** Whether anything is said about values at all. */
export const saysValues = (spec: ValuesSpec): boolean => Object.values(spec).some((part) => part !== undefined)

const readTable = async (readers: ValueReaders, field: string, bytes: Uint8Array): Composing<FreeObject> => {
  const parsed = await readers.chartTexts.parseAll(bytes)
  if (isLeft(parsed)) return left(refused(field, parsed.left.message.replace(/\.$/, '')))
  if (parsed.right.length > 1) return left(refused(field, 'The text holds several documents; one is wanted'))
  const table = asTable(parsed.right[0] ?? {})
  return table === undefined ? left(refused(field, 'must be a map of values')) : right(table)
}

/** Places in lists that all lines of one field may make: a short line can name the last place of lists within lists. */
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

/** Parts of a dotted path. */
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
 * The complete set of values: `replaceValues` as it is; else the base with the patch; else the base with everything else
 * over it, in the order of ValuesSpec. Left names the field and never a value.
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

/** Only what the caller sets themselves, for an upgrade that keeps the former values below it. */
export const composeOverrides = (readers: ValueReaders, spec: ValuesSpec): Composing<FreeObject> => overridden(readers, {}, spec)

/** What can be seen to be wrong before the chart is there. */
export const checkValuesSpec = async (readers: ValueReaders, spec: ValuesSpec): Composing<void> => {
  if (spec.replaceValues !== undefined || spec.valuesPatch !== undefined) return right(undefined)
  const read = await overridden(readers, {}, spec)
  return isLeft(read) ? read : right(undefined)
}

/** The names under which a chart's subcharts get their values. */
const subchartKeys = (chart: Chart): readonly (readonly [string, Chart])[] => {
  const declared = (Array.isArray(chart.metadata.dependencies) ? (chart.metadata.dependencies as readonly Json[]) : []).map(asTable)
  return chart.subcharts.flatMap((sub): readonly (readonly [string, Chart])[] => {
    const aliases = declared.filter((entry) => entry?.name === sub.name).map((entry) => (typeof entry?.alias === 'string' && entry.alias !== '' ? entry.alias : sub.name))
    return (aliases.length === 0 ? [sub.name] : [...new Set(aliases)]).map((key) => [key, sub])
  })
}

/** What subcharts bring by themselves, under the names of their parents. */
const subchartDefaults = (chart: Chart): FreeObject =>
  Object.fromEntries(subchartKeys(chart).map(([key, sub]) => [key, mergeTables(subchartDefaults(sub), sub.values)]))

/**
 * A complete set as helm is to be given it. Helm always puts the chart's own defaults below: those that the set lacks are
 * taken away by `null`; where a subchart has a default of its own at that place, that one stands, as if the chart had
 * said nothing.
 */
export const exactValues = (chart: Chart, complete: FreeObject): FreeObject => overDefaults(chart.values, complete, subchartDefaults(chart))
