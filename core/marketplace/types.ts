import type { ContractId } from '../contracts/types.ts'
import type { AccountId, Brand, UserId } from '../kernel/ids.ts'

/** The cloud marketplaces, as the wire names them. */
export const marketplaces = ['CloudA', 'CloudB', 'CloudC'] as const
export type Marketplace = (typeof marketplaces)[number]

/** A row number. Outside of the store, a subscription is named by its `ref`. */
export type SubscriptionId = Brand<number, 'SubscriptionId'>
/** A row number. Outside of the store, an installer is named by its `ref`. */
export type InstallerId = Brand<number, 'InstallerId'>

export const subscriptionStates = [
  'Pending',
  'Bounded',
  'Running',
  'Failed',
  'Deleting',
  'DeletionFailed',
  'Deleted',
  'Revoked',
] as const
export type SubscriptionState = (typeof subscriptionStates)[number]

/** What the state table decides on. */
export interface Lifecycle {
  readonly state: SubscriptionState
  /** The reference of the installer that is bound; undefined if none is. */
  readonly installerRef: string | undefined
  /** The provider has reported that the application is provisioned. */
  readonly isProvisioned: boolean
  /** The time of the newest event of the provider that was applied, in units of 100 ns since the epoch. */
  readonly lastTicks: bigint | undefined
  /** Only the deletion of the subscription is known. */
  readonly isTombstone: boolean
}

/** The offer that was bought, as the provider names it. Each text is empty if it is unknown. */
export interface Plan {
  readonly publisher: string
  readonly product: string
  readonly name: string
  readonly version: string
}

/** The parts of the id of a managed application. */
export interface ApplicationParts {
  readonly clientSubscriptionId: string
  readonly resourceGroup: string
  readonly provider: string
  readonly application: string
}

/** Why the provider could not create or delete an application. */
export interface ProviderError {
  readonly code: string
  readonly message: string
}

/** What a customer has bought in a marketplace. */
export interface Subscription extends Lifecycle {
  readonly id: SubscriptionId
  /** Random. It names the subscription to site admins. */
  readonly ref: string
  /** The deleted subscription of the same application before it, by its reference; empty if there is none. */
  readonly formerRef: string
  /** Events up to this time, in ticks as `lastTicks`, are about the subscription before it. */
  readonly floorTicks: bigint | undefined
  readonly marketplace: Marketplace
  /** The id of the managed application as first sent (cloud B); empty for the other clouds. */
  readonly applicationId: string
  /** What metered usage is reported for (cloud B); empty if it is unknown. */
  readonly resourceUsageId: string
  readonly plan: Plan
  readonly error: ProviderError | undefined
  /** The account that the contracts of the subscription are for; undefined until there is one. */
  readonly accountId: AccountId | undefined
  /** The site admin who claimed the subscription. */
  readonly claimedBy: UserId | undefined
  readonly clusterId: string
  /** The contracts that began with the subscription, ascending. */
  readonly contractIds: readonly ContractId[]
  /** How often, and when last, people were notified of a fault. */
  readonly alerts: number
  readonly alertedAt: Date | undefined
  /** The origin under which the installation takes reports of usage; empty if it is not known. */
  readonly consoleUrl: string
  /** An access token of the installation is stored, sealed. */
  readonly hasMeteringToken: boolean
  /** How often, and when last, the provider accepted usage of the subscription. */
  readonly reports: number
  readonly reportedAt: Date | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A contract that begins when the installer is bound. */
export interface InstallerProduct {
  readonly product: string
  readonly features: readonly string[]
}

/** What an installer is made for. */
export interface InstallerPlan {
  /** The account that gets the contracts; undefined: the one that claims the subscription. */
  readonly accountId: AccountId | undefined
  readonly products: readonly InstallerProduct[]
  /** The length of the contracts, in days. */
  readonly contractDays: number
  /** A mail address that is notified when the installer is bound; empty if there is none. */
  readonly contact: string
}

/** What a bind says about the installation. */
export interface Binding {
  readonly installerRef: string
  readonly clusterId: string
  /** Empty if none was sent. */
  readonly cloudAccountId: string
}

/** A program that a customer runs to install the product, once. */
export interface Installer extends InstallerPlan {
  readonly id: InstallerId
  /** 128 random bits in hexadecimal digits: the `installerId` of notifications. */
  readonly ref: string
  readonly marketplace: Marketplace
  readonly createdAt: Date
  /** A new bind is refused from this instant on. */
  readonly expiresAt: Date
  /** Undefined until the installer is bound. */
  readonly binding: (Omit<Binding, 'installerRef'> & { readonly at: Date }) | undefined
  readonly subscriptionId: SubscriptionId | undefined
  /** From this instant on, the link to the archive is refused. */
  readonly linkExpiresAt: Date | undefined
  readonly adminUsername: string
}

/** The right to take over a subscription, once. */
export interface Claim {
  /** 128 random bits in hexadecimal digits: `claimID`. */
  readonly ref: string
  readonly installerId: InstallerId
  /** The rules have allowed the claim. */
  readonly isClaimable: boolean
  /** How often the rules were asked and did not allow it. */
  readonly attempts: number
  /** Before this instant, the rules are not asked again. */
  readonly nextCheckAt: Date
  readonly claimedAt: Date | undefined
}

/** An entry of the history of a subscription. */
export interface SubscriptionEvent {
  readonly id: number
  readonly at: Date
  /** The event as the sender named it, such as `PUT Succeeded`. */
  readonly operation: string
  /** `Succeeded`, `Ignored` or `Refused`. */
  readonly outcome: 'Succeeded' | 'Ignored' | 'Refused'
  /** One sentence. */
  readonly description: string
  readonly state: SubscriptionState
}
