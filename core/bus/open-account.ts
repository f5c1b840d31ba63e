import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { AccountId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { KeySafe } from './key-safe.ts'
import type { BusIdentityStore, BusMint, BusServer, BusStores } from './ports.ts'
import { BusHasNoCredentials } from './ports.ts'
import type { PushClaims } from './push-claims.ts'
import { accountOf } from './rights.ts'
import type { BusIdentity, BusPurpose } from './types.ts'

export interface OpenAccountDeps {
  readonly identities: BusIdentityStore
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly mint: BusMint
  readonly server: BusServer
  readonly safe: KeySafe
  readonly push: PushClaims
  readonly clock: Clock
}
export type OpenAccount = (
  call: Call,
  input: { readonly ownerId: AccountId; readonly purpose: BusPurpose },
) => Outcome<Failure<'BusHasNoCredentials'>, BusIdentity>

/** The account that credentials will stand in, made when it is the owner's first, and known to the server. Throws Unavailable. */
export const makeOpenAccount =
  (deps: OpenAccountDeps): OpenAccount =>
  async (call, { ownerId, purpose }) => {
    const { identities, server, push } = deps
    const platform = await identities.find('platform')
    if (platform === undefined) return left(BusHasNoCredentials('The message bus has no keys yet. Whoever runs this deployment makes them: moorage bus init.'))
    const account = accountOf(purpose) === 'platform' ? platform : (await identities.find('account', ownerId)) ?? (await make(deps, call, ownerId))
    const isKnown = (await server.claimsOf(account.publicKey)) !== undefined
    if (!isKnown || account.pushedRevision < account.revision) await push(account)
    return right(account)
  }

/** Of two that make it at once the second one takes the first one's. */
const make = async ({ unitOfWork, identities, mint, safe, clock }: OpenAccountDeps, call: Call, ownerId: AccountId): Promise<BusIdentity> => {
  const sealed = await safe.seal('account', ownerId, mint.newKey('account'))
  const made = await unitOfWork.run<Failure<'BusIdentityTaken'>, BusIdentity>(call, async ({ identities: within, audit }) => {
    const inserted = await within.insert(sealed, clock.now())
    if (isLeft(inserted)) return inserted
    await audit.record({ action: 'bus_account.created', objectType: 'bus_account', objectId: inserted.right.id, objectName: sealed.publicKey, tenantId: ownerId })
    return inserted
  })
  if (isRight(made)) return made.right
  const theirs = await identities.find('account', ownerId)
  if (theirs === undefined) throw new Error(`The bus account of ${ownerId} exists and cannot be found.`)
  return theirs
}
