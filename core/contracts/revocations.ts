import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { OpenAuthorityNow } from './authorities.ts'
import type { LicenseSigner, LicenseStore } from './ports.ts'

const freshMilliseconds = 60_000
const validDays = 7
/** More revoked licenses than one list can hold: its making takes time that grows with the square. */
const maxRevoked = 20_000

/** Returns the signed list of revoked licenses in PEM. It is made at most once a minute, by one request at a time. */
export const makeListRevocations = (deps: {
  readonly clock: Clock
  readonly licenses: Pick<LicenseStore, 'listRevoked'>
  readonly openAuthority: OpenAuthorityNow
  readonly signer: LicenseSigner
}) => {
  type Listed = Outcome<Failure<'LicenseAuthorityMissing'>, string>
  let made: { readonly at: number; readonly listed: Listed } | undefined
  const make = async (now: Date): Listed => {
    const authority = await deps.openAuthority()
    if (isLeft(authority)) return authority
    const rows = await deps.licenses.listRevoked(authority.right.id, now, maxRevoked)
    const revoked = rows.map(({ serial, revokedAt }) => ({ serial, at: revokedAt ?? now }))
    return right(await deps.signer.signRevocations(authority.right, revoked, now, laterByDays(now, validDays)))
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
