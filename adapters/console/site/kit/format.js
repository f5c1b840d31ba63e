import { texts } from '../texts.js'
import { html } from './html.js'

const locale = navigator.language
const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
const dateOnly = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const wholeNumbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 })

/** @param {number} value */
export const number = (value) => wholeNumbers.format(value)

/** Returns a time of the API, or undefined if it is none or the beginning of time. @param {string | number | undefined} value */
export const timeOf = (value) => {
  if (value === undefined || value === '' || value === 0) return undefined
  const time = new Date(typeof value === 'number' ? value * 1000 : value)
  return Number.isNaN(time.getTime()) || time.getTime() <= 0 ? undefined : time
}

const utc = (/** @type {Date} */ time) =>
  time
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC')

/** @type {readonly (readonly [Intl.RelativeTimeFormatUnit, number])[]} */
const units = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** Returns such as `3 days ago` or `in 2 hours`. @param {Date} time */
const ago = (time) => {
  const seconds = (time.getTime() - Date.now()) / 1000
  for (const [unit, length] of units)
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit)
  return texts.format.now
}

/**
 * A time in the zone of the reader, with UTC on hover.
 *
 * @param {{ value: string | number | undefined, as?: 'time' | 'day' | 'ago', none?: string }} props
 */
export const Time = ({ value, as = 'time', none = texts.format.never }) => {
  const time = timeOf(value)
  if (time === undefined) return html`<span class="faint">${none}</span>`
  const text = as === 'ago' ? ago(time) : as === 'day' ? dateOnly.format(time) : dateTime.format(time)
  return html`<time datetime=${time.toISOString()} title=${utc(time)}>${text}</time>`
}
