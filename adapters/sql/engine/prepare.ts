import knexFactory, { type Knex } from 'knex'
import type { Bind, Columns } from '../kit/columns.ts'
import { rowReader } from '../kit/row-reader.ts'
import { selected } from '../kit/fragments.ts'
import type { Constant, Parameter, Prepare, StatementText } from '../kit/statement.ts'
import { rowChangeOf } from '../kit/row-changes.ts'

type Dialect = 'sqlite' | 'mysql'

/**
 * A placeholder for a bind while knex composes. `limit` and `offset` accept only values that parse as an integer: its
 * marker.
 */
class Placeholder {
  readonly name: string
  readonly marker: number

  constructor(name: string, marker: number) {
    this.name = name
    this.marker = marker
  }

  toString(): string {
    return String(this.marker)
  }
}

// Far from any number that occurs in a statement.
const firstMarker = 9_007_199_254_000_000

/** Returns a knex that composes statements and never connects. */
export const makeComposer = (dialect: Dialect): Knex =>
  dialect === 'sqlite'
    ? knexFactory({ client: 'better-sqlite3', useNullAsDefault: true })
    : knexFactory({ client: 'mysql2' })

interface Composed {
  readonly sql: string
  readonly bindings: readonly unknown[]
}

const compose = (built: Knex.QueryBuilder | Knex.Raw): Composed => {
  const { sql, bindings } = built.toSQL().toNative()
  return { sql, bindings }
}

type Built = Knex.QueryBuilder | Knex.Raw
type Build = (k: Knex, p: unknown) => Built

type Text = Pick<StatementText, 'sql' | 'order' | 'change'>

/** Composes at the first use: a service has thousands of statements, and a command or a test uses few of them. */
const composedOnce = (compose: () => Text, rest: Pick<StatementText, 'int64' | 'read'>): StatementText => {
  let composed: Text | undefined
  return {
    get sql() {
      return (composed ??= compose()).sql
    },
    get order() {
      return (composed ??= compose()).order
    },
    get change() {
      return (composed ??= compose()).change
    },
    ...rest,
  }
}

/** Returns the composer of named statements for a dialect. */
export const makePrepare = (composer: Knex): Prepare => {
  const typed = (params: Columns, rows: Columns | undefined, build: Build): StatementText =>
    composedOnce(() => composeTyped(composer, params, rows, build), {
      int64: rows !== undefined && Object.values(rows).some(({ form }) => form === 'exact'),
      read: rows === undefined ? undefined : rowReader(rows),
    })
  const prepare = (params: Columns, second: Columns | Build, third?: Build): StatementText =>
    third === undefined ? typed(params, undefined, second as Build) : typed(params, second as Columns, third)
  return prepare as Prepare
}

const composeTyped = (composer: Knex, params: Columns, rows: Columns | undefined, build: Build): Text => {
  const placeholders = Object.keys(params).map((name, index) => new Placeholder(name, firstMarker + index))
  const encoded = new Map<string, Parameter>(
    Object.entries(params).map(([name, { encode }]) => [name, { name, encode }]),
  )
  const built = build(composer, Object.fromEntries(placeholders.map((each) => [each.name, each])))
  const slotOf = (value: unknown): Parameter | undefined => {
    const placeholder =
      value instanceof Placeholder ? value : placeholders.find((candidate) => candidate.marker === value)
    return placeholder && encoded.get(placeholder.name)
  }
  const whole = rows === undefined || !('select' in built) ? built : selected(composer, built, rows)
  return textOf(compose(whole), built, slotOf)
}

const textOf = (
  { sql, bindings }: Composed,
  built: Built,
  slotOf: (value: unknown) => Parameter | undefined = () => undefined,
): Text => ({
  sql,
  order: withCounts(
    sql,
    bindings.map((value) => slotOf(value) ?? { constant: asBind(value, sql) }),
  ),
  change: rowChangeOf(built, (value) => slotOf(value) ?? (isBind(value) ? { constant: value } : undefined)),
})

/** Marks the places of `limit` and `offset`. */
const withCounts = (sql: string, order: Text['order']): Text['order'] => {
  if (!/ (?:limit|offset) \?/.test(sql)) return order
  const pieces = sql.split('?')
  return order.map((slot, at) => (/ (?:limit|offset) $/.test(pieces[at] ?? '') ? { ...slot, isCount: true } : slot))
}

/** Composes a statement whose shape is known only at run time. All its values are fixed. */
export const composeNow = (composer: Knex, build: (k: Knex) => Built): StatementText => {
  const built = build(composer)
  return { ...textOf(compose(built), built), int64: false }
}

const isBind = (value: unknown): value is Bind =>
  value === null || value instanceof Uint8Array || ['string', 'number', 'bigint', 'boolean'].includes(typeof value)

const asBind = (value: unknown, sql: string): Bind => {
  if (isBind(value)) return value
  throw new TypeError(`A statement holds a value that is no bind (${typeof value}): ${sql}`)
}

/**
 * Returns the values of a statement's binds in the driver's order, each converted by `encode`. Throws if a bind is
 * missing.
 */
export const bindValues = <Encoded>(
  statement: StatementText,
  binds: object,
  encode: (value: Bind, isCount: boolean) => Encoded,
): Encoded[] => {
  const values: Encoded[] = []
  for (const slot of statement.order) values.push(encode(bindOf(slot, binds, statement), slot.isCount === true))
  return values
}

const bindOf = (slot: Parameter | Constant, binds: object, statement: StatementText): Bind => {
  if ('constant' in slot) return slot.constant
  if (!(slot.name in binds)) throw new TypeError(`The bind ${slot.name} is missing: ${statement.sql}`)
  return slot.encode((binds as Readonly<Record<string, unknown>>)[slot.name] as never)
}

/** SQLite compares a number with a text column as text, so numbers can be passed as numbers. */
export const encodeForSqlite = (value: Bind): string | number | bigint | null | Buffer => {
  switch (typeof value) {
    case 'string':
    case 'bigint':
      return value
    case 'number':
      return finite(value)
    case 'boolean':
      return value ? 1 : 0
    default:
      return value === null ? null : asBuffer(value)
  }
}

/** MySQL compares a number with a text column as numbers, and `0` then matches every word. Text is compared as text. */
export const encodeForMysql = (value: Bind): string | null | Buffer => {
  switch (typeof value) {
    case 'string':
      return value
    case 'bigint':
      return value.toString()
    case 'number':
      return String(finite(value))
    case 'boolean':
      return value ? '1' : '0'
    default:
      return value === null ? null : asBuffer(value)
  }
}

const finite = (value: number): number => {
  if (!Number.isFinite(value)) throw new TypeError(`A bind is no finite number: ${value}`)
  return value
}

const asBuffer = (value: unknown): Buffer => {
  if (Buffer.isBuffer(value)) return value
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  throw new TypeError(`A bind is a ${Object.prototype.toString.call(value)}, which no column takes`)
}
