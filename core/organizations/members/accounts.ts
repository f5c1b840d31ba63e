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

/** No user has this id. */
const noUser = 0 as UserId

/**
 * The user's id, whatever the user's state; an id that no user has for anything else. So a question about a missing user
 * costs the queries of one about a user whom the caller does not see, and has the same answer.
 */
export const userIdOf = (account: AccountSummary | undefined): UserId => (account?.kind === 'user' ? (account.id as UserId) : noUser)

/** Whether the caller may learn that the user exists, apart from organizations that they share. */
export const isShown = (call: SignedInCall, account: AccountSummary | undefined): boolean => {
  const id = userIdOf(account)
  if (account?.seenAs === undefined) return false
  const { userId, isSiteAdmin, publicOnly, onlyOrgId } = viewerOf(call)
  const viewer = publicOnly || onlyOrgId !== undefined ? { userId: undefined, isSiteAdmin: false } : { userId, isSiteAdmin }
  return call.principal.userId === id || maySee(viewer, { id, ...account.seenAs })
}

/** The user's id, whatever the user's state, for those who see all users. */
export const asUser = (account: AccountSummary | undefined): Either<Failure<'MemberMissing'>, UserId> =>
  account?.kind === 'user' ? right(account.id as UserId) : left(MemberMissing('There is no such user.'))

/**
 * Finds the user who is to become a member: no organization, nobody who is switched off. A private user whom the caller
 * does not see is not there: otherwise every owner of an organization could read anyone's profile by adding them to it.
 */
export const findNewMember = async (
  memberships: MembershipStore,
  caller: SignedInCall['principal'],
  orgId: OrgId,
  ref: UserRef,
): Outcome<Failure<'MemberMissing' | 'AccountNotEligible'>, { readonly id: UserId; readonly name: string }> => {
  const account = await findAccount(memberships, ref)
  if (account === undefined) return left(MemberMissing('There is no such user.'))
  if (account.kind !== 'user') return left(AccountNotEligible('An organization cannot be a member.'))
  const id = account.id as UserId
  const isSeen = account.seenAs?.visibility !== 'private' || caller.isSiteAdmin || caller.userId === id || (await memberships.find(orgId, id)) !== undefined
  if (!isSeen) return left(MemberMissing('There is no such user.'))
  return account.isActive
    ? right({ id, name: account.name })
    : left(AccountNotEligible('This account is not active, so it cannot become a member.'))
}
