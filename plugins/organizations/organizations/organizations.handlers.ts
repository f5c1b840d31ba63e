import { right } from 'fp-ts/lib/Either.js'
import { ContentDigestPort } from '../../../core/identity/accounts/ports.ts'
import { IdentitySettingsPort } from '../../../core/identity/ports.ts'
import { reaches } from '../../../core/kernel/access.ts'
import { ClockPort, unixSeconds } from '../../../core/kernel/clock.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { PictureMakerPort } from '../../../core/kernel/picture.ts'
import { makeGetMemberRights } from '../../../core/organizations/members/members.ts'
import {
  makeCreateOrganization,
  makeCreateOrganizationForUser,
  makeDeleteOrganization,
  makeDeleteOrphanedOrganization,
  makeEditOrganization,
  makeFindOrganization,
  makeGetOrganization,
  makeListAllOrganizationsOfUser,
  makeListOrganizations,
  makeListOrganizationsOfUser,
  makeListOwnOrganizations,
  makeRenameOrganization,
} from '../../../core/organizations/organizations/organizations.ts'
import {
  makeRemoveOrganizationAvatar,
  makeSetOrganizationAvatar,
} from '../../../core/organizations/organizations/avatar.ts'
import { makeChangePolicy, makeGetPolicy } from '../../../core/organizations/organizations/policies.ts'
import type { OrganizationPolicy } from '../../../core/organizations/ports.ts'
import {
  PolicyStorePort,
  MembershipStorePort,
  OrganizationStorePort,
  OrganizationUnitOfWorkPort,
} from '../../../core/organizations/ports.ts'
import type { MemberRights, Organization } from '../../../core/organizations/types.ts'
import { visibilities } from '../../../core/organizations/types.ts'
import { orgOf } from '../../kit/access.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { NoContent, Redirect } from '../../kit/reply.ts'
import { organizationAvatar, organizationWire, profileInput } from './organization-wire.ts'
import {
  adminCreateOrganization,
  adminListOrganizations,
  adminListOrganizationsOfUser,
  consoleDeleteOrphaned,
  consoleListOrganizations,
  consoleListOrphaned,
  createOrganization,
  deleteOrganization,
  deleteOrganizationAvatar,
  discardOrganizationAvatar,
  editOrganization,
  editPolicies,
  getOrganization,
  getOrganizationAvatar,
  getPermissionsOfUser,
  getPolicies,
  isOwner,
  listOrganizations,
  listOrganizationsInSettings,
  listOrganizationsOfUser,
  listOwnOrganizations,
  listRepositoriesOfOrganization,
  renameOrganization,
  setOrganizationAvatar,
} from './organizations.routes.ts'

const permissionsWire = ({ level }: MemberRights) => ({
  is_owner: level === 'owner',
  is_admin: reaches(level, 'admin'),
  can_write: reaches(level, 'write'),
  can_read: reaches(level, 'read'),
  can_create_repository: false,
})

export const organizationGroup = defineGroup({
  needs: {
    organizations: OrganizationStorePort,
    memberships: MembershipStorePort,
    unitOfWork: OrganizationUnitOfWorkPort,
    identitySettings: IdentitySettingsPort,
    clock: ClockPort,
  },
  routes: (given) => {
    const toWire = organizationWire(given)
    return [
      handle(listOrganizations, makeListOrganizations(given), { input: ({ page }) => page, reply: toWire }),
      handle(getOrganization, makeFindOrganization(given), {
        input: ({ params }) => ({ name: params.orgname, formerNames: 'found' }),
        reply: ({ organization, isFormerName }, asked) =>
          isFormerName ? new Redirect(307, `/orgs/${organization.name}`) : toWire(organization, asked),
        version: ({ organization }) => organization.version,
      }),
      handle(listRepositoriesOfOrganization, makeFindOrganization(given), {
        input: ({ params }) => ({ name: params.orgname, formerNames: 'missing' }),
        reply: () => [],
      }),
      handle(isOwner, async () => right(undefined)),
      handle(listOwnOrganizations, makeListOwnOrganizations(given), { input: ({ page }) => page, reply: toWire }),
      handle(listOrganizationsInSettings, makeListOwnOrganizations(given), {
        input: ({ page }) => page,
        reply: toWire,
      }),
      handle(listOrganizationsOfUser, makeListOrganizationsOfUser(given), {
        input: ({ params, page }) => ({ login: params.username, page }),
        reply: toWire,
      }),
      handle(getPermissionsOfUser, makeGetMemberRights(given), {
        input: ({ params }) => ({ login: params.username, orgName: params.org }),
        reply: permissionsWire,
      }),
      handle(createOrganization, makeCreateOrganization(given), {
        input: ({ body }) => ({ name: body.username, ...profileInput(body) }),
        reply: toWire,
      }),
      handle(editOrganization, makeEditOrganization(given), {
        // Clients of this family send every text, and an empty address for one that is unchanged.
        input: ({ grant, body, expectedVersion }) => ({
          id: orgOf(grant),
          change: profileInput({ ...body, email: body.email === '' ? undefined : body.email }),
          expectedVersion,
        }),
        reply: toWire,
      }),
      handle(renameOrganization, makeRenameOrganization(given), {
        input: ({ grant, body }) => ({ id: orgOf(grant), name: body.new_name }),
      }),
      handle(deleteOrganization, makeDeleteOrganization(given), { input: ({ grant }) => orgOf(grant) }),
    ]
  },
})

