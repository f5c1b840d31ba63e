import type { PresentedProof } from '../../core/identity/access-ports.ts'
import { optionalSecret } from '../../core/kernel/secret.ts'

/** Returns what proves in a request that the caller is the owner of the account. */
export const proofOf = ({
  password,
  passCode,
  passkey,
}: Omit<PresentedProof, 'password'> & { readonly password: string | undefined }): PresentedProof => ({
  password: optionalSecret(password),
  passCode,
  passkey,
})
