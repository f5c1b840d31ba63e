import { CloudKeyRefused, CloudUnreachable } from '../../core/clouds/ports.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'

/** What a vendor's package threw, as far as it concerns us. */
export interface CloudError {
  readonly status: number | undefined
  readonly code: string | undefined
  readonly cause: unknown
}

/** Only a word; a vendor's text may repeat what it was sent. */
const word = (code: string | undefined): string | undefined => (code !== undefined && /^[A-Za-z][\w.-]{0,63}$/.test(code) ? code : undefined)

const links = (error: unknown): readonly unknown[] => {
  const found: unknown[] = []
  for (let at = error; at instanceof Error && found.length < 6; at = at.cause) {
    found.push(at)
    if (at instanceof AggregateError) found.push(...at.errors)
  }
  return found
}

const hasCode = (error: unknown, code: string): boolean => links(error).some((link) => (link as { readonly code?: unknown }).code === code)

/** Codes that are refusals by status, but say that our clock is wrong or that we are asked to come back. */
const notTheKey: ReadonlySet<string> = new Set(['RequestTimeTooSkewed', 'RequestTimeout', 'SlowDown', 'TooManyRequests'])

/** A vendor's refusal or our failure to reach it, in plain words. Its own text and headers stay out. */
export const toCloudFailure = ({ status, code, cause }: CloudError): Failure<'CloudKeyRefused'> | Failure<'CloudUnreachable'> => {
  const name = word(code)
  if (links(cause).some((link) => link instanceof EgressRefused)) return CloudUnreachable('The address of the cloud is not one that this service may connect to.')
  if (status === undefined) return CloudUnreachable(hasCode(cause, 'ENOTFOUND') ? 'The name of the cloud does not resolve.' : 'The cloud could not be reached.')
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 429 && !notTheKey.has(name ?? '')
  if (isRefusal) return CloudKeyRefused(`The cloud does not accept the key, or not for listing buckets (${name ?? status}).`)
  return CloudUnreachable(`The cloud did not answer as it should (${name ?? status}).`)
}