export const organizationAvatarGroup = defineGroup({
  needs: {
    organizations: OrganizationStorePort,
    unitOfWork: OrganizationUnitOfWorkPort,
    pictures: PictureMakerPort,
    contentDigest: ContentDigestPort,
    identitySettings: IdentitySettingsPort,
    clock: ClockPort,
  },
  routes: (given) => {
    const urlOf = organizationAvatar(given)
    return [
      handle(getOrganizationAvatar, makeGetOrganization(given), { input: ({ grant }) => orgOf(grant), reply: urlOf }),
      handle(setOrganizationAvatar, makeSetOrganizationAvatar(given), {
        input: ({ grant, body }) => ({ id: orgOf(grant), picture: body.image ?? body.avatar }),
        reply: (organization, asked) =>
          asked.body.image === undefined ? { avatar: urlOf(organization, asked) } : new NoContent(),
      }),
      handle(deleteOrganizationAvatar, makeRemoveOrganizationAvatar(given), { input: ({ grant }) => orgOf(grant) }),
      handle(discardOrganizationAvatar, makeRemoveOrganizationAvatar(given), { input: ({ grant }) => orgOf(grant) }),
    ]
  },
})

const policyWire = ({ secondFactorFrom, graceDays, maxTokenLifeDays, requiresPasskey }: OrganizationPolicy) => ({
  require_two_factor: secondFactorFrom !== undefined,
  two_factor_grace_days: graceDays,
  two_factor_from: secondFactorFrom,
  max_token_life_days: maxTokenLifeDays,
  require_passkey: requiresPasskey,
})

export const policyGroup = defineGroup({
  needs: { policies: PolicyStorePort, unitOfWork: OrganizationUnitOfWorkPort, clock: ClockPort },
  routes: (given) => [
    handle(getPolicies, makeGetPolicy(given), { input: ({ grant }) => orgOf(grant), reply: policyWire }),
    handle(editPolicies, makeChangePolicy(given), {
      input: ({ grant, body, expectedVersion }) => ({
        orgId: orgOf(grant),
        change: definedFields({
          requiresSecondFactor: body.require_two_factor,
          graceDays: body.two_factor_grace_days,
          maxTokenLifeDays: body.max_token_life_days,
          requiresPasskey: body.require_passkey,
        }),
        expectedVersion,
      }),
      reply: policyWire,
    }),
  ],
})

const consoleOrganization = (organization: Organization) => ({
  ID: organization.id,
  Name: organization.name,
  FullName: organization.fullName,
  Email: organization.email,
  Description: organization.description,
  Website: organization.website,
  Location: organization.location,
  Visibility: organization.visibility,
  OrgType: organization.orgType,
  CreatedUnix: unixSeconds(organization.createdAt),
})

/** The routes by which a site admin reads and changes all organizations. */
export const organizationAdminGroup = defineGroup({
  needs: {
    organizations: OrganizationStorePort,
    memberships: MembershipStorePort,
    unitOfWork: OrganizationUnitOfWorkPort,
    identitySettings: IdentitySettingsPort,
    clock: ClockPort,
  },
  routes: (given) => {
    const { organizations } = given
    const toWire = organizationWire(given)
    return [
      handle(adminListOrganizationsOfUser, makeListAllOrganizationsOfUser(given), {
        input: ({ params, page }) => ({ login: params.username, page }),
        reply: toWire,
      }),
      handle(adminCreateOrganization, makeCreateOrganizationForUser(given), {
        input: ({ params, body }) => ({ owner: params.username, name: body.username, profile: profileInput(body) }),
        reply: toWire,
      }),
      handle(adminListOrganizations, async (_call, { page }) => right(await organizations.list(visibilities, page)), {
        reply: toWire,
      }),
      handle(consoleListOrganizations, async (_call, { page }) => right(await organizations.list(visibilities, page)), {
        reply: consoleOrganization,
      }),
      handle(consoleListOrphaned, async (_call, { page }) => right(await organizations.listOrphaned(page)), {
        reply: toWire,
      }),
      handle(consoleDeleteOrphaned, makeDeleteOrphanedOrganization(given), { input: ({ params }) => params.id }),
    ]
  },
})
