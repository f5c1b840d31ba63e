import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Call, SignedInCall } from '../kernel/principal.ts'
import { MemberMissing } from './failures.ts'
import { isShown, userIdOf } from './find-user.ts'
import type { MembershipStore, OrganizationStore } from './ports.ts'
import type { Organization } from './types.ts'
import { viewerOf, visibleWithoutMembership } from './viewer.ts'

type Stores = { readonly organizations: OrganizationStore; readonly memberships: MembershipStore }

const none: Page<Organization> = { items: [], total: 0 }

/** The one organization that a token is confined to, if its user is a member of it. */
const confined = async (stores: Stores, onlyOrgId: OrgId, userId: UserId): Promise<Page<Organization>> => {
  if ((await stores.memberships.find(onlyOrgId, userId)) === undefined) return none
  const organization = await stores.organizations.findById(onlyOrgId)
  return organization === undefined ? none : { items: [organization], total: 1 }
}

/** Organizations that the caller may see without being a member. */
export const makeListOrganizations =
  (deps: Stores) =>
  (call: Call, page: PageRequest): Promise<Page<Organization>> =>
    deps.organizations.list(visibleWithoutMembership(viewerOf(call)), page)

/** The caller's own organizations; only the public ones for a token that is limited to public objects. */
export const makeListOwnOrganizations =
  (deps: Stores) =>
  async (call: SignedInCall, page: PageRequest): Promise<Page<Organization>> => {
    const { userId, onlyOrgId, scopes } = call.principal
    if (onlyOrgId !== undefined) return page.page > 1 ? { items: [], total: 1 } : confined(deps, onlyOrgId, userId)
    return scopes.publicOnly
      ? deps.organizations.listOfUserSeenBy(userId, undefined, ['public'], page)
      : deps.organizations.listOfUser(userId, page)
  }

/**
 * Another user's organizations, as far as the caller may know of them. Of a user whom the caller does not see, those that
 * they share; without any, the user is not there.
 */
export const makeListOrganizationsOfUser =
  (deps: Stores) =>
  async (call: SignedInCall, login: string, page: PageRequest): Outcome<Failure<'MemberMissing'>, Page<Organization>> => {
    const account = await deps.memberships.findAccount(login)
    const userId = userIdOf(account)
    const viewer = viewerOf(call)
    const isUnlimited = !viewer.publicOnly && viewer.onlyOrgId === undefined
    if (isUnlimited && (viewer.isSiteAdmin || viewer.userId === userId)) {
      return right(await deps.organizations.listOfUser(userId, page))
    }
    const asMember = isUnlimited ? viewer.userId : undefined
    const isSeen = isShown(call, account)
    const listed = await deps.organizations.listOfUserSeenBy(userId, asMember, isSeen ? visibleWithoutMembership(viewer) : [], page)
    return isSeen || listed.total > 0 ? right(listed) : left(MemberMissing(`There is no user "${login}".`))
  }
