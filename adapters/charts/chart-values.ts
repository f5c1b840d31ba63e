import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../core/kernel/failure.ts'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { isObject } from '../../core/kernel/json.ts'
import type { Chart } from '../../core/packages/charts/ports.ts'
import { ValuesRefused } from '../../core/packages/charts/ports.ts'
import { isInRange } from './versions.ts'

/** Values during a merge. A Map is used because no key has a special meaning in it. */
export type Table = Map<string, Value>
/** A list is a single value: lists are replaced, never merged. */
export type Value = Table | Exclude<Json, FreeObject> | undefined

const isTable = (value: unknown): value is Table => value instanceof Map

export const tableOf = (object: FreeObject): Table =>
  new Map(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, isObject(value) ? tableOf(value) : (value as Value)]),
  )

export const objectOf = (table: Table): FreeObject =>
  Object.fromEntries([...table].map(([key, value]) => [key, isTable(value) ? objectOf(value) : value]))

const copyOf = (table: Table): Table =>
  new Map([...table].map(([key, value]) => [key, isTable(value) ? copyOf(value) : value]))

/** Returns the value at a dotted path, or undefined if it is absent or a part of the path is not a table. */
const valueAt = (table: Table, path: string): Value => {
  let at: Value = table
  for (const key of path.split('.')) {
    if (!isTable(at)) return undefined
    at = at.get(key)
  }
  return at
}

/** Returns tables nested along a dotted path, with `innermost` at the end. */
const nestedAt = (path: string, innermost: Table): Table =>
  path === '.' ? innermost : path.split('.').reduceRight<Table>((inner, key) => new Map([[key, inner]]), innermost)

/**
 * Adds to `over` the entries that only `under` has, table by table; `over` has precedence. A null in `over` removes the
 * entry of `under`, unless nulls are kept for a later merge. Modifies `over`.
 */
export const mergeUnder = (over: Table, under: Table, keepsNulls: boolean): Table => {
  const removed = keepsNulls
    ? []
    : [...over].filter(([key, value]) => value === null && under.has(key)).map(([key]) => key)
  for (const [key, value] of under) {
    const own = over.get(key)
    if (!over.has(key)) over.set(key, value)
    else if (isTable(value) && isTable(own)) mergeUnder(own, value, keepsNulls)
  }
  for (const key of removed) over.delete(key)
  return over
}

/** The parts of a chart that the rules read. */
export type ChartTree = Pick<Chart, 'name' | 'version' | 'metadata' | 'values'> & {
  readonly subcharts: readonly ChartTree[]
}

/** An enabled chart of a tree, with the values that it is rendered with. */
export interface ValuedChart<Tree extends ChartTree> {
  /** Names or aliases from the root, joined by dots; empty for the root. */
  readonly path: string
  readonly chart: Tree
  readonly values: FreeObject
}

/** An entry of `dependencies` of Chart.yaml. */
interface Dependency {
  readonly name: string
  readonly version: string
  readonly alias: string
  readonly conditions: readonly string[]
  readonly tags: readonly string[]
  readonly imports: readonly { readonly child: string; readonly parent: string }[]
}

/** A chart at its position in the tree. `name` is its alias there and the key of its values in the parent's values. */
interface Node {
  readonly name: string
  readonly chart: ChartTree
  readonly defaults: Table
  readonly dependencies: readonly Dependency[]
  readonly children: readonly Node[]
}

const globalKey = 'global'

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : [])
const objectsOf = (value: Json | undefined): readonly FreeObject[] =>
  listOf(value).filter((item): item is FreeObject => typeof item === 'object' && item !== null && !Array.isArray(item))

const importOf = (item: Json): Dependency['imports'] => {
  if (typeof item === 'string') return [{ child: `exports.${item}`, parent: '.' }]
  const [pair] = objectsOf([item])
  const [child, parent] = [textOf(pair?.['child']), textOf(pair?.['parent'])]
  return child === '' || parent === '' ? [] : [{ child, parent }]
}

const dependenciesOf = ({ metadata }: ChartTree): readonly Dependency[] =>
  objectsOf(metadata['dependencies']).map((entry) => ({
    name: textOf(entry['name']),
    version: textOf(entry['version']),
    alias: textOf(entry['alias']),
    conditions: textOf(entry['condition'])
      .trim()
      .split(',')
      .filter((path) => path !== ''),
    tags: listOf(entry['tags']).filter((tag) => typeof tag === 'string'),
    imports: listOf(entry['import-values']).flatMap(importOf),
  }))

const nodeOf = (chart: ChartTree, name: string): Node => ({
  name,
  chart,
  defaults: tableOf(chart.values),
  dependencies: dependenciesOf(chart),
  children: chart.subcharts.map((subchart) => nodeOf(subchart, subchart.name)),
})

/** Merges the globals of a parent into those of a child; the parent's have precedence. */
const passGlobals = (from: Table, to: Table): void => {
  const globalsOf = (table: Table): Value => (table.has(globalKey) ? table.get(globalKey) : new Map())
  const [given, own] = [globalsOf(from), globalsOf(to)]
  if (!isTable(given) || !isTable(own)) return
  for (const [key, value] of given) {
    const existing = own.get(key)
    if (isTable(value)) own.set(key, isTable(existing) ? mergeUnder(copyOf(value), existing, true) : copyOf(value))
    else if (!isTable(existing)) own.set(key, value)
  }
  to.set(globalKey, own)
}

