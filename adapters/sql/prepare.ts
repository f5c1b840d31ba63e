import knexFactory, { type Knex } from 'knex'
import type { Bind, Constant, Prepare, Statement } from './statement.ts'

type Dialect = 'sqlite' | 'mysql'

/** Stands for a bind while knex composes. `limit` and `offset` keep only what parses as an integer: its marker. */
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

// Far from any number that somebody writes into a statement.
const firstMarker = 9_007_199_254_000_000

/** A knex that composes and never connects. */
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

/** The composer of named statements for a dialect. */
export const makePrepare = (composer: Knex): Prepare =>
  (build, options = {}) => {
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
    return { sql, order, int64: options.int64 ?? false } as Statement<never>
  }

/** Composes a statement whose shape is only known now; all its values are fixed. */
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
