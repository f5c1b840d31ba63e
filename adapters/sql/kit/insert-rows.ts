import type { Knex } from 'knex'
import { getOrMake } from '../../../core/kernel/cache.ts'
import type { Bind, Columns } from './columns.ts'
import type { Prepared, Slot, Slots, SqlDatabase, SqlRunner, StatementText } from './statement.ts'

/** None of these characters has a meaning within quotes, in any mode of the server. By code: 1 if it is one of them. */
const plain = Uint8Array.from({ length: 128 }, (_, code) =>
  /[\w .,:;/+\-=@#()[\]{}"<>|&!~*$^]/.test(String.fromCharCode(code)) ? 1 : 0,
)
const quote = 0x27

/**
 * The text of a statement of MySQL with literals, as bytes: thousands of short strings that are joined would cost
 * several times as much.
 */
interface SqlText {
  readonly length: () => number
  /** Adds SQL, which must be ASCII. */
  sql(text: string): void
  /**
   * Adds a value. A text with a character that is not known to be harmless is written as the hexadecimal digits of its
   * bytes, so that nothing depends on how the server reads quotes and backslashes. Only for values that are stored, not
   * compared.
   */
  value(value: Bind): void
  /** Returns the text, and begins a new one. */
  take(): string
}

const makeSqlText = (): SqlText => {
  let bytes = Buffer.allocUnsafeSlow(4096)
  let length = 0
  const reserve = (count: number): void => {
    if (length + count <= bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes.length * 2, length + count))
    bytes.copy(larger, 0, 0, length)
    bytes = larger
  }
  const sql = (text: string): void => {
    reserve(text.length)
    for (let index = 0; index < text.length; index += 1) bytes[length + index] = text.charCodeAt(index)
    length += text.length
  }
  /** Returns false, and adds nothing, if a character is not plain. */
  const quoted = (text: string): boolean => {
    reserve(text.length + 2)
    let at = length
    bytes[at++] = quote
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index)
      if (plain[code] !== 1) return false
      bytes[at++] = code
    }
    bytes[at++] = quote
    length = at
    return true
  }
  return {
    length: () => length,
    sql,
    value: (value) => {
      if (typeof value === 'string') {
        if (!quoted(value)) sql(`_utf8mb4 x'${Buffer.from(value).toString('hex')}'`)
      } else sql(literalOf(value))
    },
    take: () => {
      const text = bytes.toString('latin1', 0, length)
      length = 0
      return text
    },
  }
}

const literalOf = (value: Exclude<Bind, string>): string => {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`A value is no finite number: ${value}`)
    return String(value)
  }
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'boolean') return value ? '1' : '0'
  return value === null ? 'null' : `x'${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}'`
}

/** The values of a row, by the fields of its columns. */
type Values = Readonly<Record<string, unknown>>
/** Inserts rows, in order. */
type InsertRows = (runner: SqlRunner, rows: readonly Values[]) => Promise<void>
type Row = (k: Knex, p: Slots<Columns>) => Readonly<Record<string, Knex.Value>>
type OnConflict = (insert: Knex.QueryBuilder) => Knex.QueryBuilder
type Composer = Pick<SqlDatabase, 'prepare' | 'dialect'>

/**
 * Composes the insert of any number of rows with these columns, each as `row` says. `onConflict` says what becomes of a
 * row whose key exists; without it, the statement fails. Many rows take several statements, so the caller must be in a
 * transaction: a failure may leave a part of the rows.
 */
export const insertRows = (
  db: Composer,
  table: string,
  columns: Columns,
  row: Row,
  onConflict: OnConflict = (insert) => insert,
): InsertRows => (db.dialect === 'sqlite' ? insertPrepared : insertTexts)(db, table, columns, row, onConflict)

/** The most rows of one prepared statement. */
const mostPrepared = 256
/** More than the columns of any table. */
const widest = 64

/**
 * For SQLite, which takes at most 500 rows: a statement for 1, 2, 4, and so on up to 256 rows, composed when it is
 * first needed.
 */
