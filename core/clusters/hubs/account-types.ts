import type { AccountId, UserId } from '../../kernel/ids.ts'
import type { ImpersonatedUser } from '../ports.ts'
import { distribution } from './vendor-types.ts'

/** Returns the name of a user on a hub. It has the id: a login can change. */
export const hubUserName = (userId: UserId): string => `${distribution.userPrefix}${userId}`

/** Returns the identity that a user has on the hubs of an account. Groups come from the user's Account there. */
export const hubIdentity = (userId: UserId, accountId: AccountId): ImpersonatedUser => ({
  login: hubUserName(userId),
  groups: [],
  extra: { [distribution.organizationKey]: String(accountId) },
})
