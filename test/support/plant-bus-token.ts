import { BusIdentityStorePort, BusUserStorePort } from '../../core/bus/ports.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { unwrap } from './outcome.ts'
import type { TestService } from './service.ts'

/** Records credentials of the bus as if they had been issued; answers their id. No bus is needed. */
export const plantBusToken = async ({ running }: TestService, owner: number): Promise<number> => {
  const [identities, users] = [
    running.container.resolve(BusIdentityStorePort),
    running.container.resolve(BusUserStorePort),
  ]
  const ownerId = owner as AccountId
  const now = new Date()
  const identity = unwrap(
    await identities.insert(
      {
        kind: 'account',
        ownerId,
        publicKey: `A-${owner}`,
        ref: `ref-${owner}`,
        sealedSeed: new Uint8Array(1),
        claims: 'planted',
      },
      now,
    ),
  )
  const ownerMark = (await users.ownerMark(ownerId)) ?? ''
  const expiresAt = new Date(now.getTime() + 3_600_000)
  return users.insert({
    identityId: identity.id,
    ownerId,
    purpose: 'own',
    publicKey: `U-${owner}`,
    ownerMark,
    issuedAt: now,
    expiresAt,
  })
}
