import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, UserId } from '../../../core/kernel/ids.ts'
import { unixSeconds } from '../../../core/kernel/clock.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { makeCreateOrganization, makeDeleteOrphanedOrganization } from '../../../core/organizations/organizations/organizations.ts'
import { AccountNotEligible, MemberMissing } from '../../../core/organizations/failures.ts'
import { asUser } from '../../../core/organizations/members/accounts.ts'
import type { Organization } from '../../../core/organizations/types.ts'
import { visibilities } from '../../../core/organizations/types.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import {
  adminCreateOrganization, adminListOrganizations, adminListOrganizationsOfUser, consoleDeleteOrphaned, consoleListOrganizations,
  consoleListOrphaned,
} from './admin.routes.ts'
import type { OrganizationGiven } from '../needs.ts'
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

const userRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const create = makeCreateOrganization(given)
  return [
    handle(adminListOrganizationsOfUser, async ({ call, params, page }) => {
      const id = asUser(await given.memberships.findAccount(params.username))
      if (isLeft(id)) return id
      const listed = await given.organizations.listOfUser(id.right, page)
      return right(mapPage(listed, (organization) => organizationWire(given, call, organization)))
    }),
    handleChange(
      adminCreateOrganization,
      (organization: Organization, { call }) => organizationWire(given, call, organization),
      async ({ call, params, body }) => {
        const account = await given.memberships.findAccount(params.username)
        if (account?.kind !== 'user') return left(MemberMissing('The user does not exist.'))
        if (!account.isActive) return left(AccountNotEligible('An inactive account cannot become an owner.'))
        return create(call, { name: body.username, ownerId: account.id as UserId, ...profileInput(body) })
      },
    ),
  ]
}

/** The routes by which a site admin reads and changes all organizations. */
export const organizationAdminRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const removeOrphaned = makeDeleteOrphanedOrganization(given)
  return [
    ...userRoutes(given),
    handle(adminListOrganizations, async ({ call, page }) =>
      right(mapPage(await given.organizations.list(visibilities, page), (organization) => organizationWire(given, call, organization))),
    ),
    handle(consoleListOrganizations, async ({ page }) => right(mapPage(await given.organizations.list(visibilities, page), consoleOrganization))),
    handle(consoleListOrphaned, async ({ call, page }) =>
      right(mapPage(await given.organizations.listOrphaned(page), (organization) => organizationWire(given, call, organization))),
    ),
    handle(consoleDeleteOrphaned, ({ call, params }) => removeOrphaned(call, params.id as OrgId)),
  ]
}
