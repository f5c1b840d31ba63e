import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../../identity/ports.ts'
import type { User } from '../../identity/types.ts'
import type { EntryRefusal } from '../../kernel/access.ts'
import { entryRefusal } from '../../kernel/access.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId, TokenId, UserId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfOrganization, auditOfToken } from '../audit.ts'
import {
  BeyondOwnRights,
  LastOwner,
  MemberMissing,
  MembershipActionUnknown,
  OrganizationMissing,
  OrganizationTokenMissing,
} from '../failures.ts'
import type { FoundOrganization } from '../organizations/organizations.ts'
import { makeFindOrganization } from '../organizations/organizations.ts'
import type { MembershipStore, OrganizationStore, OrganizationStores } from '../ports.ts'
import type { MemberChangeDeps } from '../team-rules.ts'
import { withLockedOrganization } from '../team-rules.ts'
import type { MemberRights, Organization } from '../types.ts'
import type { UserRef, WhenAbsent } from '../member-rules.ts'
import { absentMember, findAccount, isShown, mayChange, mustHold, userIdOf } from '../member-rules.ts'

/**
 * Returns what a user holds in an organization. It is shown to the user, to members of the organization and to site
 * admins.
 */
export const makeGetMemberRights = (deps: {
  readonly organizations: OrganizationStore
  readonly memberships: MembershipStore
  readonly clock: Clock
}) => {
  const findOrganization = makeFindOrganization(deps)
  return async (
    call: SignedInCall,
    { login, orgName }: { readonly login: string; readonly orgName: string },
  ): Outcome<Failure<'OrganizationMissing' | 'MemberMissing'> | EntryRefusal, MemberRights> => {
    const found = await findOrganization(call, { name: orgName, formerNames: 'missing' })
    if (isLeft(found)) return found
    const { organization, viewer, isMember, barred } = found.right
    if (barred !== undefined) return left(barred)
    const account = await deps.memberships.findAccount(login)
    const userId = userIdOf(account)
    const isSelf = userId === viewer.userId
    if (!isSelf && !isMember && !viewer.isSiteAdmin) {
      return left(OrganizationMissing('You are not a member of this organization.'))
    }
    const held = await deps.memberships.rights(organization.id, userId)
    return held.isMember || isShown(call, account) ? right(held) : left(MemberMissing('The user does not exist.'))
  }
}

/**
 * Returns why the caller may not enter the organization, for a change that is also open to members who do not meet its
 * requirements.
 */
const entryRefusalIn = async (
  { memberships }: Pick<OrganizationStores, 'memberships'>,
  clock: Clock,
  { principal }: SignedInCall,
  id: OrgId,
): Promise<EntryRefusal | undefined> =>
  principal.isSiteAdmin
    ? undefined
    : entryRefusal(principal, (await memberships.find(id, principal.userId))?.entry, clock.now())

export interface SetMemberVisibilityInput {
  readonly orgId: OrgId
  readonly member: UserRef
  readonly isPublic: boolean
}

type SetMemberVisibilityFailure = Failure<'MemberMissing' | 'BeyondOwnRights' | 'OrganizationMissing'> | EntryRefusal

/** Shows a membership to everyone or hides it from outsiders. Each member may set their own; owners may set any. */
export const makeSetMemberVisibility =
  (deps: MemberChangeDeps) =>
  (
    call: SignedInCall,
    { orgId: id, member: ref, isPublic }: SetMemberVisibilityInput,
  ): Outcome<SetMemberVisibilityFailure, void> =>
    withLockedOrganization<SetMemberVisibilityFailure, void>(
      deps,
      call,
      id,
      async ({ stores, organization, rights }) => {
        const barred = await entryRefusalIn(stores, deps.clock, call, id)
        if (barred !== undefined) return left(barred)
        const userId = userIdOf(await findAccount(stores.memberships, ref))
        if (userId !== call.principal.userId && !rights.isOwner)
          return left(BeyondOwnRights('Only owners decide this for other members.'))
        const membership = await stores.memberships.find(id, userId)
        if (membership === undefined) return left(MemberMissing('The user is not a member of this organization.'))
        if (membership.isPublic === isPublic) return right(undefined)
        await stores.memberships.setPublic(id, userId, isPublic)
        const action = isPublic ? 'organization.member_published' : 'organization.member_concealed'
        await stores.audit.record(auditOfOrganization(organization, action, { user: userId }))
        return right(undefined)
      },
    )

type RemoveMemberFailure =
  | Failure<'MemberMissing' | 'BeyondOwnRights' | 'OrganizationMissing' | 'LastOwner'>
  | EntryRefusal

export interface RemoveMemberInput {
  readonly orgId: OrgId
  readonly member: UserRef
  readonly whenAbsent?: WhenAbsent
}

/**
 * Removes a member from the organization and all of its teams. A member may always leave, whatever the organization
 * requires; another member must be below the caller.
 */
