import { definedFields } from '../../kernel/json.ts'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { Call } from '../../kernel/principal.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { MarketplaceStores, MarketplaceUnitOfWork, SubscriptionStore } from '../ports.ts'
import { SubscriptionMissing } from '../ports.ts'
import type { Installer, Marketplace, Subscription, SubscriptionEvent } from '../types.ts'
import { transition } from './states.ts'

/** Returns the row of the audit log of a change to a subscription. */
export const subscriptionAudit = defineAudit(
  'subscription',
  ['subscription.bound', 'subscription.changed', 'subscription.claimed', 'subscription.revoked'],
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

/** Returns the history of a subscription. */
export const makeSubscriptionHistory = (deps: SubscriptionDeps) => {
  const get = makeGetSubscription(deps)
  return async (
    call: Call<never>,
    name: SubscriptionName,
  ): Outcome<Failure<'SubscriptionMissing'>, SubscriptionHistory> => {
    const found = await get(call, name)
    if (isLeft(found)) return found
    return right({ subscription: found.right, events: await deps.subscriptions.history(found.right.id, mostEvents) })
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
      await stores.installers.erasePasswordOf(subscription.id)
      const description = `Revoked by ${by}.`
      const event = { at, operation: 'revoke', outcome: 'Succeeded', description, state: next.state } as const
      await stores.subscriptions.record(subscription.id, event)
      await stores.audit.record(subscriptionAudit(subscription, 'subscription.revoked'))
      return right(undefined)
    })
