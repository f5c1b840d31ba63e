import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { maySee } from '../../identity/types.ts'
import type { OrgId, UserId } from '../../kernel/ids.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { AccountNotEligible, MemberMissing } from '../failures.ts'
import type { MembershipStore } from '../ports.ts'
import type { AccountSummary } from '../types.ts'
import { viewerOf } from '../organizations/visibility.ts'

/** Names a user as a request does. */
export type UserRef = { readonly name: string } | { readonly id: number }

export const findAccount = (memberships: MembershipStore, ref: UserRef): Promise<AccountSummary | undefined> =>
  'name' in ref ? memberships.findAccount(ref.name) : memberships.findAccountById(ref.id)

/** An id that no user has. */
const noUser = 0 as UserId

/**
 * Returns the user's id, whatever the user's state, or an id that no user has. A question about a missing user thus
 * costs the same queries as one about a hidden user, and gets the same answer.
 */
export const userIdOf = (account: AccountSummary | undefined): UserId => (account?.kind === 'user' ? (account.id as UserId) : noUser)

/** Reports whether the caller may learn that the user exists, not counting organizations that they share. */
export const isShown = (call: SignedInCall, account: AccountSummary | undefined): boolean => {
  const id = userIdOf(account)
  if (account?.seenAs === undefined) return false
  const { userId, isSiteAdmin, publicOnly, onlyOrgId } = viewerOf(call)
  const viewer = publicOnly || onlyOrgId !== undefined ? { userId: undefined, isSiteAdmin: false } : { userId, isSiteAdmin }
  return call.principal.userId === id || maySee(viewer, { id, ...account.seenAs })
}

/** Returns the user's id, whatever the user's state, for callers who see all users. */
export const asUser = (account: AccountSummary | undefined): Either<Failure<'MemberMissing'>, UserId> =>
  account?.kind === 'user' ? right(account.id as UserId) : left(MemberMissing('The user does not exist.'))

/**
 * Finds the user who is to become a member. It must be an active user, not an organization. A private user whom the
 * caller may not see does not exist: otherwise an owner could read any profile by adding its user to an organization.
 */
export const findNewMember = async (
  memberships: MembershipStore,
  caller: SignedInCall['principal'],
  orgId: OrgId,
  ref: UserRef,
): Outcome<Failure<'MemberMissing' | 'AccountNotEligible'>, { readonly id: UserId; readonly name: string }> => {
  const account = await findAccount(memberships, ref)
  if (account === undefined) return left(MemberMissing('The user does not exist.'))
  if (account.kind !== 'user') return left(AccountNotEligible('An organization cannot be a member.'))
  const id = account.id as UserId
  const isSeen = account.seenAs?.visibility !== 'private' || caller.isSiteAdmin || caller.userId === id || (await memberships.find(orgId, id)) !== undefined
  if (!isSeen) return left(MemberMissing('The user does not exist.'))
  return account.isActive
    ? right({ id, name: account.name })
    : left(AccountNotEligible('This account is not active, so it cannot become a member.'))
}