export const makeRemoveMember =
  (deps: MemberChangeDeps) =>
  (
    call: SignedInCall,
    { orgId: id, member: ref, whenAbsent = 'refused' }: RemoveMemberInput,
  ): Outcome<RemoveMemberFailure, void> =>
    withLockedOrganization<RemoveMemberFailure, void>(deps, call, id, async ({ stores, organization, rights }) => {
      const account = await findAccount(stores.memberships, ref)
      const userId = userIdOf(account)
      const isSelf = userId === call.principal.userId
      if (!isSelf) {
        const barred = await entryRefusalIn(stores, deps.clock, call, id)
        if (barred !== undefined) return left(barred)
        const isAllowed = mustHold(rights, 'remove members')
        if (isLeft(isAllowed)) return isAllowed
      }
      const held = await stores.memberships.rights(id, userId)
      if (!held.isMember) return absentMember(call, account, whenAbsent)
      const below = isSelf ? right(undefined) : mayChange(rights, held.level)
      if (isLeft(below)) return below
      if (held.level === 'owner') {
        const owners = await stores.teams.findByPermission(id, 'owner')
        if (owners !== undefined && !(await stores.teams.staysLedWithout(owners.id, userId))) {
          return left(
            LastOwner('An organization must have at least one active owner. Make another member an owner first.'),
          )
        }
      }
      await stores.memberships.remove(id, userId)
      await stores.audit.record(
        auditOfOrganization(organization, 'organization.member_removed', { user: userId, login: account?.name ?? '' }),
      )
      return right(undefined)
    })

type ActOnMemberFailure =
  | Failure<'MembershipActionUnknown' | 'MemberMissing' | 'BeyondOwnRights' | 'OrganizationMissing' | 'LastOwner'>
  | EntryRefusal

export interface MemberAction {
  readonly orgId: OrgId
  readonly action: string
  readonly userId: number
}

/** The single-route form of showing and hiding a membership, removing a member and leaving. */
export const makeActOnMember =
  (deps: {
    readonly remove: ReturnType<typeof makeRemoveMember>
    readonly setVisibility: ReturnType<typeof makeSetMemberVisibility>
  }) =>
  async (call: SignedInCall, { orgId, action, userId }: MemberAction): Outcome<ActOnMemberFailure, void> => {
    const member = { id: userId }
    switch (action) {
      case 'public':
      case 'private':
        return deps.setVisibility(call, { orgId, member, isPublic: action === 'public' })
      case 'leave':
        return userId === call.principal.userId
          ? deps.remove(call, { orgId, member })
          : left(MembershipActionUnknown('Only the caller can leave: uid must be your own.'))
      case 'remove':
        return deps.remove(call, { orgId, member })
      default:
        return left(MembershipActionUnknown('The action is one of private, public, remove and leave.'))
    }
  }

/** Revokes any token that is restricted to the organization, regardless of its creator. */
export const makeRevokeOrganizationToken =
  (deps: { readonly unitOfWork: UnitOfWork<OrganizationStores> }) =>
  async (
    call: SignedInCall,
    { orgId, id }: { readonly orgId: OrgId; readonly id: TokenId },
  ): Outcome<Failure<'OrganizationTokenMissing'>, void> =>
    deps.unitOfWork.run<Failure<'OrganizationTokenMissing'>, void>(call, async ({ tokens, audit }) => {
      const found = await tokens.find(orgId, id)
      if (found === undefined || !(await tokens.remove(orgId, id))) {
        return left(OrganizationTokenMissing('The token does not exist in the organization.'))
      }
      await audit.record(
        auditOfToken({ id, name: found.name, orgId }, 'organization.token_revoked', { user: found.userId }),
      )
      return right(undefined)
    })

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
export const usersOf = async (users: Pick<UserStore, 'byIds'>, page: Page<UserId>): Promise<Page<User>> => ({
  ...page,
  items: await users.byIds(page.items),
})

/**
 * The same failure for a user who does not exist: a member can list the members, but not find out which accounts exist.
 */
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
export type MemberCheck =
  | { readonly kind: 'member' }
  | { readonly kind: 'outsider'; readonly organization: Organization }

/** Checks whether a user is a member, for members of the organization and site admins. */
export const makeCheckMember = (deps: Omit<MemberViewDeps, 'users'>) => {
  const find = makeFindOrganization(deps)
  return async (
    call: SignedInCall,
    { orgName, login }: CheckMemberInput,
  ): Outcome<SeeMembersFailure | Failure<'MemberMissing'>, MemberCheck> => {
    const found = await find(call, { name: orgName, formerNames: 'missing' })
    if (isLeft(found)) return found
    const { organization, viewer, isMember, barred } = found.right
    if (barred !== undefined) return left(barred)
    if (!isMember && !viewer.isSiteAdmin) return right({ kind: 'outsider', organization })
    const userId = userIdOf(await deps.memberships.findAccount(login))
    return (await deps.memberships.find(organization.id, userId)) === undefined
      ? notMember()
      : right({ kind: 'member' })
  }
}

/**
 * Finds an organization for its public members. Members whom a private organization refuses do not see its private
 * data.
 */
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
  return async (
    call: Call,
    { orgName, login }: CheckMemberInput,
  ): Outcome<SeeMembersFailure | Failure<'MemberMissing'>, void> => {
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
  async (
    _call: SignedInCall,
    { orgId, login }: { readonly orgId: OrgId; readonly login: string },
  ): Outcome<Failure<'MemberMissing'>, User> => {
    const userId = userIdOf(await deps.memberships.findAccount(login))
    const isMember = (await deps.memberships.find(orgId, userId)) !== undefined
    const user = isMember ? await deps.users.byId(userId) : undefined
    return user === undefined ? notMember() : right(user)
  }
