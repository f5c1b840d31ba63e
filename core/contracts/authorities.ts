import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../identity/ports.ts'
import type { Caches } from '../kernel/cache.ts'
import type { Clock } from '../kernel/clock.ts'
import { laterByDays, laterBySeconds } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Call, SignedInCall } from '../kernel/principal.ts'
import type { Entropy, SealedPlace, SecretBox } from '../kernel/secret.ts'
import { hex } from '../kernel/secret.ts'
import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { ContractKey } from './contracts.ts'
import { makeAddressOf, recordEvent } from './contracts.ts'
import type {
  AuthorityStore,
  ContractUnitOfWork,
  LicenseAuthority,
  LicenseSigner,
  LicenseStore,
  StoredAuthority,
  Validity,
} from './ports.ts'
import { ContractMissing, LicenseMissing } from './ports.ts'
import type { License } from './types.ts'

/** No certificate authority for licenses was set up. */
export const LicenseAuthorityMissing = defineFailure(
  'LicenseAuthorityMissing',
  'Upstream',
  'The installation has no certificate authority for licenses, or it is outside of its validity.',
)
/** The certificate authority cannot sign licenses, or one exists already. */
const LicenseAuthorityRefused = defineFailure(
  'LicenseAuthorityRefused',
  'Unprocessable',
  'A certificate authority for licenses exists already.',
)

/**
 * A cluster whose clock is slightly behind must not refuse a fresh license, nor the authority and the list that it is
 * checked with.
 */
export const backdatedSeconds = 300

/** A license cannot outlive its authority, so an authority lives longer than contracts usually do. */
const authorityDays = 30 * 365

const placeOf = (ref: string): SealedPlace => ({
  table: 'license_authorities',
  column: 'sealed_key',
  tenantId: 0,
  rowRef: ref,
})

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
    const authority = {
      id,
      certificatePem,
      key: await secretBox.open(sealedKey.box, placeOf(sealedKey.ref)),
      ...signer.validityOf(certificatePem),
    }
    opened.set(id, authority)
    return authority
  }
  return {
    async current() {
      const stored = (await authorities.list()).find(({ retiredAt }) => retiredAt === undefined)
      const authority = stored === undefined ? undefined : await open(stored)
      if (authority === undefined)
        return left(
          LicenseAuthorityMissing(
            'No certificate authority for licenses is set up. An operator sets it up by `moorage licenses init`.',
          ),
        )
      return isValidAt(authority, clock.now())
        ? right(authority)
        : left(
            LicenseAuthorityMissing(
              'The certificate authority for licenses is outside of its validity. An operator replaces it ' +
                'by `moorage licenses init --rotate`.',
            ),
          )
    },
    async unexpired() {
      const now = clock.now()
      const all = await Promise.all((await authorities.list()).map(open))
      return all
        .filter((authority) => authority !== undefined)
        .filter(({ notAfter }) => now.getTime() <= notAfter.getTime())
    },
  }
}

const isValidAt = ({ notBefore, notAfter }: Validity, now: Date): boolean =>
  notBefore.getTime() <= now.getTime() && now.getTime() <= notAfter.getTime()

/**
 * Returns the certificates of all authorities, the newest first. Verifiers must trust all of them until their licenses
 * have expired. With the serial of a license, that of its authority is first, for verifiers that read no more than one.
 */
export const makeListAuthorities =
  ({
    authorities,
    licenses,
  }: {
    readonly authorities: Pick<AuthorityStore, 'list'>
    readonly licenses: Pick<LicenseStore, 'authorityOf'>
  }) =>
  async (serial?: string): Outcome<Failure<'LicenseMissing'>, readonly StoredAuthority[]> => {
    const all = await authorities.list()
    if (serial === undefined) return right(all)
    const first = await licenses.authorityOf(serial)
    if (first === undefined) return left(LicenseMissing('No license has this serial.'))
    return right([...all.filter(({ id }) => id === first), ...all.filter(({ id }) => id !== first)])
  }

