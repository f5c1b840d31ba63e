import { definedFields } from '../../kernel/json.ts'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import { makeOwnCall } from '../../kernel/principal.ts'
import type { Entropy } from '../../kernel/secret.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import { optionalSecret } from '../../kernel/secret.ts'
import type { MeteredSubscriptions } from '../metering/ports.ts'
import type {
  HostedConsoles,
  MarketplaceSettings,
  MarketplaceStores,
  MarketplaceUnitOfWork,
  SubscriptionStore,
} from '../ports.ts'
import { ConsoleInvalid, ConsoleNotReady, SubscriptionMissing } from '../ports.ts'
import type { Installer, Marketplace, Subscription, SubscriptionEvent } from '../types.ts'
import { transition } from './states.ts'

/** Returns the row of the audit log of a change to a subscription. */
export const subscriptionAudit = defineAudit(
  'subscription',
  [
    'subscription.bound',
    'subscription.changed',
    'subscription.claimed',
    'subscription.console_changed',
    'subscription.revoked',
  ],
  ({ id, ref, accountId }: Pick<Subscription, 'id' | 'ref' | 'accountId'>) => ({
    objectId: id,
    objectName: ref,
    ...definedFields({ tenantId: accountId }),
  }),
)

/** Begins the contracts of a locked subscription for an account, one for each product of its installer. */
export const beginContracts = async (
  stores: Pick<MarketplaceStores, 'contracts' | 'subscriptions'>,
  subscription: Pick<Subscription, 'id' | 'ref' | 'clusterId' | 'contractIds'>,
  { installer, accountId, at }: { readonly installer: Installer; readonly accountId: AccountId; readonly at: Date },
): Promise<void> => {
  const contractIds = [...subscription.contractIds]
  for (const { product, features } of installer.products) {
    const beginning = {
      ownerId: accountId,
      name: `${product} (${installer.marketplace})`,
      product,
      features,
      days: installer.contractDays,
      clusterUid: subscription.clusterId,
    }
    contractIds.push(await stores.contracts.begin(beginning, `marketplace subscription ${subscription.ref}`))
  }
  await stores.subscriptions.update(subscription.id, { accountId, contractIds }, at)
}

/** Revokes the contracts of a locked subscription. */
export const endContracts = async (
  { contracts }: Pick<MarketplaceStores, 'contracts'>,
  { contractIds }: Pick<Subscription, 'contractIds'>,
  by: string,
): Promise<void> => {
  if (contractIds.length > 0) await contracts.revoke(contractIds, by)
}

/** A subscription as a site admin names it. */
export interface SubscriptionName {
  readonly marketplace: Marketplace
  readonly ref: string
}

interface SubscriptionDeps {
  readonly subscriptions: Pick<SubscriptionStore, 'list' | 'find' | 'history'>
}

const missing = ({ ref }: SubscriptionName): Failure<'SubscriptionMissing'> =>
  SubscriptionMissing(`The subscription ${ref} does not exist.`)

/** Returns all subscriptions, the newest first. */
export const makeListSubscriptions =
  ({ subscriptions }: SubscriptionDeps) =>
  async (_call: Call<never>, { page }: { readonly page: PageRequest }): Outcome<never, Page<Subscription>> =>
    right(await subscriptions.list(page))

/** Returns one subscription. */
export const makeGetSubscription =
  ({ subscriptions }: SubscriptionDeps) =>
  async (_call: Call<never>, name: SubscriptionName): Outcome<Failure<'SubscriptionMissing'>, Subscription> => {
    const found = await subscriptions.find(name.marketplace, name.ref)
    return found === undefined ? left(missing(name)) : right(found)
  }

/** More events of one subscription are not shown. */
const mostEvents = 1_000

export interface SubscriptionHistory {
  readonly subscription: Subscription
  /** The oldest first; at most 1,000 of the newest. */
  readonly events: readonly SubscriptionEvent[]
}

/** Returns the history of a subscription, after that of those of the same application before it. */
export const makeSubscriptionHistory = (deps: SubscriptionDeps) => {
  const get = makeGetSubscription(deps)
  return async (
    call: Call<never>,
    name: SubscriptionName,
  ): Outcome<Failure<'SubscriptionMissing'>, SubscriptionHistory> => {
    const found = await get(call, name)
    if (isLeft(found)) return found
    let events = await deps.subscriptions.history(found.right.id, mostEvents)
    let { formerRef } = found.right
    while (formerRef !== '' && events.length < mostEvents) {
      const former = await deps.subscriptions.find(name.marketplace, formerRef)
      if (former === undefined) break
      events = [...(await deps.subscriptions.history(former.id, mostEvents - events.length)), ...events]
      formerRef = former.formerRef
    }
    return right({ subscription: found.right, events })
  }
}

