import { parseInstant } from '../../kernel/clock.ts'

/** Providers date events more finely than a `Date` can tell. */
const ticksPerSecond = 10_000_000n

/**
 * Returns an RFC 3339 instant in units of 100 ns since the epoch; undefined if the text is none. More than 7 digits of
 * a second are cut.
 */
export const parseTicks = (text: string): bigint | undefined => {
  const at = parseInstant(text)
  if (at === undefined) return undefined
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? ''
  return BigInt(Math.floor(at.getTime() / 1000)) * ticksPerSecond + BigInt(fraction.padEnd(7, '0').slice(0, 7))
}

/** Returns an instant of the service's own clock in the same units. */
export const ticksOf = (at: Date): bigint => BigInt(at.getTime()) * 10_000n
