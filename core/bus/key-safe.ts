import type { AccountId } from '../kernel/ids.ts'
import type { Entropy } from '../kernel/entropy.ts'
import { hex } from '../kernel/entropy.ts'
import type { SealedPlace, SecretBox } from '../kernel/secret.ts'
import type { BusKey } from './ports.ts'
import type { BusIdentity, BusIdentityKind, NewBusIdentity } from './types.ts'

/** Seals and opens the seeds of the bus's keys, each bound to its own row. */
export interface KeySafe {
  seal(kind: BusIdentityKind, ownerId: AccountId | undefined, key: BusKey): Promise<NewBusIdentity>
  open(identity: BusIdentity): Promise<BusKey>
}

const placeOf = (ownerId: AccountId | undefined, ref: string): SealedPlace => ({
  table: 'bus_identities', column: 'sealed_seed', tenantId: ownerId ?? 0, rowRef: ref,
})

export const makeKeySafe = (box: SecretBox, entropy: Entropy): KeySafe => ({
  seal: async (kind, ownerId, { publicKey, seed }) => {
    const ref = hex(entropy.bytes(16))
    return { kind, ownerId, publicKey, ref, sealedSeed: await box.seal(seed, placeOf(ownerId, ref)), claims: '' }
  },
  open: async ({ publicKey, sealedSeed, ownerId, ref }) => ({ publicKey, seed: await box.open(sealedSeed, placeOf(ownerId, ref)) }),
})
