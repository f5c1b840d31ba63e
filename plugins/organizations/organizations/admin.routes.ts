import * as t from 'io-ts'
import type { OrgId } from '../../../core/kernel/ids.ts'
import {
  AccountNotEligible, MemberMissing, OrganizationCreationDenied, OrganizationFieldRefused, OrganizationHasOwner, OrganizationInUse,
  OrganizationMissing, OrganizationNameRefused,
} from '../../../core/organizations/failures.ts'
import { OrganizationNameTaken } from '../../../core/organizations/ports.ts'
import { siteAdmin } from '../../kit/access.ts'
import { answer, pathId, request, SafeInteger } from '../../kit/codecs.ts'
import { empty, json, list } from '../../kit/reply.ts'
import { body } from '../../kit/route.ts'
import { routesOf } from '../../kit/shared-route.ts'
import { CreateOrgOption, Organization, organizationExample, UserPath } from '../codecs.ts'

const route = routesOf({ tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' })

/** A row of the console's list of organizations. The instant is in Unix seconds. */
const ConsoleOrganization = answer(
  {
    ID: SafeInteger,
    Name: t.string,
    FullName: t.string,
    Email: t.string,
    Description: t.string,
    Website: t.string,
    Location: t.string,
    Visibility: t.string,
    OrgType: SafeInteger,
    CreatedUnix: SafeInteger,
  },
  'ConsoleOrganization',
)

export const adminListOrganizations = route({
  id: 'organizations.adminListOrganizations',
  method: 'GET',
  path: '/admin/orgs',
  summary: 'List all organizations, including private ones, by name',
  ok: list(Organization, organizationExample),
})

export const adminListOrganizationsOfUser = route({
  id: 'organizations.adminListOrganizationsOfUser',
  method: 'GET',
  path: '/admin/users/{username}/orgs',
  summary: 'List the organizations that a user belongs to',
  params: UserPath,
  ok: list(Organization, organizationExample),
  failures: [MemberMissing],
})

export const adminCreateOrganization = route({
  id: 'organizations.adminCreateOrganization',
  method: 'POST',
  path: '/admin/users/{username}/orgs',
  summary: 'Create an organization for a user',
  description: 'The user becomes the only member of Owners. The user need not be allowed to create organizations.',
  params: UserPath,
  body: body(CreateOrgOption, { username: 'analytical-engines', full_name: 'Analytical Engines Ltd', visibility: 'private' }),
  ok: json(201, Organization, organizationExample, 'Created'),
  failures: [MemberMissing, AccountNotEligible, OrganizationNameRefused, OrganizationNameTaken, OrganizationFieldRefused, OrganizationCreationDenied],
})

export const consoleListOrganizations = route({
  id: 'organizations.consoleListOrganizations',
  method: 'GET',
  path: '/accounts/admin/orgs',
  summary: 'List all organizations, as rows of a console',
  ok: list(ConsoleOrganization, {
    ID: 12, Name: 'analytical-engines', FullName: 'Analytical Engines Ltd', Email: 'office@analytical.example', Description: 'We compute by steam',
    Website: 'https://analytical.example', Location: 'London', Visibility: 'private', OrgType: 0, CreatedUnix: 1795248000,
  }),
})

export const consoleListOrphaned = route({
  id: 'organizations.consoleListOrphaned',
  method: 'GET',
  path: '/accounts/admin/orgs/orphaned',
  summary: 'List the organizations without an owner',
  ok: list(Organization, organizationExample),
})

export const consoleDeleteOrphaned = route({
  id: 'organizations.consoleDeleteOrphaned',
  method: 'DELETE',
  path: '/accounts/admin/orgs/orphaned/delete/{id}',
  summary: 'Delete an organization without an owner',
  description: 'Returns 409 if it has an owner, or while clusters or other objects belong to it (named in `errors`).',
  params: request({ id: pathId<OrgId>() }, 'OrphanedOrganizationPath'),
  ok: empty(200),
  failures: [OrganizationMissing, OrganizationHasOwner, OrganizationInUse],
})
