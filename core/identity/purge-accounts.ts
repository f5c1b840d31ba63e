import { isRight, left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { reactivationDays } from './deactivate-account.ts'
import type { IdentityChanges, IdentityStores } from './ports.ts'

/** An account whose address nobody confirmed goes after this long. */
const confirmationDays = 7

export interface PurgeAccountsDeps {
  readonly stores: Pick<IdentityStores, 'accountLife'>
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
}

/** How many accounts went, and how many stayed because something still depends on them. */
export interface Purged {
  readonly removed: number
  readonly kept: number
}

type State = 'unconfirmed' | 'deactivated'

const StillNeeded = defineFailure('StillNeeded', 'Conflict')
const accountsAtOnce = 100

/** Removes one account that is still in this state; takes it out of its organizations first. False when it must stay. */
const purgeOne = async (deps: PurgeAccountsDeps, call: Call, id: UserId, state: State): Promise<boolean> => {
  const purged = await deps.unitOfWork.run<Failure<'StillNeeded'>, void>(call, async (stores): Outcome<Failure<'StillNeeded'>, void> => {
    if ((await stores.accountLife.lockState(id)) !== state) return left(StillNeeded('The account is in use again.'))
    const user = await stores.users.byId(id)
    if (user === undefined) return left(StillNeeded('The account is gone.'))
    const organizations = await stores.holdings.leaveOrganizations(id)
    if ((await stores.holdings.of(id)).length > 0) return left(StillNeeded('Something depends on the account.'))
    await stores.users.remove(id)
    await stores.audit.record({
      action: 'user.purged',
      objectType: 'user',
      objectId: id,
      objectName: user.login,
      changes: { state, ...(organizations.length > 0 ? { organizations } : {}) },
    })
    return right(undefined)
  })
  return isRight(purged)
}

/**
 * Removes accounts for good: those that were deactivated, and those that nobody confirmed, so many days ago. One
 * transaction an account. What somebody must take care of first (an organization without another owner, clusters) keeps
 * its account, which is tried again the next time. An Idempotency-Key is not marked by any of the transactions: a run that
 * broke off is run again, and answers what the second run removed.
 */
export const makePurgeAccounts =
  (deps: PurgeAccountsDeps) =>
  async ({ keyed: _repeatable, ...call }: Call, days = { deactivated: reactivationDays, unconfirmed: confirmationDays }): Promise<Purged> => {
    const { accountLife } = deps.stores
    const before = (count: number): Date => laterByDays(deps.clock.now(), -count)
    const next: Readonly<Record<State, (after: UserId | 0) => Promise<readonly UserId[]>>> = {
      deactivated: (after) => accountLife.deactivatedBefore(before(days.deactivated), after, accountsAtOnce),
      unconfirmed: (after) => accountLife.unconfirmedBefore(before(days.unconfirmed), after, accountsAtOnce),
    }
    let removed = 0
    let kept = 0
    for (const state of ['deactivated', 'unconfirmed'] as const) {
      let ids = await next[state](0)
      while (ids.length > 0 && !call.signal.aborted) {
        for (const id of ids) {
          if (await purgeOne(deps, call, id, state)) removed += 1
          else kept += 1
        }
        ids = await next[state](ids.at(-1) ?? 0)
      }
    }
    return { removed, kept }
  }