const insertPrepared = (
  db: Composer,
  table: string,
  columns: Columns,
  row: Row,
  onConflict: OnConflict,
): InsertRows => {
  const statements = new Map<number, Prepared<Values, unknown>>()
  const own = Object.entries(columns)
  const fields = Object.keys(columns)
  /** Binds are named by small integers, which a large object finds faster than other names. */
  const slotOf = (index: number, column: number): number => index * widest + column
  const statementFor = (length: number): Prepared<Values, unknown> =>
    getOrMake(statements, length, () => {
      const indexes = Array.from({ length }, (_, index) => index)
      const params: Columns = Object.fromEntries(
        indexes.flatMap((index) => own.map(([, column], at) => [slotOf(index, at), column])),
      )
      return db.prepare(params, (k, p) => {
        const slotsOf = (index: number): Slots<Columns> =>
          Object.fromEntries(fields.map((field, at) => [field, p[slotOf(index, at)] as Slot]))
        return onConflict(k(table).insert(indexes.map((index) => row(k, slotsOf(index)))))
      }) as Prepared<Values, unknown>
    })
  const bindsOf = (rows: readonly Values[]): Values => {
    const binds: Record<number, unknown> = {}
    for (const [index, each] of rows.entries()) {
      for (const [at, field] of fields.entries()) if (field in each) binds[slotOf(index, at)] = each[field]
    }
    return binds
  }
  return async (runner, rows) => {
    for (let at = 0; at < rows.length;) {
      const length = Math.min(mostPrepared, 2 ** Math.floor(Math.log2(rows.length - at)))
      await runner.run(statementFor(length), bindsOf(rows.slice(at, at + length)))
      at += length
    }
  }
}

/** A statement is ended after this many characters. Servers take 16 MiB unless they are configured otherwise. */
const longestText = 2 ** 22

/**
 * For MySQL: the values are written into the text of the statement. Sending thousands of values to a prepared statement
 * costs this process several times as much, and a statement of its own for each number of rows.
 */
const insertTexts = (db: Composer, table: string, columns: Columns, row: Row, onConflict: OnConflict): InsertRows => {
  const compose = (length: number): StatementText =>
    db.prepare(columns, (k, p) => onConflict(k(table).insert(Array.from({ length }, () => row(k, p)))))
  const [one, two] = [compose(1), compose(2)]
  let parts: InsertParts | undefined
  return async (runner, rows) => {
    if (rows.length === 0) return
    const { head, pieces, order, tail } = (parts ??= partsOf(one, two))
    const text = makeSqlText()
    const run = async (): Promise<void> => {
      text.sql(tail)
      await runner.run(textOf(text.take(), `${head} ...`, one.change), {})
    }
    for (const each of rows) {
      if (text.length() > longestText) await run()
      text.sql(text.length() === 0 ? head : separator)
      for (let index = 0; index < order.length; index += 1) {
        text.sql(pieces[index] ?? '')
        text.value(valueOf(each, order[index]))
      }
      text.sql(pieces[order.length] ?? '')
    }
    await run()
  }
}

/** A statement whose values are part of its text. */
const textOf = (sql: string, shown: string, change: StatementText['change']): Prepared<object, unknown> => {
  const ofAny = typeof change === 'string' ? change : { ...change, rows: undefined }
  const text: StatementText = { sql, order: [], int64: false, shown, change: ofAny }
  return text as Prepared<object, unknown>
}

const valueOf = (row: Values, slot: StatementText['order'][number] | undefined): Bind => {
  if (slot === undefined) throw new TypeError('A row has more values than its statement.')
  if ('constant' in slot) return slot.constant
  if (!(slot.name in row)) throw new TypeError(`The value ${slot.name} of a row is missing.`)
  return slot.encode(row[slot.name] as never)
}

interface InsertParts extends Pick<StatementText, 'order'> {
  readonly head: string
  /** What is before, between and after the values of a row. */
  readonly pieces: readonly string[]
  readonly tail: string
}

const separator = ', '

/** Finds the row in the statement with one row, by what the statement with two rows has more. */
const partsOf = (one: StatementText, two: StatementText): InsertParts => {
  const start = one.sql.indexOf(' values (') + ' values '.length
  const end = start + two.sql.length - one.sql.length - separator.length
  const [head, tuple, tail] = [one.sql.slice(0, start), one.sql.slice(start, end), one.sql.slice(end)]
  const pieces = tuple.split('?')
  if (two.sql !== head + tuple + separator + tuple + tail || pieces.length !== one.order.length + 1)
    throw new Error(`The insert has another form than expected: ${one.sql}`)
  return { head, pieces, order: one.order, tail }
}
