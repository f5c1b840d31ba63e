import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import { defineFailure, type Failure, type Outcome } from '../kernel/failure.ts'
import type { UserStore } from '../identity/ports.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { OpenAuthorities, OpenAuthority } from './authorities.ts'
import { LicenseAuthorityMissing } from './authorities.ts'
import { makeAddressOf, recordEvent } from './contract-events.ts'
import type { ContractKey } from './contracts.ts'
import type { ContractUnitOfWork, LicenseSigner, LicenseStore } from './ports.ts'
import { ContractMissing, LicenseMissing } from './ports.ts'
import type { License } from './types.ts'

/** An authority has more revoked licenses than a list can have. */
export const RevocationListFull = defineFailure('RevocationListFull', 'Upstream')

const freshMilliseconds = 60_000
const validDays = 7
/** The most licenses of one list: it has 3 MB, and verifiers fetch it whole. */
export const maxRevoked = 50_000

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
  type Listed = Outcome<Failure<'LicenseAuthorityMissing'> | Failure<'RevocationListFull'>, string>
  let made: { readonly at: number; readonly listed: Listed } | undefined
  const listOf = async (authority: OpenAuthority, now: Date): Outcome<Failure<'RevocationListFull'>, string> => {
    const rows = await deps.licenses.listRevoked(authority.id, now, maxRevoked + 1)
    // A list without some of them would make verifiers accept these again.
    if (rows.length > maxRevoked) return left(RevocationListFull(`The authority ${authority.id} has revoked more than ${maxRevoked} licenses that have not expired, which is more than a list can have.`))
    const revoked = rows.map(({ serial, revokedAt }) => ({ serial, at: revokedAt ?? now }))
    return right(await deps.signer.signRevocations(authority, revoked, now, laterByDays(now, validDays)))
  }
  const make = async (now: Date): Listed => {
    const authorities = await deps.authorities.unexpired()
    if (authorities.length === 0) return left(LicenseAuthorityMissing('No certificate authority for licenses is set up, or all have expired.'))
    const lists: string[] = []
    for (const authority of authorities) {
      const list = await listOf(authority, now)
      if (isLeft(list)) return list
      lists.push(list.right)
    }
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

/** Returns the licenses of a contract, the newest first, also those that were revoked or have expired. */
export const makeListLicenses =
  ({ licenses }: { readonly licenses: Pick<LicenseStore, 'listOf'> }) =>
  async (_call: SignedInCall<never>, { id, page }: ContractKey & { readonly page: PageRequest }): Outcome<never, Page<License>> =>
    right(await licenses.listOf(id, page))

/** Revokes one license of a contract. The next request for a license gets another one, unless the cluster is removed from the contract. */
export const makeRevokeLicense = (deps: { readonly clock: Clock; readonly unitOfWork: ContractUnitOfWork; readonly users: Pick<UserStore, 'byId'> }) => {
  const addressOf = makeAddressOf(deps.users)
  type RevokeFailure = Failure<'ContractMissing'> | Failure<'LicenseMissing'>
  return async (call: SignedInCall<void>, { ownerId, id, serial }: ContractKey & { readonly serial: string }): Outcome<RevokeFailure, void> => {
    const by = await addressOf(call)
    return deps.unitOfWork.run<RevokeFailure, void>(call, async (stores) => {
      const [contract] = await stores.contracts.lock(ownerId, [id])
      if (contract === undefined) return left(ContractMissing(`The contract ${id} does not exist.`))
      const at = deps.clock.now()
      if (!(await stores.licenses.revoke(id, serial, at))) return left(LicenseMissing(`The contract has no license with the serial number ${serial} that is not revoked.`))
      await recordEvent(stores, contract, { event: 'license.revoked', by, at, changes: { serial } })
      return right(undefined)
    })
  }
}
