import { left, right } from 'fp-ts/lib/Either.js'
import { CloudKeyRefused, CloudSdkMissing, CloudUnreachable } from '../../core/clouds/ports.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'

/** Loads a vendor's package on first use. Node caches loaded modules. */
export const loadSdk = async <M>(name: string, load: () => Promise<M>): Outcome<Failure<'CloudSdkMissing'>, M> => {
  try {
    return right(await load())
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
    // A missing dependency of the vendor's package is a fault, not a choice of the operator.
    if (code !== 'ERR_MODULE_NOT_FOUND' || !String(message).includes(`'${name}'`)) throw error
    return left(
      CloudSdkMissing(
        `This installation cannot list buckets of that cloud yet: its operator must run \`npm install ${name}\`.`,
      ),
    )
  }
}

/** The relevant parts of an error that a vendor's package threw. */
export interface CloudError {
  readonly status: number | undefined
  readonly code: string | undefined
  readonly cause: unknown
}

/** Returns only the code: a vendor's message may repeat what it was sent. */
const word = (code: string | undefined): string | undefined =>
  code !== undefined && /^[A-Za-z][\w.-]{0,63}$/.test(code) ? code : undefined

const links = (error: unknown): readonly unknown[] => {
  const found: unknown[] = []
  for (let at = error; at instanceof Error && found.length < 6; at = at.cause) {
    found.push(at)
    if (at instanceof AggregateError) found.push(...at.errors)
  }
  return found
}

const hasCode = (error: unknown, code: string): boolean =>
  links(error).some((link) => (link as { readonly code?: unknown }).code === code)

/** Codes whose status is a refusal, but which mean that our clock is wrong or that the request must be retried. */
const notTheKey: ReadonlySet<string> = new Set([
  'RequestTimeTooSkewed',
  'RequestTimeout',
  'SlowDown',
  'TooManyRequests',
])

/**
 * Converts a vendor's refusal, or a failure to reach it, to plain words. The vendor's own text and headers are left
 * out.
 */
export const toCloudFailure = ({
  status,
  code,
  cause,
}: CloudError): Failure<'CloudKeyRefused'> | Failure<'CloudUnreachable'> => {
  const name = word(code)
  if (links(cause).some((link) => link instanceof EgressRefused))
    return CloudUnreachable('The address of the cloud is not one that this service may connect to.')
  if (status === undefined)
    return CloudUnreachable(
      hasCode(cause, 'ENOTFOUND') ? 'The name of the cloud does not resolve.' : 'The cloud could not be reached.',
    )
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 429 && !notTheKey.has(name ?? '')
  if (isRefusal)
    return CloudKeyRefused(`The cloud does not accept the key, or not for listing buckets (${name ?? status}).`)
  return CloudUnreachable(`The cloud did not answer as it should (${name ?? status}).`)
}
