import type { EgressTarget } from './egress-policy.ts'
import { makeEgressAllowance, makeUserUrlPolicy } from './egress-policy.ts'
import type { GuardedFetch } from './guarded-fetch.ts'
import { makeGuardedFetch } from './guarded-fetch.ts'
import type { ReadingBudgets } from './reading-budgets.ts'

/** What every part has at hand for addresses that users entered. */
interface UserFetchOptions {
  readonly settings: { readonly egressAllow: readonly EgressTarget[] }
  readonly resolver: { readonly lookup: Parameters<typeof makeUserUrlPolicy>[1] }
  readonly readings: ReadingBudgets
}

/** Returns a fetch of addresses that users entered. It reaches public ones, and those that the operator allows. */
export const makeUserFetch = ({ settings, resolver, readings }: UserFetchOptions): GuardedFetch =>
  makeGuardedFetch(makeUserUrlPolicy(makeEgressAllowance(settings.egressAllow), resolver.lookup), readings)
