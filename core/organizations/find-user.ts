import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/brand.ts'
import type { Failure } from '../kernel/failure.ts'
import { AccountNotEligible, MemberMissing } from './failures.ts'
import type { MembershipStore } from './ports.ts'
import type { AccountSummary } from './types.ts'

/** Names a user as a request does. */
export type UserRef = { readonly name: string } | { readonly id: number }

export const findAccount = (memberships: MembershipStore, ref: UserRef): Promise<AccountSummary | undefined> =>
  'name' in ref ? memberships.findAccount(ref.name) : memberships.findAccountById(ref.id)

/** The user's id, whatever the user's state: for reading and removing. */
export const asUser = (account: AccountSummary | undefined): Either<Failure<'MemberMissing'>, UserId> =>
  account?.kind === 'user' ? right(account.id as UserId) : left(MemberMissing('There is no such user.'))

/** The user's id if the user may become a member: no organization, nobody who is switched off. */
export const asNewMember = (
  account: AccountSummary | undefined,
): Either<Failure<'MemberMissing' | 'AccountNotEligible'>, UserId> => {
  if (account === undefined) return left(MemberMissing('There is no such user.'))
  if (account.kind !== 'user') return left(AccountNotEligible('An organization cannot be a member.'))
  return account.isActive
    ? right(account.id as UserId)
    : left(AccountNotEligible('This account is not active, so it cannot become a member.'))
}
