import type { MonthKey, UnixSeconds } from '../types.ts'

export const daySeconds = 86_400

/** Returns the month of a year; `month` is 1 to 12. */
export const monthKey = (year: number, month: number): MonthKey => (year * 100 + month) as MonthKey

export const yearOf = (month: MonthKey): number => Math.floor(month / 100)

/** Returns 1 to 12. */
export const monthNumberOf = (month: MonthKey): number => month % 100

/** Returns the first second of a month, UTC. */
export const monthStart = (month: MonthKey): UnixSeconds => (Date.UTC(yearOf(month), monthNumberOf(month) - 1, 1) / 1000) as UnixSeconds

/** Returns the month that is `count` months later; earlier if it is negative. */
export const laterMonth = (month: MonthKey, count: number): MonthKey => {
  const months = yearOf(month) * 12 + monthNumberOf(month) - 1 + count
  return monthKey(Math.floor(months / 12), (((months % 12) + 12) % 12) + 1)
}

/** Returns the second just after a month. */
export const monthEnd = (month: MonthKey): UnixSeconds => monthStart(laterMonth(month, 1))

/** Returns the true length of a month: 28 to 31 days. */
export const secondsOf = (month: MonthKey): number => monthEnd(month) - monthStart(month)

export const daysOf = (month: MonthKey): number => secondsOf(month) / daySeconds

/** Returns the month that has a second. */
export const monthOf = (at: UnixSeconds): MonthKey => {
  const date = new Date(at * 1000)
  return monthKey(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

const form = /^(\d{4})-(\d{2})$/

/** Parses `2026-11`. Returns undefined if the text is no month of the years 2000 to 9998. */
export const parseMonth = (text: string): MonthKey | undefined => {
  const [, year, month] = form.exec(text) ?? []
  const [y, m] = [Number(year), Number(month)]
  return y >= 2000 && y <= 9998 && m >= 1 && m <= 12 ? monthKey(y, m) : undefined
}

/** Returns the month as `2026-11`. */
export const monthText = (month: MonthKey): string => `${yearOf(month)}-${String(monthNumberOf(month)).padStart(2, '0')}`
