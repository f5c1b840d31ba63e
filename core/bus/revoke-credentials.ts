import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccountId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { busAudit } from './bus-audit.ts'
import type { BusServer, BusStores } from './ports.ts'
import { BusTokenMissing } from './ports.ts'
import type { PushClaims } from './push-claims.ts'
import type { BusIdentity, BusUserId } from './types.ts'

export interface RevokeDeps {
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly clock: Clock
  readonly server: BusServer
  readonly push: PushClaims
}
type RevokeFailure = Failure<'BusTokenMissing'>
export type RevokeCredentials = (call: SignedInCall, ownerId: AccountId, id: BusUserId) => Outcome<RevokeFailure, void>

/**
 * Ends one of an owner's credentials; ending them twice is fine. The server cuts off whoever uses them as soon as it has the
 * new claims: now, or by the job when it does not answer.
 */
export const makeRevokeCredentials =
  (deps: RevokeDeps): RevokeCredentials =>
  async (call, ownerId, id) => {
    const changed = await markRevoked(deps, call, ownerId, id)
    if (isLeft(changed)) return changed
    if (changed.right !== undefined && deps.server.isConnected()) await deps.push(changed.right).catch(() => undefined)
    return right(undefined)
  }

/** Answers the account whose claims must change; undefined when they had been ended before. */
const markRevoked = ({ unitOfWork, clock }: RevokeDeps, call: SignedInCall, ownerId: AccountId, id: BusUserId): Outcome<RevokeFailure, BusIdentity | undefined> =>
  unitOfWork.run<RevokeFailure, BusIdentity | undefined>(call, async ({ identities, users, audit }) => {
    const user = await users.get(ownerId, id)
    if (user === undefined) return left(BusTokenMissing('There are no such bus credentials.'))
    await identities.lock(user.identityId)
    if (!(await users.revoke(id, clock.now()))) return right(undefined)
    await identities.raiseRevision(user.identityId)
    await audit.record(busAudit('bus_credentials.revoked', user))
    return right(await identities.lock(user.identityId))
  })
