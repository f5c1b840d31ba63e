import { definedFields } from '../../kernel/json.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ContractLifecycle } from '../../contracts/ports.ts'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { Entropy } from '../../kernel/secret.ts'
import { hex } from '../../kernel/secret.ts'
import { portKey } from '../../kernel/port-key.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { MembershipStore } from '../../organizations/ports.ts'
import type {
  ArchiveLink,
  ArchiveLinks,
  InstallerArchive,
  InstallerStore,
  MarketplaceSettings,
  MarketplaceUnitOfWork,
} from '../ports.ts'
import { ArchiveLinkRefused, InstallerInvalid, InstallerMissing } from '../ports.ts'
import type { Installer, InstallerProduct, Marketplace } from '../types.ts'

/** 128 bits: the id of an installer or of a claim cannot be guessed. */
const refBytes = 16

/** Returns a new reference of an installer or a claim: 32 hexadecimal digits. */
const newRef = (entropy: Entropy): string => hex(entropy.bytes(refBytes))

const auditOf = defineAudit(
  'installer',
  ['installer.created'],
  ({ id, ref, accountId }: Pick<Installer, 'id' | 'ref' | 'accountId'>) => ({
    objectId: id,
    objectName: ref,
    ...definedFields({ tenantId: accountId }),
  }),
)

/** Where the cloud's notifications go, below the base URL. */
const notificationPaths: Readonly<Record<Marketplace, string>> = {
  CloudA: 'cloudA/notification/resource',
  CloudB: 'cloudB/notification/resource',
  CloudC: 'cloudC/notification/resource',
}

export interface CreateInstallerInput {
  /** The account that gets the contracts; undefined: the organization that claims the subscription. */
  readonly account: string | undefined
  readonly products: readonly InstallerProduct[]
  readonly contractDays: number
  /** For how many days the installer can be bound. */
  readonly validDays: number
  /** A mail address; empty if there is none. */
  readonly contact: string
  readonly chart: string
  readonly chartVersion: string
  /** YAML of values for the chart; empty if there are none. */
  readonly values: string
}

export interface CreatedInstaller {
  readonly ref: string
  readonly claimRef: string
  readonly marketplace: Marketplace
  readonly expiresAt: Date
  readonly notificationUrl: string
}

export interface CreateInstallerDeps {
  readonly archive: Pick<InstallerArchive, 'faultOf' | 'build'>
  readonly clock: Clock
  readonly contracts: Pick<ContractLifecycle, 'faultOf'>
  readonly entropy: Entropy
  readonly memberships: Pick<MembershipStore, 'findAccount'>
  readonly settings: MarketplaceSettings
  readonly unitOfWork: MarketplaceUnitOfWork
}

const invalid = (message: string): Either<Failure<'InstallerInvalid'>, never> => left(InstallerInvalid(message))

/** More products are no offer of one marketplace. */
const mostProducts = 20
const longestDays = 3_660

const inputFault = (
  { contracts, archive }: Pick<CreateInstallerDeps, 'contracts' | 'archive'>,
  input: CreateInstallerInput,
): string | undefined => {
  const { products, contractDays, validDays, contact } = input
  const isDays = (days: number): boolean => Number.isInteger(days) && days >= 1 && days <= longestDays
  if (!isDays(contractDays) || !isDays(validDays)) return `Days must be integers from 1 to ${longestDays}.`
  if (products.length > mostProducts) return `An installer has at most ${mostProducts} products.`
  if (contact !== '' && !/^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}]{1,189}$/u.test(contact))
    return 'The contact must be a mail address.'
  for (const { product, features } of products) {
    const fault = contracts.faultOf({ name: product, product, features, days: contractDays })
    if (fault !== undefined) return `The product ${product} is not valid: ${fault}`
  }
  return archive.faultOf(input)
}

