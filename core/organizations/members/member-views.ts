import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../../identity/ports.ts'
import type { User } from '../../identity/types.ts'
import type { EntryRefusal } from '../../kernel/access.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId, UserId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import { MemberMissing } from '../failures.ts'
import type { FoundOrganization } from '../organizations/organizations.ts'
import { makeFindOrganization } from '../organizations/organizations.ts'
import type { MembershipStore, OrganizationStore } from '../ports.ts'
import type { Organization } from '../types.ts'
import { userIdOf } from './accounts.ts'

export interface MemberViewDeps {
  readonly organizations: OrganizationStore
  readonly memberships: MembershipStore
  readonly users: Pick<UserStore, 'byId' | 'byIds'>
  readonly clock: Clock
}

export interface ListMembersInput {
  readonly orgName: string
  readonly page: PageRequest
}

export interface CheckMemberInput {
  readonly orgName: string
  readonly login: string
}

type SeeMembersFailure = Failure<'OrganizationMissing'> | EntryRefusal

/** Returns the page of users for a page of ids. */
export const usersOf = async (users: Pick<UserStore, 'byIds'>, page: Page<UserId>): Promise<Page<User>> => ({ ...page, items: await users.byIds(page.items) })

/** The same failure for a user who does not exist: a member can list the members, but not find out which accounts exist. */
const notMember = () => left(MemberMissing('The user is not a member of this organization.'))

/** Lists the members of an organization, by login. Outsiders see the public members only. */
export const makeListMembers = (deps: MemberViewDeps) => {
  const find = makeFindOrganization(deps)
  return async (call: SignedInCall, { orgName, page }: ListMembersInput): Outcome<SeeMembersFailure, Page<User>> => {
    const found = await find(call, { name: orgName, formerNames: 'missing' })
    if (isLeft(found)) return found
    const { organization, viewer, isMember, barred } = found.right
    if (barred !== undefined) return left(barred)
    const only = isMember || viewer.isSiteAdmin ? 'all' : 'public'
    return right(await usersOf(deps.users, await deps.memberships.list(organization.id, only, page)))
  }
}

/** An outsider may ask for public members only. */
export type MemberCheck = { readonly kind: 'member' } | { readonly kind: 'outsider'; readonly organization: Organization }

/** Checks whether a user is a member, for members of the organization and site admins. */
export const makeCheckMember = (deps: Omit<MemberViewDeps, 'users'>) => {
  const find = makeFindOrganization(deps)
  return async (call: SignedInCall, { orgName, login }: CheckMemberInput): Outcome<SeeMembersFailure | Failure<'MemberMissing'>, MemberCheck> => {
    const found = await find(call, { name: orgName, formerNames: 'missing' })
    if (isLeft(found)) return found
    const { organization, viewer, isMember, barred } = found.right
    if (barred !== undefined) return left(barred)
    if (!isMember && !viewer.isSiteAdmin) return right({ kind: 'outsider', organization })
    const userId = userIdOf(await deps.memberships.findAccount(login))
    return (await deps.memberships.find(organization.id, userId)) === undefined ? notMember() : right({ kind: 'member' })
  }
}

/** Finds an organization for its public members. Members whom a private organization refuses do not see its private data. */
const makeFindSeen = (deps: Omit<MemberViewDeps, 'users'>) => {
  const find = makeFindOrganization(deps)
  return async (call: Call, name: string): Outcome<SeeMembersFailure, FoundOrganization> => {
    const found = await find(call, { name, formerNames: 'missing' })
    if (isLeft(found)) return found
    const { organization, barred } = found.right
    return barred !== undefined && organization.visibility === 'private' ? left(barred) : found
  }
}

/** Lists the public members of an organization, by login. */
export const makeListPublicMembers = (deps: MemberViewDeps) => {
  const find = makeFindSeen(deps)
  return async (call: Call, { orgName, page }: ListMembersInput): Outcome<SeeMembersFailure, Page<User>> => {
    const found = await find(call, orgName)
    if (isLeft(found)) return found
    return right(await usersOf(deps.users, await deps.memberships.list(found.right.organization.id, 'public', page)))
  }
}

/** Checks whether a user is a public member. */
export const makeCheckPublicMember = (deps: Omit<MemberViewDeps, 'users'>) => {
  const find = makeFindSeen(deps)
  return async (call: Call, { orgName, login }: CheckMemberInput): Outcome<SeeMembersFailure | Failure<'MemberMissing'>, void> => {
    const found = await find(call, orgName)
    if (isLeft(found)) return found
    const userId = userIdOf(await deps.memberships.findAccount(login))
    const membership = await deps.memberships.find(found.right.organization.id, userId)
    return membership?.isPublic === true ? right(undefined) : notMember()
  }
}

/** Returns a member of an organization, for the other members. */
export const makeGetMember =
  (deps: Pick<MemberViewDeps, 'memberships' | 'users'>) =>
  async (_call: SignedInCall, { orgId, login }: { readonly orgId: OrgId; readonly login: string }): Outcome<Failure<'MemberMissing'>, User> => {
    const userId = userIdOf(await deps.memberships.findAccount(login))
    const isMember = (await deps.memberships.find(orgId, userId)) !== undefined
    const user = isMember ? await deps.users.byId(userId) : undefined
    return user === undefined ? notMember() : right(user)
  }