export interface AddAuthorityInput {
  /** The name of the vendor, in the name of a new authority. Undefined: that of the authority which is replaced. */
  readonly organization: string | undefined
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

/** The organization of a first authority for which no name was given. */
const unnamedVendor = 'Moorage'

const added = (id: number, isRotation: boolean): AuditEntry => ({
  action: isRotation ? 'license_authority.rotated' : 'license_authority.created',
  objectType: 'license_authority',
  objectId: id,
})

/** Sets up the certificate authority of licenses, or replaces it. Licenses of the replaced one stay valid. */
export const makeAddAuthority =
  (deps: AddDeps) =>
  async (
    call: Call<StoredAuthority>,
    { organization, own, rotate }: AddAuthorityInput,
  ): Outcome<Failure<'LicenseAuthorityRefused'>, StoredAuthority> => {
    const present = (await deps.authorities.list()).filter(({ retiredAt }) => retiredAt === undefined)
    if (present.length > 0 && !rotate)
      return left(
        LicenseAuthorityRefused('There is a certificate authority for licenses already. Replace it with --rotate.'),
      )
    const at = deps.clock.now()
    const named =
      organization ??
      present.flatMap(({ certificatePem }) => deps.signer.organizationOf(certificatePem) ?? [])[0] ??
      unnamedVendor
    const authority =
      own ??
      (await deps.signer.makeAuthority({
        organization: named,
        notBefore: laterBySeconds(at, -backdatedSeconds),
        notAfter: laterByDays(at, authorityDays),
      }))
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

/** An authority has more revoked licenses than a list can have. */
export const RevocationListFull = defineFailure(
  'RevocationListFull',
  'Upstream',
  'The authority has revoked more licenses than a list can have.',
)

const freshMilliseconds = 60_000
const validDays = 7
/** The most licenses of one list: it has 3 MB, and verifiers fetch it whole. */
const maxRevoked = 50_000

/**
 * Returns the signed lists of revoked licenses in PEM: one for each authority that has not expired, also of those that
 * were replaced, the newest first. They are made at most once a minute, by one request at a time, and again when there
 * is another authority: a verifier that demands a list refuses all licenses of an authority that has none.
 */
export const makeListRevocations = (deps: {
  readonly clock: Clock
  readonly licenses: Pick<LicenseStore, 'listRevoked'>
  readonly authorities: Pick<OpenAuthorities, 'unexpired'>
  readonly signer: LicenseSigner
}) => {
  type Listed = Outcome<Failure<'LicenseAuthorityMissing'> | Failure<'RevocationListFull'>, string>
  let made: { readonly at: number; readonly of: string; readonly listed: Listed } | undefined
  const listOf = async (authority: OpenAuthority, now: Date): Outcome<Failure<'RevocationListFull'>, string> => {
    const rows = await deps.licenses.listRevoked(authority.id, now, maxRevoked + 1)
    // A list without some of them would make verifiers accept these again.
    if (rows.length > maxRevoked)
      return left(
        RevocationListFull(
          `The authority ${authority.id} has revoked more than ${maxRevoked} licenses that have not ` +
            'expired, which is more than a list can have.',
        ),
      )
    const revoked = rows.map(({ serial, revokedAt }) => ({ serial, at: revokedAt ?? now }))
    return right(
      await deps.signer.signRevocations(
        authority,
        revoked,
        laterBySeconds(now, -backdatedSeconds),
        laterByDays(now, validDays),
      ),
    )
  }
  const make = async (authorities: readonly OpenAuthority[], now: Date): Listed => {
    if (authorities.length === 0)
      return left(LicenseAuthorityMissing('No certificate authority for licenses is set up, or all have expired.'))
    const lists: string[] = []
    for (const authority of authorities) {
      const list = await listOf(authority, now)
      if (isLeft(list)) return list
      lists.push(list.right)
    }
    return right(lists.join(''))
  }
  return async (): Listed => {
    const authorities = await deps.authorities.unexpired()
    const of = authorities.map(({ id }) => id).join()
    const now = deps.clock.now()
    if (made !== undefined && made.of === of && Math.abs(now.getTime() - made.at) < freshMilliseconds)
      return made.listed
    const listed = make(authorities, now)
    const current = { at: now.getTime(), of, listed }
    made = current
    const forget = (): void => {
      if (made === current) made = undefined
    }
    listed.then((outcome) => (isLeft(outcome) ? forget() : undefined), forget)
    return listed
  }
}

/** Returns the licenses of a contract, the newest first, also those that were revoked or have expired. */
export const makeListLicenses =
  ({ licenses }: { readonly licenses: Pick<LicenseStore, 'listOf'> }) =>
  async (
    _call: SignedInCall<never>,
    { id, page }: ContractKey & { readonly page: PageRequest },
  ): Outcome<never, Page<License>> =>
    right(await licenses.listOf(id, page))

/**
 * Revokes one license of a contract. The next request for a license gets another one, unless the cluster is removed
 * from the contract.
 */
export const makeRevokeLicense = (deps: {
  readonly clock: Clock
  readonly unitOfWork: ContractUnitOfWork
  readonly users: Pick<UserStore, 'byId'>
}) => {
  const addressOf = makeAddressOf(deps.users)
  type RevokeFailure = Failure<'ContractMissing'> | Failure<'LicenseMissing'>
  return async (
    call: SignedInCall<void>,
    { ownerId, id, serial }: ContractKey & { readonly serial: string },
  ): Outcome<RevokeFailure, void> => {
    const by = await addressOf(call)
    return deps.unitOfWork.run<RevokeFailure, void>(call, async (stores) => {
      const [contract] = await stores.contracts.lock(ownerId, [id])
      if (contract === undefined) return left(ContractMissing(`The contract ${id} does not exist.`))
      const at = deps.clock.now()
      if (!(await stores.licenses.revoke(id, serial, at)))
        return left(LicenseMissing(`The contract has no license with the serial number ${serial} that is not revoked.`))
      await recordEvent(stores, contract, { event: 'license.revoked', by, at, changes: { serial } })
      return right(undefined)
    })
  }
}
