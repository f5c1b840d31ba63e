import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import { NotAuthenticated } from '../identity/ports.ts'
import { maySee } from '../identity/types.ts'
import type { Level, PermissionRef } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { Principal, SignedInCall } from '../kernel/principal.ts'
import type { Rights } from '../kernel/rights.ts'
import { excessOf, isBelow } from '../kernel/rights.ts'
import { AccountNotEligible, BeyondOwnRights, MemberMissing } from './failures.ts'
import { viewerOf } from './organization-rules.ts'
import type { MembershipStore, OrganizationStores } from './ports.ts'
import type { AccountSummary, MembershipRole, TeamPermission } from './types.ts'

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
export const userIdOf = (account: AccountSummary | undefined): UserId =>
  account?.kind === 'user' ? (account.id as UserId) : noUser

/** Reports whether the caller may learn that the user exists, not counting organizations that they share. */
export const isShown = (call: SignedInCall, account: AccountSummary | undefined): boolean => {
  const id = userIdOf(account)
  if (account?.seenAs === undefined) return false
  const { userId, isSiteAdmin, publicOnly, onlyOrgId } = viewerOf(call)
  const viewer =
    publicOnly || onlyOrgId !== undefined ? { userId: undefined, isSiteAdmin: false } : { userId, isSiteAdmin }
  return call.principal.userId === id || maySee(viewer, { id, ...account.seenAs })
}

/** What the removal of a user who is no member is. */
export type WhenAbsent = 'done' | 'refused'

/** Returns the outcome of such a removal. It is refused where the answer would disclose that the account exists. */
export const absentMember = (
  call: SignedInCall,
  account: AccountSummary | undefined,
  whenAbsent: WhenAbsent,
): Either<Failure<'MemberMissing'>, void> =>
  whenAbsent === 'done' && isShown(call, account)
    ? right(undefined)
    : left(MemberMissing('The user is not a member, or does not exist.'))

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
  const isSeen =
    account.seenAs?.visibility !== 'private' ||
    caller.isSiteAdmin ||
    caller.userId === id ||
    (await memberships.find(orgId, id)) !== undefined
  if (!isSeen) return left(MemberMissing('The user does not exist.'))
  return account.isActive
    ? right({ id, name: account.name })
    : left(AccountNotEligible('This account is not active, so it cannot become a member.'))
}

/** Returns the level of a team's permission. A custom team has no level of its own. */
export const levelOfTeam = (permission: TeamPermission): Level => (permission === 'custom' ? 'none' : permission)

/** Checks that the caller gives no more than the caller holds: a level, and permissions of roles. */
export const mayGive = (
  rights: Rights,
  level: Level,
  permissions: Iterable<PermissionRef>,
): Either<Failure<'BeyondOwnRights'>, void> => {
  const excess = excessOf(rights, level, permissions)
  if (excess.level !== undefined) {
    return left(BeyondOwnRights(`Your own level is "${rights.level}", so you cannot give the level "${excess.level}".`))
  }
  const [first] = excess.permissions
  return first === undefined
    ? right(undefined)
    : left(BeyondOwnRights(`You do not hold "${first.action}" of ${first.namespace}, so you cannot give it.`))
}

/**
 * Checks that the caller may change a team, or take rights from a member. At the caller's own level or above, only
 * owners may.
 */
export const mayChange = (rights: Rights, level: Level): Either<Failure<'BeyondOwnRights'>, void> =>
  isBelow(rights, level)
    ? right(undefined)
    : left(BeyondOwnRights(`The level "${level}" is not below yours, so only owners may change it.`))

/** Fails if the credential of the request has ended while the request ran: what the change makes would outlive it. */
export const mustBeProven = async (
  { callers }: Pick<OrganizationStores, 'callers'>,
  principal: Principal,
): Outcome<Failure<'NotAuthenticated'>, void> =>
  (await callers.isStillProven(principal))
    ? right(undefined)
    : left(NotAuthenticated('The credential was replaced or revoked during the request. Send the current one.'))

/** Checks the permission itself, for commands that several routes use. */
export const mustHold = (rights: Rights, action: string): Either<Failure<'BeyondOwnRights'>, void> =>
  rights.holds({ namespace: 'org_mgmt', action })
    ? right(undefined)
    : left(BeyondOwnRights(`You may not "${action}" here.`))

/** Returns the level of the team that a role puts a user into. */
export const levelOfRole = (role: MembershipRole): Level => (role === 'member' ? 'read' : role)
