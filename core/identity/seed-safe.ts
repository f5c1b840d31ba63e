import type { UserId } from '../kernel/ids.ts'
import type { Secret, SealedPlace, SecretBox } from '../kernel/secret.ts'
import type { SecondFactorRecord } from './second-factor-ports.ts'

/** Seals and opens seeds, each bound to its own row. */
export interface SeedSafe {
  seal(seed: Secret, userId: UserId, ref: string): Promise<Uint8Array>
  open(record: Pick<SecondFactorRecord, 'sealedSeed' | 'userId' | 'ref'>): Promise<Secret>
}

const placeOf = (userId: UserId, ref: string): SealedPlace => ({ table: 'two_factors', column: 'sealed_seed', tenantId: userId, rowRef: ref })

export const makeSeedSafe = (box: SecretBox): SeedSafe => ({
  seal: (seed, userId, ref) => box.seal(seed, placeOf(userId, ref)),
  open: ({ sealedSeed, userId, ref }) => box.open(sealedSeed, placeOf(userId, ref)),
})
