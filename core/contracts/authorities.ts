import { left, right } from 'fp-ts/lib/Either.js'
import type { Caches } from '../kernel/cache.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { Entropy, SealedPlace, SecretBox } from '../kernel/secret.ts'
import { hex } from '../kernel/secret.ts'
import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { AuthorityStore, ContractUnitOfWork, LicenseAuthority, LicenseSigner, StoredAuthority } from './ports.ts'

/** No certificate authority for licenses was set up. */
export const LicenseAuthorityMissing = defineFailure('LicenseAuthorityMissing', 'Upstream')
/** The certificate authority cannot sign licenses, or one exists already. */
export const LicenseAuthorityRefused = defineFailure('LicenseAuthorityRefused', 'Unprocessable')

/** Longer than any contract: a license cannot outlive its authority. */
const authorityDays = 30 * 365

const placeOf = (ref: string): SealedPlace => ({ table: 'license_authorities', column: 'sealed_key', tenantId: 0, rowRef: ref })

/** The authority that signs now, with its key. */
export interface OpenAuthority extends LicenseAuthority {
  readonly id: number
}

interface OpenDeps {
  readonly authorities: Pick<AuthorityStore, 'list'>
  readonly secretBox: SecretBox
  readonly caches: Caches
}

/** Opens the authority that signs now. Its key is unsealed once. */
export const makeOpenAuthority = ({ authorities, secretBox, caches }: OpenDeps) => {
  const opened = caches.make<number, OpenAuthority>({ maxEntries: 4 })
  return async (): Outcome<Failure<'LicenseAuthorityMissing'>, OpenAuthority> => {
    const current = (await authorities.list()).find(({ retiredAt }) => retiredAt === undefined)
    if (current?.sealedKey === undefined)
      return left(LicenseAuthorityMissing('No certificate authority for licenses is set up. An operator sets it up by `moorage licenses init`.'))
    const known = opened.get(current.id)
    if (known !== undefined) return right(known)
    const { ref, box } = current.sealedKey
    const authority = { id: current.id, certificatePem: current.certificatePem, key: await secretBox.open(box, placeOf(ref)) }
    opened.set(current.id, authority)
    return right(authority)
  }
}
export type OpenAuthorityNow = ReturnType<typeof makeOpenAuthority>

/** Returns the certificates of all authorities, the newest first. Verifiers must trust all of them until their licenses have expired. */
export const makeListAuthorities =
  ({ authorities }: { readonly authorities: Pick<AuthorityStore, 'list'> }) =>
  async (): Outcome<never, readonly StoredAuthority[]> =>
    right(await authorities.list())

export interface AddAuthorityInput {
  /** The name of the vendor, in the name of a new authority. */
  readonly organization: string
  /** An authority of the operator's own; undefined: a new one is made. */
  readonly own: LicenseAuthority | undefined
  /** Take the place of the present authority. Without it, an existing authority is a failure. */
  readonly rotate: boolean
}

interface AddDeps {
  readonly authorities: Pick<AuthorityStore, 'list'>
  readonly clock: Clock
  readonly entropy: Entropy
  readonly secretBox: SecretBox
  readonly signer: LicenseSigner
  readonly unitOfWork: ContractUnitOfWork
}

const added = (id: number, isRotation: boolean): AuditEntry => ({
  action: isRotation ? 'license_authority.rotated' : 'license_authority.created',
  objectType: 'license_authority',
  objectId: id,
})

/** Sets up the certificate authority of licenses, or replaces it. Licenses of the replaced one stay valid. */
export const makeAddAuthority =
  (deps: AddDeps) =>
  async (call: Call<StoredAuthority>, { organization, own, rotate }: AddAuthorityInput): Outcome<Failure<'LicenseAuthorityRefused'>, StoredAuthority> => {
    const present = (await deps.authorities.list()).filter(({ retiredAt }) => retiredAt === undefined)
    if (present.length > 0 && !rotate) return left(LicenseAuthorityRefused('There is a certificate authority for licenses already. Replace it with --rotate.'))
    const at = deps.clock.now()
    const authority = own ?? (await deps.signer.makeAuthority({ organization, notBefore: at, notAfter: laterByDays(at, authorityDays) }))
    const fault = await deps.signer.faultOf(authority)
    if (fault !== undefined) return left(LicenseAuthorityRefused(fault))
    const ref = hex(deps.entropy.bytes(16))
    const sealedKey = { ref, box: await deps.secretBox.seal(authority.key, placeOf(ref)) }
    const { certificatePem } = authority
    return deps.unitOfWork.run<never, StoredAuthority>(call, async ({ authorities, audit }) => {
      const id = await authorities.add({ certificatePem, sealedKey }, at)
      await audit.record(added(id, present.length > 0))
      return right({ id, certificatePem, sealedKey, createdAt: at, retiredAt: undefined })
    })
  }
