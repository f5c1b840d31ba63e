import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { KeySafe } from './key-safe.ts'
import type { BusIdentityStore, BusMint, BusStores } from './ports.ts'
import { claimsFor } from './rights.ts'
import type { BusIdentity, NewBusIdentity } from './types.ts'

/** The three keys of a deployment, with the claims that a server starts with. */
export interface BusKeys {
  readonly operator: BusIdentity
  readonly system: BusIdentity
  readonly platform: BusIdentity
}

export interface InitBusDeps {
  readonly identities: BusIdentityStore
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly mint: BusMint
  readonly safe: KeySafe
  readonly clock: Clock
}

/** The keys of this deployment, if they were made. */
export const readBusKeys = async (identities: BusIdentityStore): Promise<BusKeys | undefined> => {
  const [operator, system, platform] = await Promise.all([identities.find('operator'), identities.find('system'), identities.find('platform')])
  return operator === undefined || system === undefined || platform === undefined ? undefined : { operator, system, platform }
}

/** Makes the keys of the bus, once: whoever asks again, or at the same time, is given the same. */
export const makeInitBus =
  (deps: InitBusDeps) =>
  async (call: Call): Promise<BusKeys> => {
    const { identities, unitOfWork, clock } = deps
    const there = await readBusKeys(identities)
    if (there !== undefined) return there
    const fresh = await freshKeys(deps)
    const made = await unitOfWork.run<Failure<'BusIdentityTaken'>, void>(call, async ({ identities: within, audit }) => {
      for (const each of fresh) {
        const inserted = await within.insert(each, clock.now())
        if (isLeft(inserted)) return inserted
      }
      await audit.record({ action: 'bus.initialized', objectType: 'bus', changes: { keys: fresh.map(({ publicKey }) => publicKey) } })
      return right(undefined)
    })
    const keys = await readBusKeys(identities)
    if (keys === undefined) throw new Error(isLeft(made) ? made.left.message : 'The keys of the bus were made and cannot be found.')
    return keys
  }

const freshKeys = async ({ mint, safe }: InitBusDeps): Promise<readonly NewBusIdentity[]> => {
  const operator = mint.newKey('operator')
  const [system, platform] = [mint.newKey('system'), mint.newKey('platform')]
  const account = async (kind: 'system' | 'platform', key: typeof system): Promise<NewBusIdentity> => ({
    ...(await safe.seal(kind, undefined, key)),
    claims: await mint.accountClaims(operator, key.publicKey, platform.publicKey, {
      ...claimsFor({ kind, ownerId: undefined, closedAt: undefined }), revocations: new Map(),
    }),
  })
  return [
    { ...(await safe.seal('operator', undefined, operator)), claims: await mint.operatorClaims(operator, system.publicKey) },
    await account('system', system),
    await account('platform', platform),
  ]
}
