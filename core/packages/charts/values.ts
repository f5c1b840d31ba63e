import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject, Json } from '../../kernel/json.ts'
import { ValuesRefused, type Chart, type ChartTexts } from './ports.ts'
import type { JsonPatches } from '../ports.ts'
import { TextUnreadable } from '../ports.ts'
import { assignAll, listPlaces, parseSet, type Assignment, type SetMode } from '../../formats/helm/set-grammar.ts'
import {
  asTable,
  leafPaths,
  mergeTables,
  overDefaults,
  partsAt,
  plainJson,
  type PartPath,
} from '../../formats/helm/value-tables.ts'

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

/** Reports whether the spec sets anything. An empty list or file name says nothing, an empty `replaceValues` does. */
export const saysValues = ({ replaceValues, ...others }: ValuesSpec): boolean =>
  replaceValues !== undefined || Object.values(others).some((part) => part !== undefined && part.length > 0)

/** Reads a file of values. Several documents are merged, as Helm does. */
export const readTable = async (
  texts: Pick<ChartTexts, 'parseAll'>,
  bytes: Uint8Array,
): Outcome<Failure<'TextUnreadable'>, FreeObject> => {
  const parsed = await texts.parseAll(bytes)
  if (isLeft(parsed)) return parsed
  let table: FreeObject = {}
  for (const document of parsed.right) {
    const next = asTable(document)
    if (next === undefined) return left(TextUnreadable('It must be a map of values.'))
    table = mergeTables(table, next)
  }
  return right(table)
}

const tableOf = async (readers: ValueReaders, field: string, bytes: Uint8Array): Composing<FreeObject> => {
  const table = await readTable(readers.chartTexts, bytes)
  return isLeft(table) ? left(refused(field, table.left.message.replace(/\.$/, ''))) : table
}

/**
 * Maximum number of list elements that all lines of one field may create: a short line can address the last element of
 * nested lists.
 */
const mostListPlaces = 262_144

const setLines = (
  lines: readonly string[] | undefined,
  field: string,
  mode: SetMode,
): Composed<readonly Assignment[]> => {
  const all: Assignment[] = []
  for (const [index, line] of (lines ?? []).entries()) {
    const parsed = parseSet(line, mode)
    if (isLeft(parsed)) return left(refused(`${field}.${index}`, parsed.left))
    for (const assignment of parsed.right) all.push(assignment)
  }
  return listPlaces(all) > mostListPlaces
    ? left(refused(field, 'its indexes make lists that are too long'))
    : right(all)
}

/** Splits a dotted path. */
const partsOf = (path: string): readonly string[] =>
  (path.match(/(?:\\[\s\S]|[^.\\])+/g) ?? []).map((part) => part.replace(/\\([\s\S])/g, '$1'))

const pairsOf = (pairs: readonly KeyValue[] | undefined): Composed<readonly Assignment[]> => {
  const all: Assignment[] = []
  for (const [index, { key, value }] of (pairs ?? []).entries()) {
    const parts = partsOf(key)
    if (parts.length === 0 || parts.length > 30)
      return left(refused(`kv_pairs.${index}.K`, 'must be a path of 1 to 30 names'))
    all.push({ path: parts.map((part) => ({ key: part })), value: plainJson(value) })
  }
  return right(all)
}

/** Values with the paths that the caller set in them. */
interface Overridden {
  readonly values: FreeObject
  readonly paths: readonly PartPath[]
}

/** Returns the path up to the first index: a list is stored whole. */
const setPath = ({ path }: Assignment): PartPath => {
  const names: string[] = []
  for (const step of path) {
    if (!('key' in step)) break
    names.push(step.key)
  }
  return { names, isWhole: true }
}

const overridden = async (readers: ValueReaders, base: FreeObject, spec: ValuesSpec): Composing<Overridden> => {
  let values = base
  const paths: PartPath[] = []
  for (const [index, text] of (spec.valueTexts ?? []).entries()) {
    const table = await tableOf(readers, `valueBytes.${index}`, new TextEncoder().encode(text))
    if (isLeft(table)) return table
    values = mergeTables(values, table.right)
    for (const path of leafPaths(table.right)) paths.push(path)
  }
  for (const read of [
    setLines(spec.values, 'values', 'typed'),
    setLines(spec.stringValues, 'stringValues', 'texts'),
    pairsOf(spec.kvPairs),
  ]) {
    if (isLeft(read)) return read
    values = assignAll(values, read.right)
    for (const assignment of read.right) paths.push(setPath(assignment))
  }
  return right({ values, paths })
}

const baseOf = async (
  readers: ValueReaders,
  chart: Pick<Chart, 'values' | 'files'>,
  file: string | undefined,
): Composing<FreeObject> => {
  if (file === undefined || isDefaultFile(file)) return right(chart.values)
  const bytes = chart.files.get(file)
  if (bytes === undefined) return left(refused('valuesFile', `the chart has no file ${file}`))
  return tableOf(readers, 'valuesFile', bytes)
}

