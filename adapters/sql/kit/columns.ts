import type { Json } from '../../../core/kernel/json.ts'
import { toWireJson } from '../../../core/kernel/json.ts'

/** A named value in a statement, set on each run. Numbers are finite; text columns take strings. */
export type Bind = string | number | bigint | boolean | null | Uint8Array

/** What the database compares a value as. A value of one family is never bound to a column of another. */
export type Family = 'text' | 'integer' | 'bytes'

/** How a column is stored, and how its value is read from a driver's row. */
type Form =
  | 'long'
  | 'int'
  | 'exact'
  | 'instant'
  | 'flag'
  | 'text'
  | 'long-text'
  | 'large-text'
  | 'json'
  | 'fixed-bytes'
  | 'long-bytes'

/**
 * A declared column. `D` is the type of its values in the domain: a Date for an instant, `undefined` for null. `O` is
 * true if an insert may leave it out.
 */
export interface Column<D = unknown, F extends Family = Family, O extends boolean = boolean> {
  /** The name in the table; empty until a table declares the column. */
  readonly name: string
  /** How a query refers to it: the name, preceded by the alias of the table if it has one. */
  readonly sql: string
  readonly form: Form
  readonly family: F
  readonly isNullable: boolean
  /** Whether an insert may leave it out: it has a default value, is null, or is numbered by the database. */
  readonly mayBeLeftOut: O
  /** The length of a text in characters, or of fixed bytes. */
  readonly length: number
  /** The bytes are sealed with a key of the key ring. */
  readonly isSealed: boolean
  /** False if the query itself selects it, under this name. */
  readonly isSelected: boolean
  /** SQL that computes it, instead of a column of a table. */
  readonly expression?: string
  /** What a null is in the domain. */
  readonly absent?: unknown
  /** Converts a value between the domain and what the form returns; for columns with a representation of their own. */
  readonly codec?: Codec<never, never>
  /** Returns what is bound. Method syntax, so that the type is inferred from the parameter. */
  encode(value: D): Bind
}

/** Stores a `D` as an `S`. */
export interface Codec<D, S> {
  readonly encode: (value: D) => S
  readonly decode: (stored: S) => D
}

/** Columns by the names of their fields: the parameters, or the row, of a statement. */
export type Columns = Readonly<Record<string, Column<never>>>

type Domain<C> = C extends { encode(value: infer D): Bind } ? D : never
export type FamilyOf<C> = C extends Column<never, infer F> ? F : never

/** The binds of a statement with these parameters. */
export type Binds<P extends Columns> = { readonly [K in keyof P]: Domain<P[K]> }
/** A row of these columns as the domain has it. */
export type Row<R extends Columns> = { readonly [K in keyof R]: Domain<R[K]> }

const encodeNumber = (value: unknown): Bind => {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  throw new TypeError(`A column of integers does not take a ${typeof value}.`)
}
const encodeText = (value: unknown): Bind => {
  if (typeof value === 'string') return value
  throw new TypeError(`A column of text does not take a ${typeof value}.`)
}

const encoders: Readonly<Record<Form, (value: never) => Bind>> = {
  long: encodeNumber,
  int: encodeNumber,
  exact: encodeNumber,
  instant: (value: Date) => value.getTime(),
  flag: (value: boolean) => (value ? 1 : 0),
  text: encodeText,
  'long-text': encodeText,
  'large-text': encodeText,
  json: toWireJson,
  'fixed-bytes': (value: Uint8Array) => value,
  'long-bytes': (value: Uint8Array) => value,
}

interface Described {
  readonly length?: number
  readonly isSealed?: boolean
}

const columnOf = <D, F extends Family>(
  form: Form,
  family: F,
  described: Described = {},
): Column<NoInfer<D>, F, false> => ({
  name: '',
  sql: '',
  form,
  family,
  isNullable: false,
  mayBeLeftOut: false,
  length: described.length ?? 0,
  isSealed: described.isSealed ?? false,
  isSelected: true,
  encode: encoders[form] as (value: D) => Bind,
})

