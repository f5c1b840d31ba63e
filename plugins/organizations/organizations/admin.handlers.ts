import { right } from 'fp-ts/lib/Either.js'
import { IdentitySettingsToken } from '../../../core/identity/ports.ts'
import { ClockToken, unixSeconds } from '../../../core/kernel/clock.ts'
import { makeCreateOrganizationForUser, makeListAllOrganizationsOfUser } from '../../../core/organizations/organizations/administration.ts'
import { makeDeleteOrphanedOrganization } from '../../../core/organizations/organizations/organizations.ts'
import { MembershipStoreToken, OrganizationStoreToken, OrganizationUnitOfWorkToken } from '../../../core/organizations/ports.ts'
import type { Organization } from '../../../core/organizations/types.ts'
import { visibilities } from '../../../core/organizations/types.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import {
  adminCreateOrganization, adminListOrganizations, adminListOrganizationsOfUser, consoleDeleteOrphaned, consoleListOrganizations,
  consoleListOrphaned,
} from './admin.routes.ts'
import { organizationWire, profileInput } from './organization-wire.ts'

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
    organizations: OrganizationStoreToken,
    memberships: MembershipStoreToken,
    unitOfWork: OrganizationUnitOfWorkToken,
    identitySettings: IdentitySettingsToken,
    clock: ClockToken,
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
      handle(adminListOrganizations, async (_call, { page }) => right(await organizations.list(visibilities, page)), { reply: toWire }),
      handle(consoleListOrganizations, async (_call, { page }) => right(await organizations.list(visibilities, page)), {
        reply: consoleOrganization,
      }),
      handle(consoleListOrphaned, async (_call, { page }) => right(await organizations.listOrphaned(page)), { reply: toWire }),
      handle(consoleDeleteOrphaned, makeDeleteOrphanedOrganization(given), { input: ({ params }) => params.id }),
    ]
  },
})
