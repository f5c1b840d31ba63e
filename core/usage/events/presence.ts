import { getOrMake } from '../../kernel/cache.ts'
import { hourOfMonth, monthBounds, monthOf } from '../month.ts'
import type { MonthKey, UnixSeconds } from '../types.ts'

/** The hours of a month in which a cluster was heard: 93 bytes, the first hour in the lowest bit of the first byte. */
export type HeardHours = Uint8Array

const presenceBytes = 93
const hourSeconds = 3600

const noHours = (): HeardHours => new Uint8Array(presenceBytes)

/** Returns the hours of either. */
export const unionOfHours = (a: HeardHours, b: HeardHours): HeardHours => a.map((byte, index) => byte | (b[index] ?? 0))

/** Reports whether every hour of `some` is one of `all`. */
export const includesHours = (all: HeardHours, some: HeardHours): boolean =>
  some.every((byte, index) => (byte & ~(all[index] ?? 0)) === 0)

/** Returns the hours in which these instants are, by month. */
export const hoursOf = (instants: Iterable<UnixSeconds>): ReadonlyMap<MonthKey, HeardHours> => {
  const months = new Map<MonthKey, HeardHours>()
  for (const at of instants) {
    const month = monthOf(at)
    const hours = getOrMake(months, month, noHours)
    const hour = hourOfMonth(at)
    hours[hour >> 3] = (hours[hour >> 3] ?? 0) | (1 << (hour & 7))
  }
  return months
}

/** Returns the heard hours of a month as the seconds at which they begin, in order. */
export const heardHours = (month: MonthKey, hours: HeardHours): readonly UnixSeconds[] => {
  const { from, to } = monthBounds(month)
  const heard: UnixSeconds[] = []
  for (let hour = 0; from + hour * hourSeconds < to; hour += 1) {
    if (((hours[hour >> 3] ?? 0) & (1 << (hour & 7))) !== 0) heard.push((from + hour * hourSeconds) as UnixSeconds)
  }
  return heard
}