const applyDefaults = (node: Node, values: Table, keepsNulls: boolean): void => {
  for (const [key, fallback] of copyOf(node.defaults)) {
    const value = values.get(key)
    if (!values.has(key)) values.set(key, fallback)
    else if (value === null && !keepsNulls) values.delete(key)
    // Values for a subchart keep their nulls, which apply to the subchart's own defaults.
    else if (isTable(value) && isTable(fallback))
      mergeUnder(value, fallback, keepsNulls || node.children.some(({ name }) => name === key))
  }
}

type Merged = Either<Failure<'ValuesRefused'>, Table>

/** Returns the values of a chart, with those of its subcharts below their names. Modifies `values`. */
const coalesce = (node: Node, values: Table, keepsNulls: boolean): Merged => {
  applyDefaults(node, values, keepsNulls)
  for (const child of node.children) {
    const own = values.get(child.name) ?? new Map()
    if (values.get(child.name) === null || !isTable(own)) {
      const problem = `${child.name}: must be a map, for it is the name of a subchart`
      return left(ValuesRefused(`The values do not fit the chart: ${problem}.`, { errors: [problem] }))
    }
    passGlobals(values, own)
    const merged = coalesce(child, own, keepsNulls)
    if (isLeft(merged)) return merged
    values.set(child.name, merged.right)
  }
  return right(values)
}

const isTaggedOff = (tags: readonly string[], switches: Table): boolean => {
  const said = tags.map((tag) => switches.get(tag))
  return said.includes(false) && !said.includes(true)
}

/** The first condition that names a boolean decides. Without one the tags decide. */
const isEnabled = ({ conditions, tags }: Dependency, values: Table, path: string): boolean => {
  const decided = conditions
    .map((condition) => valueAt(values, path + condition))
    .find((value) => typeof value === 'boolean')
  if (decided !== undefined) return decided
  const switches = values.get('tags')
  return !isTable(switches) || !isTaggedOff(tags, switches)
}

type Enabled = Either<Failure<'ValuesRefused'>, Node>

/** Returns the tree without the charts that conditions and tags disable, each chart under its alias. */
const enable = (node: Node, values: Table, path: string): Enabled => {
  if (node.dependencies.length === 0) return right(node)
  const fits = (child: Node, { name, version }: Dependency): boolean =>
    child.chart.name === name && (version === '' || isInRange(child.chart.version, version))
  const undeclared = node.children.filter((child) => !node.dependencies.some((dependency) => fits(child, dependency)))
  const declared = node.dependencies.flatMap((dependency) => {
    const child = node.children.find((each) => fits(each, dependency))
    return child === undefined ? [] : [{ ...child, name: dependency.alias || dependency.name }]
  })
  const whole: Node = { ...node, children: [...undeclared, ...declared] }
  const all = coalesce(whole, copyOf(values), false)
  if (isLeft(all)) return all
  const off = new Set(
    node.dependencies
      .filter((dependency) => !isEnabled(dependency, all.right, path))
      .map(({ name, alias }) => alias || name),
  )
  const children: Node[] = []
  for (const child of whole.children.filter(({ name }) => !off.has(name))) {
    const enabled = enable(child, all.right, `${path}${child.name}.`)
    if (isLeft(enabled)) return enabled
    children.push(enabled.right)
  }
  return right({
    ...whole,
    children,
    dependencies: node.dependencies.filter(({ name, alias }) => !off.has(alias || name)),
  })
}

/** Returns the defaults with the values that `import-values` takes from subcharts; the chart's own have precedence. */
const importUp = (node: Node): Enabled => {
  const children: Node[] = []
  for (const child of node.children) {
    const imported = importUp(child)
    if (isLeft(imported)) return imported
    children.push(imported.right)
  }
  const below: Node = { ...node, children }
  if (node.dependencies.length === 0) return right(below)
  const all = coalesce(below, new Map(), true)
  if (isLeft(all)) return all
  const brought: Table = new Map()
  for (const { name, alias, imports } of node.dependencies) {
    for (const { child, parent } of imports) {
      const taken = valueAt(all.right, `${alias || name}.${child}`)
      if (isTable(taken)) mergeUnder(brought, nestedAt(parent, copyOf(taken)), true)
    }
  }
  return right({ ...below, defaults: mergeUnder(copyOf(all.right), brought, true) })
}

const listed = (node: Node, values: Table, path: string): readonly ValuedChart<ChartTree>[] => [
  { path, chart: node.chart, values: objectOf(values) },
  ...node.children.flatMap((child) => {
    const own = values.get(child.name)
    return listed(child, isTable(own) ? own : new Map(), path === '' ? child.name : `${path}.${child.name}`)
  }),
]

/**
 * Returns the enabled charts of a tree, the root first, with their values by Helm's rules: maps merge, null removes,
 * subcharts by name or alias, globals, conditions and tags, import-values. ValuesRefused: the value under a subchart's
 * name is not a map. The cost grows with the number of charts times the size of their values, so it runs in a thread.
 */
export const valuesByChart = <Tree extends ChartTree>(
  chart: Tree,
  values: FreeObject,
): Either<Failure<'ValuesRefused'>, readonly ValuedChart<Tree>[]> => {
  const given = tableOf(values)
  const enabled = enable(nodeOf(chart, chart.name), given, '')
  if (isLeft(enabled)) return enabled
  const imported = importUp(enabled.right)
  if (isLeft(imported)) return imported
  const merged = coalesce(imported.right, copyOf(given), false)
  // Each chart of the result is a chart of the given tree.
  return isLeft(merged) ? merged : right(listed(imported.right, merged.right, '') as readonly ValuedChart<Tree>[])
}
