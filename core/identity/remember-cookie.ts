import type { Entropy } from '../kernel/entropy.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import { randomBase62 } from './access-token.ts'

/** About 131 bits: finds the row, and stays. */
const seriesLength = 22
/** More than 256 bits: proves the browser, and changes. */
const secretLength = 43

const form = /^([0-9A-Za-z]{22})\.([0-9A-Za-z]{43})$/

/** What a remember cookie says. Both halves are secret. */
export interface RememberCookie {
  readonly series: string
  readonly secret: string
}

export const newSeries = (entropy: Entropy): string => randomBase62(entropy, seriesLength)
export const newRememberSecret = (entropy: Entropy): string => randomBase62(entropy, secretLength)

export const rememberCookieValue = (cookie: RememberCookie): Secret => secret(`${cookie.series}.${cookie.secret}`)

/** Undefined where the value is not of our making. */
export const parseRememberCookie = (value: Secret): RememberCookie | undefined => {
  const [, series, cookieSecret] = form.exec(value.reveal()) ?? []
  return series === undefined || cookieSecret === undefined ? undefined : { series, secret: cookieSecret }
}

/** Whether a text has the form of a remember cookie: nothing else is looked at. */
export const hasRememberCookieForm = (text: string): boolean => form.test(text)
