import fc from 'fast-check'
import type { Column, Columns } from '../../adapters/sql/kit/columns.ts'
import { anyText } from './any-text.ts'

const maxInstant = 8_640_000_000_000_000

/** Any row that the columns take. */
export const anyRow = (columns: Columns): fc.Arbitrary<Readonly<Record<string, unknown>>> =>
  fc.record(Object.fromEntries(Object.entries(columns).map(([field, column]) => [field, anyValue(column)])))

/** Any value that the column takes. */
const anyValue = (column: Column<never>): fc.Arbitrary<unknown> => {
  const value = anyPresent(column)
  return column.isNullable ? fc.option(value, { nil: undefined }) : value
}

const anyPresent = (column: Column<never>): fc.Arbitrary<unknown> => {
  const { form, length, codec } = column
  if (codec !== undefined && form === 'int') {
    const decode = codec.decode as unknown as (stored: unknown) => unknown
    const { codec: _, ...stored } = column
    return anyPresent(stored).map(decode)
  }
  // The only codec of text in a table is that of decimal digits.
  if (codec !== undefined) return fc.bigInt({ min: 0n, max: 10n ** BigInt(length) - 1n })
  switch (form) {
    case 'long':
      return fc.nat({ max: Number.MAX_SAFE_INTEGER })
    case 'exact':
      return fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
    case 'int':
      return fc.nat({ max: 127 })
    case 'flag':
      return fc.boolean()
    case 'instant':
      return fc.integer({ min: -maxInstant, max: maxInstant }).map((at) => new Date(at))
    case 'text':
      return textOf(length)
    case 'long-text':
    case 'large-text':
      return textOf(300)
    case 'json':
      return fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.boolean(), fc.integer(), fc.constant(null)), {
        noNullPrototype: true,
      })
    case 'fixed-bytes':
      return fc.uint8Array({ minLength: length, maxLength: length })
    case 'long-bytes':
      return fc.uint8Array({ maxLength: 300 })
  }
}

/** Text of at most that many characters, of one or of two units of UTF-16; sometimes as many as there may be. */
const textOf = (length: number): fc.Arbitrary<string> =>
  fc.oneof(
    anyText({ maxLength: length }).map((text) => [...text].slice(0, length).join('')),
    fc.constantFrom('😀', '𐍈', 'é', ' ', "'").map((unit) => unit.repeat(length)),
  )
