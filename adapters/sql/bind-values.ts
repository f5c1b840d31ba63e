import type { Bind, Statement } from './statement.ts'

/** The values of a statement's binds in the driver's order, each turned by `encode`. Throws on a missing bind. */
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

/** SQLite compares a number with a text column as text, so numbers may stay numbers. */
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

/** MySQL compares a number with a text column as numbers, which `0` wins against every word; text it compares as text. */
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