/** The complete set of values, and which parts of it the caller set; undefined means all. */
export interface ComposedValues {
  readonly complete: FreeObject
  readonly paths: readonly PartPath[] | undefined
}

/** Returns the path of a JSON pointer. */
const pointerPath = (pointer: string): PartPath => ({
  names: pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')),
  isWhole: true,
})

/** Returns the paths that a patch changes. */
const patchedPaths = (patch: readonly Json[]): readonly PartPath[] =>
  patch.map(asTable).flatMap((step) => {
    if (step === undefined || step.op === 'test') return []
    return [step.path, ...(step.op === 'move' ? [step.from] : [])]
      .filter((pointer) => typeof pointer === 'string')
      .map(pointerPath)
  })

const isDefaultFile = (file: string | undefined): boolean => file === undefined || file === '' || file === 'values.yaml'

/**
 * Returns the complete set of values: `replaceValues` unchanged; else the patched base; else the base merged with all
 * other fields in the order of ValuesSpec. All of `replaceValues` and of a `valuesFile` other than `values.yaml` is set
 * by the caller. Left names the field and never a value.
 */
export const composeValues = async (
  readers: ValueReaders,
  chart: Pick<Chart, 'values' | 'files'>,
  spec: ValuesSpec,
): Composing<ComposedValues> => {
  if (spec.replaceValues !== undefined)
    return right({ complete: asTable(plainJson(spec.replaceValues)) ?? {}, paths: undefined })
  const base = await baseOf(readers, chart, spec.valuesFile)
  if (isLeft(base)) return base
  const isPart = isDefaultFile(spec.valuesFile)
  if (spec.valuesPatch === undefined) {
    const made = await overridden(readers, base.right, spec)
    return isLeft(made) ? made : right({ complete: made.right.values, paths: isPart ? made.right.paths : undefined })
  }
  const patched = readers.patches.apply(base.right, plainJson(spec.valuesPatch))
  if (isLeft(patched)) return left(refused('valuesPatch', patched.left.message.replace(/\.$/, '')))
  const table = asTable(patched.right)
  if (table === undefined) return left(refused('valuesPatch', 'must leave a map of values'))
  return right({ complete: table, paths: isPart ? patchedPaths(spec.valuesPatch) : undefined })
}

/** Returns only what the caller sets, for an upgrade that keeps the previous values below it. */
export const composeOverrides = async (readers: ValueReaders, spec: ValuesSpec): Composing<FreeObject> => {
  const made = await overridden(readers, {}, spec)
  return isLeft(made) ? made : right(made.right.values)
}

/** Validates what can be checked before the chart is fetched. */
export const checkValuesSpec = async (readers: ValueReaders, spec: ValuesSpec): Composing<void> => {
  if (spec.replaceValues !== undefined || spec.valuesPatch !== undefined) return right(undefined)
  const read = await overridden(readers, {}, spec)
  return isLeft(read) ? read : right(undefined)
}

/** Returns a chart's subcharts with the keys of their values. */
const subchartKeys = (chart: Chart): readonly (readonly [string, Chart])[] => {
  const declared = (
    Array.isArray(chart.metadata.dependencies) ? (chart.metadata.dependencies as readonly Json[]) : []
  ).map(asTable)
  return chart.subcharts.flatMap((sub): readonly (readonly [string, Chart])[] => {
    const aliases = declared
      .filter((entry) => entry?.name === sub.name)
      .map((entry) => (typeof entry?.alias === 'string' && entry.alias !== '' ? entry.alias : sub.name))
    return (aliases.length === 0 ? [sub.name] : [...new Set(aliases)]).map((key) => [key, sub])
  })
}

/** Returns the subcharts' own defaults, under the keys that their parents use. */
const subchartDefaults = (chart: Chart): FreeObject =>
  Object.fromEntries(subchartKeys(chart).map(([key, sub]) => [key, mergeTables(subchartDefaults(sub), sub.values)]))

/**
 * Returns a complete set of values in the form that helm needs. Helm always merges the chart's own defaults below:
 * defaults that are missing from the set are removed by `null`, except that a subchart's own default at that path is
 * kept, as if the chart had set nothing.
 */
export const exactValues = (chart: Chart, complete: FreeObject): FreeObject =>
  overDefaults(chart.values, complete, subchartDefaults(chart))

/**
 * Returns what the caller set, in the form that helm stores and merges over the defaults of a chart. Over those of this
 * chart it gives the complete set; a later version of the chart contributes its own defaults to the rest. A list is set
 * as a whole.
 */
export const storedValues = (chart: Chart, { complete, paths }: ComposedValues): FreeObject => {
  const exact = exactValues(chart, complete)
  return paths === undefined ? exact : partsAt(exact, paths)
}