/** An identifier that the database numbers. */
export const rowId = <Id extends number = number>(): Column<NoInfer<Id>, 'integer', true> => ({
  ...columnOf<Id, 'integer'>('long', 'integer'),
  mayBeLeftOut: true,
})
/** An identifier. */
export const id = <Id extends number = number>(): Column<NoInfer<Id>, 'integer', false> => columnOf('long', 'integer')
/** A BIGINT that is at most 2^53-1. */
export const long = <N extends number = number>(): Column<NoInfer<N>, 'integer', false> => columnOf('long', 'integer')
/** A BIGINT with all its digits. The rows of a statement that reads one are read exactly. */
export const exact = (): Column<bigint, 'integer', false> => columnOf('exact', 'integer')
/** An INT. */
export const int = <N extends number = number>(): Column<NoInfer<N>, 'integer', false> => columnOf('int', 'integer')
/** Milliseconds since the epoch, as a Date. */
export const instant = (): Column<Date, 'integer', false> => columnOf('instant', 'integer')
/** A truth value. */
export const flag = (): Column<boolean, 'integer', false> => columnOf('flag', 'integer')
/** Text of at most `length` characters. */
export const text = <S extends string = string>(length: number): Column<NoInfer<S>, 'text', false> =>
  columnOf('text', 'text', { length })
/** Text of at most 64 KiB on MySQL. */
export const longText = <S extends string = string>(): Column<NoInfer<S>, 'text', false> =>
  columnOf('long-text', 'text')
/** Text of at most 16 MiB on MySQL. */
export const largeText = <S extends string = string>(): Column<NoInfer<S>, 'text', false> =>
  columnOf('large-text', 'text')
/** A JSON text of at most 64 KiB on MySQL. */
export const json = <A = Json>(): Column<NoInfer<A>, 'text', false> => columnOf('json', 'text')
/** Exactly `length` bytes, as of a hash. */
export const fixedBytes = (length: number): Column<Uint8Array, 'bytes', false> =>
  columnOf('fixed-bytes', 'bytes', { length })
/** Bytes of any length up to 16 MiB. */
export const longBytes = (): Column<Uint8Array, 'bytes', false> => columnOf('long-bytes', 'bytes')
/** Bytes that are sealed with a key of the key ring, and sealed again when the key is changed. */
export const sealed = (): Column<Uint8Array, 'bytes', false> => columnOf('long-bytes', 'bytes', { isSealed: true })

/** The column may be null, which is `undefined` in the domain. Also for a column of a table that is left-joined. */
export const nullable = <D, F extends Family>(column: Column<D, F>): Column<D | undefined, F, true> => ({
  ...column,
  isNullable: true,
  mayBeLeftOut: true,
  encode: (value) => (value === undefined ? null : column.encode(value)),
})

/** A column of a left-joined table, or a nullable one, whose null is `absent` in the domain. */
export const orElse = <D, F extends Family, const A>(
  column: Column<D, F>,
  absent: A,
): Column<Exclude<D, undefined> | A, F, true> => ({
  ...column,
  isNullable: true,
  mayBeLeftOut: true,
  absent,
  encode: (value) => (value === absent ? null : column.encode(value as D)),
})

/** The same column in a place where it is not null, such as a parameter that it is compared with. */
export const present = <D, F extends Family>(column: Column<D, F>): Column<Exclude<D, undefined>, F, false> => ({
  ...column,
  isNullable: false,
  mayBeLeftOut: false,
})

/** The column has a default value in the schema. */
export const withDefault = <D, F extends Family>(column: Column<D, F>): Column<D, F, true> => ({
  ...column,
  mayBeLeftOut: true,
})

/** A column whose name in the table is not that of its field in snake case. */
export const named = <D, F extends Family, O extends boolean, N extends string>(
  name: N,
  column: Column<D, F, O>,
): Column<D, F, O> & { readonly name: N } => ({ ...column, name, sql: name })

