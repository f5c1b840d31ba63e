import type { MonthKey } from '../usage/types.ts'

/** Returns the first instant of a month, or of one that is so many months later. */
const startOf = (month: MonthKey, later: number): Date => new Date(Date.UTC(yearOf(month), numberOf(month) - 1 + later))

const yearOf = (month: MonthKey): number => Math.floor(month / 100)
const numberOf = (month: MonthKey): number => month % 100

/** Returns the first instant of a month, and the one just after it, in UTC. */
export const periodOf = (month: MonthKey): { readonly from: Date; readonly to: Date } => ({
  from: startOf(month, 0),
  to: startOf(month, 1),
})

/** Returns the true length of a month in seconds. */
export const secondsOf = (month: MonthKey): number => {
  const { from, to } = periodOf(month)
  return Math.round((to.getTime() - from.getTime()) / 1000)
}

/** Returns the month of an instant in UTC. */
export const monthOf = (at: Date): MonthKey => (at.getUTCFullYear() * 100 + at.getUTCMonth() + 1) as MonthKey

/** Returns the month as `2026-11`. */
export const monthText = (month: MonthKey): string => periodOf(month).from.toISOString().slice(0, 7)

/** Parses `2026-11`. Returns undefined if the text is no month of the years 2000 to 9998. */
export const parseMonth = (text: string): MonthKey | undefined => {
  if (!/^(?:[2-9]\d{3})-(?:0[1-9]|1[0-2])$/.test(text) || text.startsWith('9999')) return undefined
  return monthOf(new Date(`${text}-01T00:00:00Z`))
}
