import type { UserId } from '../kernel/ids.ts'
import type { Entropy } from '../kernel/entropy.ts'
import { hex } from '../kernel/entropy.ts'
import { secret } from '../kernel/secret.ts'
import type { SealedPlace, SecretBox } from '../kernel/secret.ts'
import type { CredentialSpec, StoredCredential } from './types.ts'

const placeOf = (userId: UserId, ref: string): SealedPlace => ({ table: 'cloud_credentials', column: 'sealed_spec', tenantId: userId, rowRef: ref })

/** Seals whole specs: no field of a block stands outside of its box. */
export interface CredentialSafe {
  /** Under a fresh reference, so that an older box cannot be put in its place. */
  seal(userId: UserId, spec: CredentialSpec): Promise<{ readonly ref: string; readonly box: Uint8Array }>
  /** Throws when the box was tampered with or moved. */
  open(stored: Pick<StoredCredential, 'userId' | 'ref' | 'box'>): Promise<CredentialSpec>
}

export const makeCredentialSafe = (deps: { readonly secretBox: SecretBox; readonly entropy: Entropy }): CredentialSafe => ({
  async seal(userId, spec) {
    const ref = hex(deps.entropy.bytes(16))
    return { ref, box: await deps.secretBox.seal(secret(JSON.stringify(spec)), placeOf(userId, ref)) }
  },
  async open({ userId, ref, box }) {
    const plain = await deps.secretBox.open(box, placeOf(userId, ref))
    return JSON.parse(plain.reveal()) as CredentialSpec
  },
})