/** The column has values of another type: `codec` converts them to and from what the column stores. */
export const coded = <A, D, F extends Family, O extends boolean>(
  column: Column<D, F, O>,
  codec: Codec<A, D>,
): Column<A, F, O> => ({
  ...column,
  codec: codec as unknown as Codec<never, never>,
  encode: (value) => column.encode(codec.encode(value)),
})

/** A column of a row that SQL computes. The SQL is fixed text, without values. */
export const computed = <D, F extends Family>(column: Column<D, F>, expression: string): Column<D, F> => ({
  ...column,
  expression,
})

/** A column of a row that the query itself selects, under the name of the field in snake case. */
export const selectedAs = <D, F extends Family>(column: Column<D, F>): Column<D, F> => ({
  ...column,
  isSelected: false,
})

/** Returns the beginning of a text, with at most as many characters as the column takes. No character is divided. */
export const cutTo = ({ length }: { readonly length: number }, text: string): string =>
  text.length <= length ? text : [...text].slice(0, length).join('')

/** Returns the name of a field as the database has it. */
export const snakeCase = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

type Snake<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? '' : '_'}${Lowercase<Head>}${Snake<Tail>}`
  : ''
type NameOf<C, K extends string> = C extends { readonly name: infer N extends string }
  ? string extends N
    ? Snake<K>
    : N
  : Snake<K>

const declared = Symbol('declared')

/** A declared table: its columns by their fields. */
export type Table<C extends Columns = Columns> = C & {
  readonly [declared]: { readonly name: string; readonly columns: C }
}

/** The name and the family of each column of a table, as a union of pairs. */
export type NamedFamilies<T> =
  T extends Table<infer C> ? { [K in keyof C & string]: [NameOf<C[K], K>, FamilyOf<C[K]>] }[keyof C & string] : never

/** Declares a table. A field names a column by its name in snake case. */
export const table = <const C extends Columns>(name: string, columns: C): Table<C> => {
  const fields = Object.entries(columns).map(([field, column]) => {
    const own = column.name === '' ? snakeCase(field) : column.name
    return [field, { ...column, name: own, sql: own }] as const
  })
  const own = Object.fromEntries(fields) as unknown as C
  return Object.assign({ ...own }, { [declared]: { name, columns: own } }) as Table<C>
}

export const tableName = (of: Table): string => of[declared].name
/** Returns the columns of a table by their fields. */
export const columnsOf = <C extends Columns>(of: Table<C>): C => of[declared].columns

/** Returns the columns of a table as a query refers to them that gives the table this alias. */
export const aliased = <C extends Columns>(of: Table<C>, alias: string): C => qualified(columnsOf(of), alias)

/** Returns columns as a query refers to them that gives their table this alias. */
export const qualified = <C extends Columns>(columns: C, alias: string): C =>
  Object.fromEntries(
    Object.entries(columns).map(([field, column]) => [field, { ...column, sql: `${alias}.${column.name}` }]),
  ) as unknown as C

/** Returns the same columns, each of which may be null. */
export const nullableColumns = <C extends Columns>(
  columns: C,
): { readonly [K in keyof C]: Column<Domain<C[K]> | undefined, FamilyOf<C[K]>, true> } =>
  Object.fromEntries(
    Object.entries(columns).map(([field, column]) => [field, nullable(column as Column<unknown>)]),
  ) as never

/** Returns some of the columns. */
export const pick = <C extends Columns, K extends keyof C & string>(columns: C, ...fields: readonly K[]): Pick<C, K> =>
  Object.fromEntries(fields.map((field) => [field, columns[field]])) as unknown as Pick<C, K>

/** Returns the columns of a table but these. A column that is added later belongs to them without further change. */
export const without = <C extends Columns, K extends keyof C & string>(
  of: Table<C>,
  ...fields: readonly K[]
): Omit<C, K> =>
  Object.fromEntries(
    Object.entries(columnsOf(of)).filter(([field]) => !(fields as readonly string[]).includes(field)),
  ) as unknown as Omit<C, K>
