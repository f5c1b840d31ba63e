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
import type { AuthorityStore, ContractUnitOfWork, LicenseAuthority, LicenseSigner, StoredAuthority, Validity } from './ports.ts'

/** No certificate authority for licenses was set up. */
export const LicenseAuthorityMissing = defineFailure('LicenseAuthorityMissing', 'Upstream')
/** The certificate authority cannot sign licenses, or one exists already. */
export const LicenseAuthorityRefused = defineFailure('LicenseAuthorityRefused', 'Unprocessable')

/** A license cannot outlive its authority, so an authority lives longer than contracts usually do. */
const authorityDays = 30 * 365

const placeOf = (ref: string): SealedPlace => ({ table: 'license_authorities', column: 'sealed_key', tenantId: 0, rowRef: ref })

/** An authority with its key and its validity. */
export interface OpenAuthority extends LicenseAuthority, Validity {
  readonly id: number
}

interface OpenDeps {
  readonly authorities: Pick<AuthorityStore, 'list'>
  readonly clock: Clock
  readonly secretBox: SecretBox
  readonly caches: Caches
  readonly signer: Pick<LicenseSigner, 'validityOf'>
}

/** The authorities whose keys are here. Each key is unsealed once. */
export interface OpenAuthorities {
  /** Returns the authority that signs now. */
  current(): Outcome<Failure<'LicenseAuthorityMissing'>, OpenAuthority>
  /** Returns all authorities that have not expired, also those that were replaced, the newest first. */
  unexpired(): Promise<readonly OpenAuthority[]>
}

export const makeOpenAuthorities = ({ authorities, clock, secretBox, caches, signer }: OpenDeps): OpenAuthorities => {
  const opened = caches.make<number, OpenAuthority>({ maxEntries: 16 })
  const open = async ({ id, certificatePem, sealedKey }: StoredAuthority): Promise<OpenAuthority | undefined> => {
    const known = opened.get(id)
    if (known !== undefined || sealedKey === undefined) return known
    const authority = { id, certificatePem, key: await secretBox.open(sealedKey.box, placeOf(sealedKey.ref)), ...signer.validityOf(certificatePem) }
    opened.set(id, authority)
    return authority
  }
  return {
    async current() {
      const stored = (await authorities.list()).find(({ retiredAt }) => retiredAt === undefined)
      const authority = stored === undefined ? undefined : await open(stored)
      if (authority === undefined)
        return left(LicenseAuthorityMissing('No certificate authority for licenses is set up. An operator sets it up by `moorage licenses init`.'))
      return isValidAt(authority, clock.now())
        ? right(authority)
        : left(LicenseAuthorityMissing('The certificate authority for licenses is outside of its validity. An operator replaces it by `moorage licenses init --rotate`.'))
    },
    async unexpired() {
      const now = clock.now()
      const all = await Promise.all((await authorities.list()).map(open))
      return all.filter((authority) => authority !== undefined).filter(({ notAfter }) => now.getTime() <= notAfter.getTime())
    },
  }
}

const isValidAt = ({ notBefore, notAfter }: Validity, now: Date): boolean => notBefore.getTime() <= now.getTime() && now.getTime() <= notAfter.getTime()

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
    const fault = await deps.signer.faultOf(authority, at)
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
