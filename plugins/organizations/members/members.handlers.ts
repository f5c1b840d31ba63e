import { right } from 'fp-ts/lib/Either.js'
import { IdentitySettingsPort, IdentityStoresPort } from '../../../core/identity/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { PermissionLevelsPort } from '../../../core/kernel/rights.ts'
import {
  makeCheckMember,
  makeCheckPublicMember,
  makeGetMember,
  makeListMembers,
  makeListPublicMembers,
  makeActOnMember,
  makeRemoveMember,
  makeRevokeOrganizationToken,
  makeSetMemberVisibility,
} from '../../../core/organizations/members/members.ts'
import { makeSetMembership } from '../../../core/organizations/members/memberships.ts'
import {
  MembershipStorePort,
  OrganizationStorePort,
  OrganizationTokenStorePort,
  OrganizationUnitOfWorkPort,
} from '../../../core/organizations/ports.ts'
import { tokenInfoWire } from '../../identity/tokens/codecs.ts'
import { orgOf } from '../../kit/access.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { Redirect } from '../../kit/reply.ts'
import { memberWire, organizationWire } from '../organizations/organization-wire.ts'
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

export const memberViewGroup = defineGroup({
  needs: {
    organizations: OrganizationStorePort,
    memberships: MembershipStorePort,
    identity: IdentityStoresPort,
    identitySettings: IdentitySettingsPort,
    clock: ClockPort,
  },
  routes: (given) => {
    const views = { ...given, users: given.identity.users }
    const toWire = memberWire(given)
    return [
      handle(listMembers, makeListMembers(views), {
        input: ({ params, page }) => ({ orgName: params.orgname, page }),
        reply: toWire,
      }),
      handle(checkMember, makeCheckMember(given), {
        input: ({ params }) => ({ orgName: params.orgname, login: params.username }),
        reply: (check, { params }) =>
          check.kind === 'outsider'
            ? new Redirect(302, `/orgs/${check.organization.name}/public_members/${params.username}`)
            : undefined,
      }),
      handle(listPublicMembers, makeListPublicMembers(views), {
        input: ({ params, page }) => ({ orgName: params.orgname, page }),
        reply: toWire,
      }),
      handle(checkPublicMember, makeCheckPublicMember(given), {
        input: ({ params }) => ({ orgName: params.orgname, login: params.username }),
      }),
      handle(getMemberProfile, makeGetMember(views), {
        input: ({ grant, params }) => ({ orgId: orgOf(grant), login: params.username }),
        reply: (user, asked) => {
          const { full_name, email, website, location, language, description } = toWire(user, asked)
          return {
            name: user.login,
            full_name,
            email,
            keep_email_private: user.hideEmail,
            website,
            location,
            language,
            description,
          }
        },
      }),
    ]
  },
})

export const memberGroup = defineGroup({
  needs: {
    unitOfWork: OrganizationUnitOfWorkPort,
    catalogue: PermissionLevelsPort,
    identity: IdentityStoresPort,
    identitySettings: IdentitySettingsPort,
    clock: ClockPort,
  },
  routes: (given) => {
    const toUser = memberWire(given)
    const toOrganization = organizationWire(given)
    const remove = makeRemoveMember(given)
    const setVisibility = makeSetMemberVisibility(given)
    return [
      handle(setMembership, makeSetMembership({ ...given, users: given.identity.users }), {
        input: ({ grant, params, body }) => ({ orgId: orgOf(grant), login: params.username, role: body.role }),
        reply: ({ user, organization, role }, asked) => ({
          user: toUser(user, asked),
          org: toOrganization(organization, asked),
          role,
          state: 'active',
        }),
      }),
      handle(removeMember, remove, {
        input: ({ grant, params }) => ({
          orgId: orgOf(grant),
          member: { name: params.username },
          // Clients of this interface remove again what they have removed.
          whenAbsent: 'done' as const,
        }),
      }),
      handle(actOnMember, makeActOnMember({ remove, setVisibility }), {
        input: ({ grant, params, query }) => ({ orgId: orgOf(grant), action: params.action, userId: query.uid }),
      }),
      handle(publishMember, setVisibility, {
        input: ({ grant, params }) => ({ orgId: orgOf(grant), member: { name: params.username }, isPublic: true }),
      }),
      handle(concealMember, setVisibility, {
        input: ({ grant, params }) => ({ orgId: orgOf(grant), member: { name: params.username }, isPublic: false }),
      }),
    ]
  },
})

export const organizationTokenGroup = defineGroup({
  needs: { tokens: OrganizationTokenStorePort, unitOfWork: OrganizationUnitOfWorkPort, clock: ClockPort },
  routes: (given) => [
    handle(
      listOrganizationTokens,
      async (_call, { grant, page }) => right(await given.tokens.list(orgOf(grant), page)),
      {
        reply: (token) => tokenInfoWire(token, given.clock.now()),
      },
    ),
    handle(revokeOrganizationToken, makeRevokeOrganizationToken(given), {
      input: ({ grant, params }) => ({ orgId: orgOf(grant), id: params.id }),
    }),
  ],
})
