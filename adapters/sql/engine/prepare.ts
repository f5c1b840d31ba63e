import knexFactory, { type Knex } from 'knex'
import type { Bind, Constant, Prepare, Statement } from '../kit/statement.ts'

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

/**
 * Returns the composer of named statements for a dialect. A statement is composed at its first use: a service has
 * thousands, and a command or a test uses few of them.
 */
export const makePrepare =
  (composer: Knex): Prepare =>
  (build, options = {}) => {
    let composed: Pick<Statement<never>, 'sql' | 'order'> | undefined
    const text = (): Pick<Statement<never>, 'sql' | 'order'> =>
      (composed ??= composeNamed(composer, build as NamedBuild))
    return {
      get sql() {
        return text().sql
      },
      get order() {
        return text().order
      },
      int64: options.int64 ?? false,
    }
  }

type NamedBuild = (k: Knex, p: (name: string) => Knex.Value & number) => Knex.QueryBuilder | Knex.Raw

const composeNamed = (composer: Knex, build: NamedBuild): Pick<Statement<never>, 'sql' | 'order'> => {
  const placeholders: Placeholder[] = []
  const p = (name: string): Knex.Value & number => {
    const placeholder = new Placeholder(name, firstMarker + placeholders.length)
    placeholders.push(placeholder)
    return placeholder as unknown as Knex.Value & number
  }
  const { sql, bindings } = compose(build(composer, p))
  const order = bindings.map((binding): string | Constant => {
    const placeholder =
      binding instanceof Placeholder ? binding : placeholders.find((candidate) => candidate.marker === binding)
    return placeholder === undefined ? { constant: asBind(binding, sql) } : placeholder.name
  })
  return { sql, order } as Pick<Statement<never>, 'sql' | 'order'>
}

/** Composes a statement whose shape is known only at run time. All its values are fixed. */
export const composeNow = (composer: Knex, build: (k: Knex) => Knex.QueryBuilder | Knex.Raw): Statement<never> => {
  const { sql, bindings } = compose(build(composer))
  return { sql, order: bindings.map((binding) => ({ constant: asBind(binding, sql) })), int64: false }
}

const asBind = (value: unknown, sql: string): Bind => {
  if (value === null || value instanceof Uint8Array) return value
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'bigint':
    case 'boolean':
      return value
    default:
      throw new TypeError(`A statement holds a value that is no bind (${typeof value}): ${sql}`)
  }
}

/**
 * Returns the values of a statement's binds in the driver's order, each converted by `encode`. Throws if a bind is
 * missing.
 */
export const bindValues = <Encoded>(
  statement: Statement,
  binds: Readonly<Record<string, Bind>>,
  encode: (value: Bind) => Encoded,
): Encoded[] => {
  const values: Encoded[] = []
  for (const slot of statement.order) {
    const value = typeof slot === 'string' ? binds[slot] : slot.constant
    if (value === undefined) throw new TypeError(`The bind ${String(slot)} is missing: ${statement.sql}`)
    values.push(encode(value))
  }
  return values
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
