/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** From 0 to just below 1. */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  oneOf<A>(values: readonly [A, ...A[]]): A
  /** True with this probability. */
  chance(probability: number): boolean
  uuid(): string
}

/** Mulberry32 over a hash of the seed. */
export const makeRandom = (seed: string): Random => {
  let state =
    [...seed].reduce((hash, character) => Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193), 0x811c9dc5) >>>
    0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  const digits = (count: number): string => Array.from({ length: count }, () => between(0, 15).toString(16)).join('')
  return {
    next,
    between,
    oneOf: (values) => values[between(0, values.length - 1)] ?? values[0],
    chance: (probability) => next() < probability,
    uuid: () => `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`,
  }
}
