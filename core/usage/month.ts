import { unixSeconds } from '../kernel/clock.ts'
import type { MonthKey, UnixSeconds } from './types.ts'
import { monthNames } from './types.ts'

export const daySeconds = 86_400
/**
 * Whatever is dated that much later than now comes from a clock that was ahead: instances read their clocks at
 * different moments.
 */
export const certainlyAheadSeconds = 3600
const hourSeconds = 3600

const firstYear = 2000
const lastYear = 9998

/** A month in seconds: `from` is its first second, `to` is just after its last. */
export interface MonthBounds {
  readonly from: UnixSeconds
  readonly to: UnixSeconds
}

/** Returns the month of a year; `month` is 1 to 12. */
export const monthKey = (year: number, month: number): MonthKey => (year * 100 + month) as MonthKey

const reportedMonth = (year: number, month: number): MonthKey | undefined =>
  year >= firstYear && year <= lastYear && month >= 1 && month <= 12 ? monthKey(year, month) : undefined

export const yearOf = (month: MonthKey): number => Math.floor(month / 100)
/** Returns 1 to 12. */
const monthNumber = (month: MonthKey): number => month % 100

/** Returns the English name of a month. */
export const monthName = (month: MonthKey): (typeof monthNames)[number] =>
  monthNames[monthNumber(month) - 1] ?? 'January'

const numbers = /^(?:0?[1-9]|1[0-2])$/

/**
 * Returns 1 to 12 for an English name in any case, or a number with or without a leading zero; 0 for any other text.
 */
export const parseMonthNumber = (text: string): number =>
  numbers.test(text) ? Number(text) : monthNames.findIndex((name) => name.toLowerCase() === text.toLowerCase()) + 1

const form = /^(\d{4})-(\d{2})$/

/** Parses `2026-11`. Returns undefined if the text is no month of the years 2000 to 9998. */
export const parseMonthText = (text: string): MonthKey | undefined => {
  const [, year, month] = form.exec(text) ?? []
  return reportedMonth(Number(year), Number(month))
}

/** Returns the month as `2026-11`. */
export const monthText = (month: MonthKey): string => `${yearOf(month)}-${String(monthNumber(month)).padStart(2, '0')}`

const secondsOf = (year: number, month: number, day = 1): UnixSeconds =>
  (Date.UTC(year, month - 1, day) / 1000) as UnixSeconds

/** Returns the second in which an instant is. */
export const secondOf = (at: Date): UnixSeconds => unixSeconds(at) as UnixSeconds

/** Returns the month of an instant. */
export const monthOf = (at: UnixSeconds): MonthKey => {
  const date = new Date(at * 1000)
  return monthKey(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

/** Returns the month that many months later. A negative number gives an earlier month. */
export const laterByMonths = (month: MonthKey, count: number): MonthKey => {
  const index = yearOf(month) * 12 + monthNumber(month) - 1 + count
  return monthKey(Math.floor(index / 12), (index % 12) + 1)
}

/** Returns the first second of a month. */
export const monthStart = (month: MonthKey): UnixSeconds => secondsOf(yearOf(month), monthNumber(month))

/** Returns the second just after a month. */
export const monthEnd = (month: MonthKey): UnixSeconds => monthStart(laterByMonths(month, 1))

export const monthBounds = (month: MonthKey): MonthBounds => ({ from: monthStart(month), to: monthEnd(month) })

/** Returns the true length of a month. */
export const monthSeconds = (month: MonthKey): number => monthEnd(month) - monthStart(month)

/** Returns 28 to 31. */
export const daysOfMonth = (month: MonthKey): number => monthSeconds(month) / daySeconds

/** Returns the months from `first` to `last`, both included; none if `last` is earlier. */
export const monthsBetween = (first: MonthKey, last: MonthKey): readonly MonthKey[] => {
  const months: MonthKey[] = []
  for (let month = first; month <= last; month = laterByMonths(month, 1)) months.push(month)
  return months
}

/** Returns the days since the epoch. */
export const dayOf = (at: UnixSeconds): number => Math.floor(at / daySeconds)

/** Returns the hour of its month in which an instant is, from 0. */
export const hourOfMonth = (at: UnixSeconds): number => Math.floor((at - monthBounds(monthOf(at)).from) / hourSeconds)

/** Returns the first second of the hour of an instant. */
export const hourStart = (at: UnixSeconds): UnixSeconds => (at - (at % hourSeconds)) as UnixSeconds

/**
 * Returns the same second of the next month, on its last day if it has no such day: 31 January gives 28 or 29 February.
 */
export const oneMonthAfter = (at: UnixSeconds): UnixSeconds => {
  const next = laterByMonths(monthOf(at), 1)
  const day = new Date(at * 1000).getUTCDate()
  const ofDay = at - dayOf(at) * daySeconds
  return (secondsOf(yearOf(next), monthNumber(next), Math.min(day, daysOfMonth(next))) + ofDay) as UnixSeconds
}
