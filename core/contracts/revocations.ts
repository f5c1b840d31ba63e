import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { OpenAuthorities, OpenAuthority } from './authorities.ts'
import { LicenseAuthorityMissing } from './authorities.ts'
import type { LicenseSigner, LicenseStore } from './ports.ts'

const freshMilliseconds = 60_000
const validDays = 7
/** More revoked licenses than one list can hold: its making takes time that grows with the square. */
const maxRevoked = 20_000

/**
 * Returns the signed lists of revoked licenses in PEM: one for each authority that has not expired, also of those that were replaced,
 * the newest first. They are made at most once a minute, by one request at a time.
 */
export const makeListRevocations = (deps: {
  readonly clock: Clock
  readonly licenses: Pick<LicenseStore, 'listRevoked'>
  readonly authorities: Pick<OpenAuthorities, 'unexpired'>
  readonly signer: LicenseSigner
}) => {
  type Listed = Outcome<Failure<'LicenseAuthorityMissing'>, string>
  let made: { readonly at: number; readonly listed: Listed } | undefined
  const listOf = async (authority: OpenAuthority, now: Date): Promise<string> => {
    const rows = await deps.licenses.listRevoked(authority.id, now, maxRevoked)
    const revoked = rows.map(({ serial, revokedAt }) => ({ serial, at: revokedAt ?? now }))
    return deps.signer.signRevocations(authority, revoked, now, laterByDays(now, validDays))
  }
  const make = async (now: Date): Listed => {
    const authorities = await deps.authorities.unexpired()
    if (authorities.length === 0) return left(LicenseAuthorityMissing('No certificate authority for licenses is set up, or all have expired.'))
    const lists: string[] = []
    for (const authority of authorities) lists.push(await listOf(authority, now))
    return right(lists.join(''))
  }
  return async (): Listed => {
    const now = deps.clock.now()
    const age = made === undefined ? Infinity : Math.abs(now.getTime() - made.at)
    if (made !== undefined && age < freshMilliseconds) return made.listed
    const listed = make(now)
    const current = { at: now.getTime(), listed }
    made = current
    const forget = (): void => {
      if (made === current) made = undefined
    }
    listed.then((outcome) => (isLeft(outcome) ? forget() : undefined), forget)
    return listed
  }
}
