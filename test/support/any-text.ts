import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

/** Any code point but half of a surrogate pair. */
const anyCharacter = fc
  .nat(0x10ffff - surrogates.count)
  .map((index) => String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count))

/** `fc.string({ unit: 'binary' })` without its table of all code points, which each process would build in 0.8 s. */
export const anyText = (
  bounds: { readonly minLength?: number; readonly maxLength?: number } = {},
): fc.Arbitrary<string> => fc.string({ unit: anyCharacter, ...bounds })
