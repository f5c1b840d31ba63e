import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import { laterBySeconds } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId } from '../../kernel/ids.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { Entropy } from '../../kernel/secret.ts'
import type { MembershipStore } from '../../organizations/ports.ts'
import type {
  ClaimAllowance,
  ClaimRules,
  ClaimStore,
  InstallerStore,
  MarketplaceUnitOfWork,
  SubscriptionStore,
} from '../ports.ts'
import { ClaimantMissing, ClaimCheckTooSoon, ClaimMissing, ClaimTaken } from '../ports.ts'
import { isEnded } from '../subscriptions/states.ts'
import { beginContracts, subscriptionAudit } from '../subscriptions/subscriptions.ts'
import type { Claim, Subscription } from '../types.ts'

/** Whether a claim may be taken. */
export interface Claimability {
  readonly claimRef: string
  readonly isClaimable: boolean
}

const firstWaitSeconds = 30
const longestWaitSeconds = 3600

/**
 * Returns the wait before the rules are asked again: half a minute, doubled with each attempt, at most an hour, and up
 * to a fifth more or less. `chance` is from 0 to 1. @internal
 */
export const waitSeconds = (attempts: number, chance: number): number =>
  Math.min(longestWaitSeconds, firstWaitSeconds * 2 ** Math.min(attempts, 30)) * (0.8 + 0.4 * chance)

const chanceOf = (entropy: Entropy): number => (entropy.bytes(1)[0] ?? 0) / 255

export interface ClaimDeps {
  readonly claims: Pick<ClaimStore, 'find' | 'oldestClaimable' | 'reserveCheck' | 'setClaimable'>
  readonly clock: Clock
  readonly entropy: Entropy
  readonly rules: ClaimRules
}

const missing = (): Failure<'ClaimMissing'> => ClaimMissing('The claim does not exist.')
const taken = (): Failure<'ClaimTaken'> => ClaimTaken('The claim is already taken.')
const tooSoon = (seconds: number): Failure<'ClaimCheckTooSoon'> =>
  ClaimCheckTooSoon('The claim was checked a moment ago; wait and try again.', { retryAfterSeconds: seconds })

type CheckFailure = Failure<'ClaimMissing'> | Failure<'ClaimTaken'> | Failure<'ClaimCheckTooSoon'>

/**
 * Asks the rules about a claim. The next check is moved before, by one statement: of several callers one asks, and
 * rules that fail are not asked again at once.
 */
const ask = async ({ claims, clock, entropy, rules }: ClaimDeps, claim: Claim): Outcome<CheckFailure, boolean> => {
  const wait = waitSeconds(claim.attempts, chanceOf(entropy))
  if (!(await claims.reserveCheck(claim, laterBySeconds(clock.now(), wait)))) return left(tooSoon(wait))
  const isClaimable = await rules.isClaimable(claim)
  if (isClaimable) await claims.setClaimable(claim.ref)
  return right(isClaimable)
}

const check = async (deps: ClaimDeps, ref: string): Outcome<CheckFailure, Claimability> => {
  const claim = await deps.claims.find(ref)
  if (claim === undefined) return left(missing())
  if (claim.claimedAt !== undefined) return left(taken())
  if (claim.isClaimable) return right({ claimRef: ref, isClaimable: true })
  if ((await deps.rules.isKnownClaimable?.(claim)) === true) {
    await deps.claims.setClaimable(ref)
    return right({ claimRef: ref, isClaimable: true })
  }
  const early = claim.nextCheckAt.getTime() - deps.clock.now().getTime()
  if (early > 0) return left(tooSoon(early / 1000))
  const asked = await ask(deps, claim)
  return isLeft(asked) ? asked : right({ claimRef: ref, isClaimable: asked.right })
}

/** Returns whether a claim may be taken. Anyone who knows its id may ask. */
export const makeCheckClaim =
  (deps: ClaimDeps & { readonly allowance: ClaimAllowance }) =>
  async (call: Call, ref: string): Outcome<CheckFailure, Claimability> => {
    const wait = await deps.allowance.take(call.sourceIp)
    if (wait !== undefined)
      return left(ClaimCheckTooSoon('This address asks too often; wait and try again.', { retryAfterSeconds: wait }))
    return check(deps, ref)
  }