/** Ends a subscription by the vendor: its contracts are revoked at once. One that has ended stays as it is. */
export const makeRevokeSubscription =
  ({ clock, unitOfWork }: { readonly clock: Clock; readonly unitOfWork: MarketplaceUnitOfWork }) =>
  (call: Call<void>, name: SubscriptionName): Outcome<Failure<'SubscriptionMissing'>, void> =>
    unitOfWork.run<Failure<'SubscriptionMissing'>, void>(call, async (stores) => {
      const subscription = await stores.subscriptions.lockByRef(name.marketplace, name.ref)
      if (subscription === undefined || subscription.isTombstone) return left(missing(name))
      const change = transition(subscription, { kind: 'revoke' })
      if (change.kind !== 'applied') return right(undefined)
      const at = clock.now()
      const { next } = change
      await stores.subscriptions.update(subscription.id, { lifecycle: next }, at)
      const by = call.principal?.login ?? 'the operator'
      await endContracts(stores, subscription, by)
      const description = `Revoked by ${by}.`
      const event = { at, operation: 'revoke', outcome: 'Succeeded', description, state: next.state } as const
      await stores.subscriptions.record(subscription.id, event)
      await stores.audit.record(subscriptionAudit(subscription, 'subscription.revoked'))
      return right(undefined)
    })

interface MeteredDeps {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly settings: Pick<MarketplaceSettings, 'marketplace'>
  readonly subscriptions: Pick<SubscriptionStore, 'live'>
  readonly unitOfWork: MarketplaceUnitOfWork
}

/**
 * The subscription whose usage this deployment reports: the only one that is bound or running. A deployment that runs
 * in the account of a customer has one.
 */
export const makeMeteredSubscriptions = (deps: MeteredDeps): MeteredSubscriptions => {
  const { clock, settings, subscriptions, unitOfWork } = deps
  const ownCall = makeOwnCall(deps.entropy)
  return {
    async current() {
      const [first, second] =
        settings.marketplace === undefined ? [] : await subscriptions.live(settings.marketplace, 2)
      return second === undefined ? first?.ref : undefined
    },
    async reported(ref) {
      await unitOfWork.run<never, void>(ownCall('metering.reported'), async (stores) => {
        const { marketplace } = settings
        const subscription = marketplace && (await stores.subscriptions.lockByRef(marketplace, ref))
        if (subscription === undefined) return right(undefined)
        const at = clock.now()
        const change = transition(subscription, { kind: 'reported' })
        const lifecycle = change.kind === 'applied' ? change.next : undefined
        await stores.subscriptions.update(subscription.id, { reportedAt: at, ...definedFields({ lifecycle }) }, at)
        if (lifecycle === undefined) return right(undefined)
        const { state } = lifecycle
        const description = 'The provider accepted the first usage.'
        const event = { at, operation: 'report-usage', outcome: 'Succeeded', description, state } as const
        await stores.subscriptions.record(subscription.id, event)
        await stores.audit.record(subscriptionAudit(subscription, 'subscription.changed', { state }))
        return right(undefined)
      })
    },
  }
}

export interface SetConsoleInput extends SubscriptionName {
  /** An origin; empty to remove it with its token. */
  readonly url: string
  readonly token: string
}

type SetConsoleFailure = Failure<'SubscriptionMissing'> | Failure<'ConsoleInvalid'>

/** Sets where the installation of a subscription takes reports of usage. The token is always set with the address. */
export const makeSetConsole =
  ({ clock, unitOfWork }: { readonly clock: Clock; readonly unitOfWork: MarketplaceUnitOfWork }) =>
  async (call: SignedInCall<void>, { url, token, ...name }: SetConsoleInput): Outcome<SetConsoleFailure, void> => {
    if (name.marketplace === 'CloudB') return left(ConsoleInvalid('Installations of cloud B take no reports of usage.'))
    if ((url === '') !== (token === ''))
      return left(ConsoleInvalid('The address and the token must be given together, or both be empty.'))
    return unitOfWork.run<SetConsoleFailure, void>(call, async (stores) => {
      const subscription = await stores.subscriptions.lockByRef(name.marketplace, name.ref)
      if (subscription === undefined || subscription.isTombstone) return left(missing(name))
      const at = clock.now()
      await stores.subscriptions.setConsole(subscription, { url, token: optionalSecret(token || undefined) }, at)
      const description = `${url === '' ? 'Removed' : 'Set'} by ${call.principal.login}.`
      const { state } = subscription
      const event = { at, operation: 'set-console', outcome: 'Succeeded', description, state } as const
      await stores.subscriptions.record(subscription.id, event)
      await stores.audit.record(subscriptionAudit(subscription, 'subscription.console_changed', { url }))
      return right(undefined)
    })
  }

/** Asks the installation of a subscription whether it takes reports of usage. */
export const makePingConsole = ({
  consoles,
  subscriptions,
}: {
  readonly consoles: HostedConsoles
  readonly subscriptions: Pick<SubscriptionStore, 'find' | 'meteringToken'>
}) => {
  type Pinged = Outcome<Failure<'SubscriptionMissing'> | Failure<'ConsoleNotReady'>, void>
  return async ({ signal }: SignedInCall<never>, name: SubscriptionName): Pinged => {
    const found = await subscriptions.find(name.marketplace, name.ref)
    if (found === undefined) return left(missing(name))
    if (found.consoleUrl === '')
      return left(ConsoleNotReady('The address of the installation of this subscription is not known.'))
    const token = await subscriptions.meteringToken(found)
    const fault = await consoles.faultOf(name.marketplace, { url: found.consoleUrl, token }, signal)
    return fault === undefined ? right(undefined) : left(ConsoleNotReady(fault))
  }
}
