import type { AccountId } from '../kernel/ids.ts'
import type { Entropy, SealedPlace, SecretBox } from '../kernel/secret.ts'
import { hex, optionalSecret, secret } from '../kernel/secret.ts'
import { definedFields } from '../kernel/json.ts'
import type { RepositoryCredentials, SealedChartRepository } from './types.ts'

interface Plain {
  readonly username?: string
  readonly password?: string
  readonly token?: string
  readonly authorityPem?: string
  readonly certificatePem?: string
  readonly keyPem?: string
}

const placeOf = (accountId: AccountId, ref: string): SealedPlace => ({ table: 'chart_repositories', column: 'sealed_credentials', tenantId: accountId, rowRef: ref })

/** Seals all credentials of a repository in one box. */
export interface RepositorySafe {
  /** Seals under a new reference, so that an older box cannot replace it. No box if there are no credentials. */
  seal(accountId: AccountId, credentials: RepositoryCredentials): Promise<{ readonly ref: string; readonly box: Uint8Array | undefined }>
  /** Throws when the box was tampered with or moved. */
  open(stored: Pick<SealedChartRepository, 'accountId' | 'ref' | 'box'>): Promise<RepositoryCredentials>
}

export const makeRepositorySafe = (deps: { readonly secretBox: SecretBox; readonly entropy: Entropy }): RepositorySafe => ({
  async seal(accountId, { password, token, keyPem, ...rest }) {
    const ref = hex(deps.entropy.bytes(16))
    const plain: Plain = { ...rest, ...definedFields({ password: password?.reveal(), token: token?.reveal(), keyPem: keyPem?.reveal() }) }
    if (Object.keys(plain).length === 0) return { ref, box: undefined }
    return { ref, box: await deps.secretBox.seal(secret(JSON.stringify(plain)), placeOf(accountId, ref)) }
  },
  async open({ accountId, ref, box }) {
    if (box === undefined) return {}
    const { password, token, keyPem, ...rest } = JSON.parse((await deps.secretBox.open(box, placeOf(accountId, ref))).reveal()) as Plain
    return { ...rest, ...definedFields({ password: optionalSecret(password), token: optionalSecret(token), keyPem: optionalSecret(keyPem) }) }
  },
})