/** Returns the oldest claim that may be taken; an empty reference if there is none. */
export const makeOldestClaimable =
  ({ claims }: Pick<ClaimDeps, 'claims'>) =>
  async (_call: SignedInCall<never>): Outcome<never, Claimability> => {
    const oldest = await claims.oldestClaimable()
    return right({ claimRef: oldest?.ref ?? '', isClaimable: oldest !== undefined })
  }

export interface TakeClaimInput {
  readonly ref: string
  /** The organization that takes over the subscription; undefined: none does. */
  readonly organization: string | undefined
}

export interface TakenClaim {
  readonly ref: string
  readonly at: Date
  readonly organization: { readonly id: OrgId; readonly name: string } | undefined
  /** The subscription of the claim; undefined if its installer is not bound. */
  readonly subscription: Pick<Subscription, 'ref' | 'marketplace' | 'contractIds'> | undefined
}

type TakeFailure = Failure<'ClaimMissing'> | Failure<'ClaimTaken'> | Failure<'ClaimantMissing'>

/**
 * Takes a claim, once, after the rules have allowed it: a claim that `makeOldestClaimable` does not return yet is not
 * taken. An organization that takes it gets the contracts of the subscription, unless they began for another account.
 */
export const makeTakeClaim = (
  deps: Pick<ClaimDeps, 'claims' | 'clock'> & {
    readonly memberships: Pick<MembershipStore, 'findAccount'>
    readonly unitOfWork: MarketplaceUnitOfWork
  },
) => {
  const organizationOf = async (name: string): Outcome<Failure<'ClaimantMissing'>, TakenClaim['organization']> => {
    const account = await deps.memberships.findAccount(name)
    return account?.kind === 'organization'
      ? right({ id: account.id as OrgId, name: account.name })
      : left(ClaimantMissing(`The organization ${name} does not exist.`))
  }
  return async (
    call: SignedInCall<TakenClaim>,
    { ref, organization: name }: TakeClaimInput,
  ): Outcome<TakeFailure, TakenClaim> => {
    const claim = await deps.claims.find(ref)
    if (claim === undefined) return left(missing())
    if (claim.claimedAt !== undefined) return left(taken())
    const organization = name === undefined ? right(undefined) : await organizationOf(name)
    if (isLeft(organization)) return organization
    return deps.unitOfWork.run<TakeFailure, TakenClaim>(call, async (stores) => {
      const locked = await stores.claims.lock(ref)
      if (locked === undefined) return left(missing())
      if (locked.claimedAt !== undefined) return left(taken())
      if (!locked.isClaimable)
        return left(ClaimTaken('The claim may not be taken yet: no question about it was answered with yes.'))
      const at = deps.clock.now()
      const orgId = organization.right?.id
      await stores.claims.take(ref, call.principal.userId, orgId, at)
      const installer = await stores.installers.findById(locked.installerId)
      const subscription =
        installer?.subscriptionId === undefined
          ? undefined
          : await stores.subscriptions.lockById(installer.subscriptionId)
      if (installer === undefined || subscription === undefined)
        return right({ ref, at, organization: organization.right, subscription: undefined })
      await stores.subscriptions.update(subscription.id, { claimedBy: call.principal.userId }, at)
      if (orgId !== undefined && subscription.accountId === undefined && !isEnded(subscription.state))
        await beginContracts(stores, subscription, { installer, accountId: orgId, at })
      const after = (await stores.subscriptions.lockById(subscription.id)) ?? subscription
      await stores.audit.record(subscriptionAudit(after, 'subscription.claimed'))
      const { state } = after
      const description = `Claimed by ${call.principal.login}.`
      await stores.subscriptions.record(after.id, { at, operation: 'claim', outcome: 'Succeeded', description, state })
      return right({ ref, at, organization: organization.right, subscription: after })
    })
  }
}

/** The default rules: a claim may be taken while the subscription of its installer is bound or running. */
export const makeClaimRules = ({
  installers,
  subscriptions,
}: {
  readonly installers: Pick<InstallerStore, 'findById'>
  readonly subscriptions: Pick<SubscriptionStore, 'findById'>
}): ClaimRules => {
  const isClaimable: ClaimRules['isClaimable'] = async ({ installerId }) => {
    const installer = await installers.findById(installerId)
    if (installer?.subscriptionId === undefined) return false
    const subscription = await subscriptions.findById(installer.subscriptionId)
    return subscription !== undefined && ['Bounded', 'Running'].includes(subscription.state)
  }
  return { isClaimable, isKnownClaimable: isClaimable }
}
