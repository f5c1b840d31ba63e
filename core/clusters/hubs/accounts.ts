import type { AccountId, UserId } from '../../kernel/ids.ts'
import type { ImpersonatedUser } from '../ports.ts'

/**
 * How a hub names the users of this platform. The cluster gateway and the controllers of accounts on the hub read these names, so
 * they are theirs, not of this platform.
 */
export const hubNames = {
  /** The name of a user's Account, and the user that requests through the hub have. */
  userPrefix: 'ace.user.',
  /** The key under which an Account and a request have the id of the organization. */
  organizationKey: 'ace.appscode.com/org-id',
} as const

/** Returns the name of a user on a hub. It has the id: a login can change. */
export const hubUserName = (userId: UserId): string => `${hubNames.userPrefix}${userId}`

/** Returns the identity that a user has on the hubs of an account. Groups come from the user's Account there. */
export const hubIdentity = (userId: UserId, accountId: AccountId): ImpersonatedUser => ({
  login: hubUserName(userId),
  groups: [],
  extra: { [hubNames.organizationKey]: String(accountId) },
})
