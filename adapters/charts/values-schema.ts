import formats from 'ajv-formats'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { AnySchema, ErrorObject, Options } from 'ajv'
import { Ajv } from 'ajv'
import { isLeft } from 'fp-ts/lib/Either.js'
import { RE2JS } from 're2js'
import type { FreeObject, Json } from '../../core/kernel/json.ts'
import { isObject, toWireJson } from '../../core/kernel/json.ts'
import type { ChartTree } from './chart-values.ts'
import { valuesByChart } from './chart-values.ts'

/** One chart's schema and values. */
export interface SchemaTask {
  /** Names from the root, joined by dots; empty for the root. */
  readonly path: string
  /** Content of values.schema.json. */
  readonly schema: Uint8Array
  readonly values: FreeObject
}

/** The number of problem lines for one chart. More lines are of no use. */
const maxLines = 50

/**
 * Patterns are written for Go's engine, whose time is linear in the text; so is the time of this engine. Patterns that it
 * does not support (look-ahead) run on the language's own engine, under the time limit of the thread.
 */
const engine: NonNullable<NonNullable<Options['code']>['regExp']> = Object.assign(
  (pattern: string) => {
    try {
      const compiled = RE2JS.compile(pattern)
      return { test: (text: string) => compiled.matcher(text).find() }
    } catch {
      return new RegExp(pattern)
    }
  },
  { code: 'engine' },
)

const options: Options = { allErrors: true, strict: false, logger: false, validateSchema: false, code: { regExp: engine } }

const ajvFor = (dialect: string): Ajv | Ajv2019 | Ajv2020 => {
  const ajv = dialect.includes('2020-12') ? new Ajv2020(options) : dialect.includes('2019-09') ? new Ajv2019(options) : new Ajv(options)
  formats.default(ajv)
  return ajv
}

/** JSON Schema has no bigint: it is converted to the nearest number. */
const plain = (value: Json | undefined): unknown => {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return (value as readonly Json[]).map(plain)
  if (value instanceof Number) return value.valueOf()
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value as FreeObject).map(([key, item]) => [key, plain(item)]))
}

const dotted = (pointer: string): string => pointer.slice(1).split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')).join('.')

const lineOf = (path: string, { instancePath, keyword, message, params }: ErrorObject): string => {
  const where = [path, instancePath === '' ? '' : dotted(instancePath)].filter((part) => part !== '').join('.')
  const extra = keyword === 'additionalProperties' ? ` (${String(params['additionalProperty'])})` : keyword === 'enum' ? `: ${toWireJson(params['allowedValues']).slice(0, 200)}` : ''
  return `${where === '' ? '(root)' : where}: ${message ?? 'does not fit'}${extra}`
}

/**
 * Converts the keywords of drafts before 06, which the library reads differently: `exclusiveMinimum: true`, `id`.
 */
const modern = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(modern)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema as Record<string, unknown>).flatMap(([key, value]): readonly (readonly [string, unknown])[] => {
    const { minimum, maximum } = schema as Record<string, unknown>
    if (key === 'exclusiveMinimum' && typeof value === 'boolean') return value ? [[key, minimum]] : []
    if (key === 'exclusiveMaximum' && typeof value === 'boolean') return value ? [[key, maximum]] : []
    if (key === 'id' && typeof value === 'string') return []
    return [[key, modern(value)]]
  })
  return Object.fromEntries(entries)
}

const problemOf = (error: unknown): string => {
  const missing = (error as { readonly missingRef?: unknown }).missingRef
  if (typeof missing === 'string') return `values.schema.json refers to ${missing.slice(0, 200)}, which is outside of it; nothing is fetched`
  return 'values.schema.json cannot be used'
}

/** Returns one line for each problem; none if the values are valid. Fetches nothing: a `$ref` outside the document is a problem. */
export const checkSchema = ({ path, schema, values }: SchemaTask): readonly string[] => {
  const prefix = path === '' ? '' : `${path}: `
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(schema))
  } catch {
    return [`${prefix}values.schema.json is no JSON`]
  }
  if (!isObject(parsed) && typeof parsed !== 'boolean') return [`${prefix}values.schema.json is no JSON schema`]
  try {
    const { $schema, ...rest } = isObject(parsed) ? (parsed as Record<string, unknown>) : {}
    const dialect = typeof $schema === 'string' ? $schema : ''
    const own = isObject(parsed) ? (/draft-0[34]/.test(dialect) ? modern(rest) : rest) : parsed
    const validate = ajvFor(dialect).compile(own as AnySchema)
    if (validate(plain(values)) === true) return []
    const lines = [...new Set((validate.errors ?? []).map((error) => lineOf(path, error)))]
    return lines.length > maxLines ? [...lines.slice(0, maxLines), `and ${lines.length - maxLines} more`] : lines
  } catch (error) {
    return [`${prefix}${problemOf(error)}`]
  }
}

/** A chart with its schema, as a thread receives it. */
export interface SchemaTree extends ChartTree {
  /** Content of values.schema.json. */
  readonly schema: Uint8Array | undefined
  readonly subcharts: readonly SchemaTree[]
}

/** Returns one line for each problem of the chart and of each enabled subchart. */
export const checkValues = (chart: SchemaTree, values: FreeObject): readonly string[] => {
  const charts = valuesByChart(chart, values)
  if (isLeft(charts)) return charts.left.errors ?? [charts.left.message]
  return charts.right.flatMap(({ path, chart: { schema }, values: own }) => (schema === undefined ? [] : checkSchema({ path, schema, values: own })))
}