/** Creates an installer with its claim, and builds its archive. */
export const makeCreateInstaller = (deps: CreateInstallerDeps) => {
  const { archive, clock, entropy, memberships, settings, unitOfWork } = deps
  type Created = Outcome<Failure<'InstallerInvalid'>, CreatedInstaller>
  return async (call: Call<CreatedInstaller>, input: CreateInstallerInput): Created => {
    const { marketplace } = settings
    if (marketplace === undefined) return invalid('This deployment is of no marketplace: it has no installers.')
    const fault = inputFault(deps, input)
    if (fault !== undefined) return invalid(fault)
    const account = input.account === undefined ? undefined : await memberships.findAccount(input.account)
    if (input.account !== undefined && account === undefined)
      return invalid(`The account ${input.account} does not exist.`)
    const [ref, claimRef] = [newRef(entropy), newRef(entropy)]
    const at = clock.now()
    const root = `${settings.listenerUrl()}/marketplace/api/v1/marketplaces`
    const notificationUrl = `${root}/${notificationPaths[marketplace]}`
    const { products, contractDays, contact, chart, chartVersion, values } = input
    const claimableUrl = `${root}/standalone-organizations/${claimRef}/claimable`
    const about = { installerRef: ref, claimRef, marketplace, notificationUrl, claimableUrl }
    const bytes = await archive.build({ ...about, products, chart, chartVersion, values, createdAt: at })
    const expiresAt = laterByDays(at, input.validDays)
    const accountId = account?.id as AccountId | undefined
    return unitOfWork.run<Failure<'InstallerInvalid'>, CreatedInstaller>(call, async (stores) => {
      const plan = { accountId, products, contractDays, contact }
      const id = await stores.installers.insert({ ...plan, ref, marketplace, expiresAt, archive: bytes }, at)
      await stores.claims.insert({ ref: claimRef, installerId: id }, at)
      await stores.audit.record(auditOf({ id, ref, accountId }, 'installer.created'))
      return right({ ref, claimRef, marketplace, expiresAt, notificationUrl })
    })
  }
}

/** For the operator's commands. */
export const CreateInstallerPort = portKey<ReturnType<typeof makeCreateInstaller>>('marketplace.CreateInstaller')

interface InstallerDeps {
  readonly clock: Clock
  readonly installers: Pick<InstallerStore, 'find' | 'archive'>
  readonly links: ArchiveLinks
}

export interface InstallerStatus {
  readonly installer: Installer
  /** The link to the archive; undefined if the installer is not bound, or the link has ended. */
  readonly link: string | undefined
  /** An installer that is not bound, and cannot be any more. */
  readonly isExpired: boolean
}

/** Returns whether an installer is bound. */
export const makeInstallerStatus =
  ({ clock, installers, links }: InstallerDeps) =>
  async (_call: SignedInCall<never>, ref: string): Outcome<Failure<'InstallerMissing'>, InstallerStatus> => {
    const installer = await installers.find(ref)
    if (installer === undefined) return left(InstallerMissing(`The installer ${ref} does not exist.`))
    const now = clock.now().getTime()
    const { linkExpiresAt: until, expiresAt, binding } = installer
    return right({
      installer,
      link: until === undefined || until.getTime() <= now ? undefined : links.make(ref, until),
      isExpired: binding === undefined && expiresAt.getTime() <= now,
    })
  }

/** Returns the archive to which a link leads. */
export const makeOpenArchive =
  ({ clock, installers, links }: InstallerDeps) =>
  async (_call: Call, link: ArchiveLink): Outcome<Failure<'ArchiveLinkRefused'>, Uint8Array> => {
    const refused = left(ArchiveLinkRefused('The link to the archive is not valid, or it has expired.'))
    if (!links.isSigned(link) || clock.now().getTime() >= link.expires) return refused
    const bytes = await installers.archive(link.installerRef)
    return bytes === undefined ? refused : right(bytes)
  }

/** The life of a password that an earlier release sealed, in milliseconds. */
const passwordMilliseconds = 24 * 3600 * 1000
/** The provider sends a notification again for some hours; a tombstone is kept for as long. */
const keptDays = 90
const batch = 500

/** Removes what is not needed any more: passwords that an earlier release kept, answers to notifications, tombstones. */
export const makeSweep =
  ({ clock, unitOfWork }: { readonly clock: Clock; readonly unitOfWork: MarketplaceUnitOfWork }) =>
  async (call: Call<number>): Promise<number> => {
    const swept = await unitOfWork.run<never, number>(call, async ({ inbox, installers, subscriptions }) => {
      const now = clock.now()
      const old = laterByDays(now, -keptDays)
      const erased = await installers.erasePasswordsBefore(new Date(now.getTime() - passwordMilliseconds))
      const answers = await inbox.removeBefore(old, batch)
      const tombstones = await subscriptions.removeTombstones(old, batch)
      return right(erased + answers + tombstones)
    })
    return isLeft(swept) ? 0 : swept.right
  }
