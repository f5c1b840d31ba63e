import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TokenId, UserId } from '../../../core/kernel/ids.ts'
import type { EntryRefusal } from '../../../core/kernel/access.ts'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import type { Page } from '../../../core/kernel/page.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import {
  makeActOnMember,
  makeRemoveMember,
  makeRevokeOrganizationToken,
  makeSetMemberVisibility,
} from '../../../core/organizations/members/members.ts'
import { MemberMissing } from '../../../core/organizations/failures.ts'
import type { FoundOrganization } from '../../../core/organizations/organizations/organizations.ts'
import { makeFindOrganization } from '../../../core/organizations/organizations/organizations.ts'
import { userIdOf } from '../../../core/organizations/members/accounts.ts'
import type { SettledMembership } from '../../../core/organizations/members/memberships.ts'
import { makeSetMembership } from '../../../core/organizations/members/memberships.ts'
import type { UserBody } from '../../identity/codecs.ts'
import { tokenInfoWire } from '../../identity/tokens/token-wire.ts'
import { placeOf, userWire, viewerOf } from '../../identity/accounts/user-wire.ts'
import { Redirect } from '../../kit/reply.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import {
  actOnMember,
  checkMember,
  checkPublicMember,
  concealMember,
  getMemberProfile,
  listMembers,
  listOrganizationTokens,
  listPublicMembers,
  publishMember,
  removeMember,
  revokeOrganizationToken,
  setMembership,
} from './members.routes.ts'
import type { OrganizationGiven } from '../needs.ts'
import { organizationWire } from '../organizations/organization-wire.ts'
import { orgOf } from '../organizations/organizations.handlers.ts'

/** Returns the page of users for a page of ids. */
const usersOf = async (given: OrganizationGiven, call: Call, page: Page<UserId>): Promise<Page<UserBody>> => {
  const users = await given.identity.users.byIds(page.items)
  const place = placeOf(given.identitySettings, call)
  return { ...page, items: users.map((user) => userWire(place, viewerOf(call.principal), user)) }
}

/** The same failure for a user who does not exist: a member can list the members, but not find out which accounts exist. */
const notMember = () => left(MemberMissing('The user is not a member of this organization.'))

const readRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const { memberships } = given
  const find = makeFindOrganization(given)
  /** Members whom a private organization refuses do not see its private data. */
  const findSeen = async (call: Call, name: string): Outcome<Failure<'OrganizationMissing'> | EntryRefusal, FoundOrganization> => {
    const found = await find(call, name, 'missing')
    if (isLeft(found)) return found
    const { organization, barred } = found.right
    return barred !== undefined && organization.visibility === 'private' ? left(barred) : found
  }
  return [
    handle(listMembers, async ({ call, params, page }) => {
      const found = await find(call, params.orgname, 'missing')
      if (isLeft(found)) return found
      const { organization, viewer, isMember, barred } = found.right
      if (barred !== undefined) return left(barred)
      const only = isMember || viewer.isSiteAdmin ? 'all' : 'public'
      return right(await usersOf(given, call, await memberships.list(organization.id, only, page)))
    }),
    handle(checkMember, async ({ call, params }) => {
      const found = await find(call, params.orgname, 'missing')
      if (isLeft(found)) return found
      const { organization, viewer, isMember, barred } = found.right
      if (barred !== undefined) return left(barred)
      if (!isMember && !viewer.isSiteAdmin) {
        return right(new Redirect(302, `/orgs/${organization.name}/public_members/${params.username}`))
      }
      const userId = userIdOf(await memberships.findAccount(params.username))
      return (await memberships.find(organization.id, userId)) === undefined ? notMember() : right(undefined)
    }),
    handle(listPublicMembers, async ({ call, params, page }) => {
      const found = await findSeen(call, params.orgname)
      if (isLeft(found)) return found
      return right(await usersOf(given, call, await memberships.list(found.right.organization.id, 'public', page)))
    }),
    handle(checkPublicMember, async ({ call, params }) => {
      const found = await findSeen(call, params.orgname)
      if (isLeft(found)) return found
      const userId = userIdOf(await memberships.findAccount(params.username))
      const membership = await memberships.find(found.right.organization.id, userId)
      return membership?.isPublic === true ? right(undefined) : notMember()
    }),
    handle(getMemberProfile, async ({ call, grant, params }) => {
      const userId = userIdOf(await memberships.findAccount(params.username))
      const isMember = (await memberships.find(orgOf(grant), userId)) !== undefined
      const user = isMember ? await given.identity.users.byId(userId) : undefined
      if (user === undefined) return notMember()
      const shown = userWire(placeOf(given.identitySettings, call), viewerOf(call.principal), user)
      const { full_name, email, website, location, language, description } = shown
      return right({ name: user.login, full_name, email, keep_email_private: user.hideEmail, website, location, language, description })
    }),
  ]
}

const changeRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const set = makeSetMembership({ ...given, users: given.identity.users })
  const remove = makeRemoveMember(given)
  const setVisibility = makeSetMemberVisibility(given)
  const act = makeActOnMember({ remove, setVisibility })
  return [
    handleChange(
      setMembership,
      ({ user, organization, role }: SettledMembership, { call }) => ({
        user: userWire(placeOf(given.identitySettings, call), viewerOf(call.principal), user),
        org: organizationWire(given, call, organization),
        role,
        state: 'active',
      }),
      ({ call, grant, params, body }) => set(call, orgOf(grant), params.username, body.role),
    ),
    handle(removeMember, ({ call, grant, params }) => remove(call, orgOf(grant), { name: params.username })),
    handle(actOnMember, ({ call, grant, params, query }) => act(call, orgOf(grant), params.action, query.uid)),
    handle(publishMember, ({ call, grant, params }) => setVisibility(call, orgOf(grant), { name: params.username }, true)),
    handle(concealMember, ({ call, grant, params }) => setVisibility(call, orgOf(grant), { name: params.username }, false)),
  ]
}

const tokenRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const revoke = makeRevokeOrganizationToken(given)
  return [
    handle(listOrganizationTokens, async ({ grant, page }) => {
      const now = given.clock.now()
      return right(mapPage(await given.tokens.list(orgOf(grant), page), (token) => tokenInfoWire(token, now)))
    }),
    handle(revokeOrganizationToken, ({ call, grant, params }) => revoke(call, orgOf(grant), params.id as TokenId)),
  ]
}

export const memberRoutes = (given: OrganizationGiven): readonly BoundRoute[] => [
  ...readRoutes(given),
  ...changeRoutes(given),
  ...tokenRoutes(given),
]
