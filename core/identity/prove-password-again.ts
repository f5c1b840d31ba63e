import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Outcome } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import type { ImpersonateFailure } from './impersonate.ts'
import { makeImpersonate } from './impersonate.ts'
import type { CredentialStore } from './ports.ts'
import { credentialOutdated } from './still-proven.ts'

/**
 * For a request that goes on after its password was proven (a stream, a slow body): whether password and second factor are still those that were proven
 * and its account may still sign in, with the rights of now. No new attempt: no hash, no code, no count, so that a lock
 * cuts nobody off who is in, and a one-time code need not be right twice.
 */
export const makeProvePasswordAgain = (credentials: CredentialStore) => {
  const impersonate = makeImpersonate(credentials)
  return async (proven: Principal): Outcome<ReturnType<typeof credentialOutdated> | ImpersonateFailure, Principal> => {
    const { impersonator, ...own } = proven
    const actor = impersonator ?? proven
    const record = await credentials.passwordByKey(actor.login.toLowerCase())
    if (record === undefined || record.account.userId !== actor.userId || !record.account.isEnabled) return left(credentialOutdated())
    const isSame = record.phc === proven.provenPhc?.reveal() && record.secondFactorRef === proven.provenSecondFactorRef
    if (!isSame) return left(credentialOutdated())
    const { userId, login, isSiteAdmin, mustChangePassword } = record.account
    const current: Principal = { ...own, userId, login, isSiteAdmin, mustChangePassword }
    if (impersonator === undefined) return right(current)
    const acting = await impersonate(current, proven.login)
    return isLeft(acting) || acting.right.userId === proven.userId ? acting : left(credentialOutdated())
  }
}
