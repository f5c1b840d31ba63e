import { SecondFactorDemanded, TokenLifeTooLong } from '../../core/kernel/access.ts'
import {
  MemberMissing,
  OrganizationChanged,
  OrganizationCreationDenied,
  OrganizationFieldRefused,
  OrganizationInUse,
  OrganizationMissing,
  OrganizationNameRefused,
} from '../../core/organizations/failures.ts'
import { OrganizationNameTaken } from '../../core/organizations/ports.ts'
import { anyone, read, requires, requiresWithin, signedIn, write } from '../kit/access.ts'
import { empty, json, list, orRedirect, versioned } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import {
  CreateOrgOption,
  EditOrgOption,
  Organization,
  organizationExample,
  organizationInPath,
  OrganizationPermissions,
  OrgPath,
  permissionsExample,
  RenameOrgOption,
  UserOrgPath,
  UserPath,
} from './codecs.ts'

const tag = 'Identity - Organizations & Teams'

export const listOrganizations = defineRoute({
  id: 'organizations.listOrganizations',
  method: 'GET',
  path: '/orgs',
  summary: 'List the organizations that anyone in the position of the caller may see',
  description: 'Public ones; limited ones as well for whoever is signed in; all of them for a site admin. By name.',
  tag,
  access: anyone,
  ok: list(Organization, organizationExample),
  failures: [],
})

export const createOrganization = defineRoute({
  id: 'organizations.createOrganization',
  method: 'POST',
  path: '/orgs',
  summary: 'Create an organization',
  description: 'It comes with the teams Owners, Editors and Viewers; the caller is the one member of Owners.',
  tag,
  access: signedIn,
  scope: write('organization'),
  body: body(CreateOrgOption, { username: 'analytical-engines', full_name: 'Analytical Engines Ltd', visibility: 'private' }),
  ok: json(201, Organization, organizationExample, 'Created'),
  failures: [OrganizationNameRefused, OrganizationNameTaken, OrganizationFieldRefused, OrganizationCreationDenied],
})

export const getOrganization = defineRoute({
  id: 'organizations.getOrganization',
  method: 'GET',
  path: '/orgs/{orgname}',
  summary: 'Show an organization',
  description: 'A former name answers 307 to the present one until somebody takes it.',
  tag,
  access: anyone,
  params: OrgPath,
  ok: orRedirect(versioned(200, Organization, organizationExample), 307),
  failures: [OrganizationMissing],
})

export const editOrganization = defineRoute({
  id: 'organizations.editOrganization',
  method: 'PATCH',
  path: '/orgs/{orgname}',
  summary: 'Change the profile of an organization',
  description: 'A field that is not sent stays as it is; empty text clears it.',
  tag,
  access: requires('can_edit', organizationInPath),
  scope: write('organization'),
  params: OrgPath,
  body: body(EditOrgOption, { description: 'We compute by steam', website: '' }),
  ok: versioned(200, Organization, organizationExample),
  failures: [OrganizationMissing, OrganizationFieldRefused, OrganizationChanged],
})

export const deleteOrganization = defineRoute({
  id: 'organizations.deleteOrganization',
  method: 'DELETE',
  path: '/orgs/{orgname}',
  summary: 'Delete an organization that owns nothing any more',
  description: 'While clusters or other things belong to it the answer is 409, with what they are in `errors`.',
  tag,
  access: requires('can_delete', organizationInPath),
  scope: write('organization'),
  params: OrgPath,
  ok: empty(204),
  failures: [OrganizationMissing, OrganizationInUse],
})

export const renameOrganization = defineRoute({
  id: 'organizations.renameOrganization',
  method: 'POST',
  path: '/orgs/{orgname}/rename',
  summary: 'Give an organization another name',
  tag,
  access: requires('can_rename', organizationInPath),
  scope: write('organization'),
  params: OrgPath,
  body: body(RenameOrgOption, { new_name: 'difference-engines' }),
  ok: empty(204),
  failures: [OrganizationMissing, OrganizationNameRefused, OrganizationNameTaken],
})

export const isOwner = defineRoute({
  id: 'organizations.isOwner',
  method: 'GET',
  path: '/orgs/{orgname}/is-owner',
  summary: 'Tell whether the caller is an owner: 200, or 403',
  tag,
  access: requiresWithin('owner', organizationInPath),
  scope: read('organization'),
  params: OrgPath,
  ok: empty(200, 'The caller is an owner'),
  failures: [],
})

export const listOwnOrganizations = defineRoute({
  id: 'organizations.listOwnOrganizations',
  method: 'GET',
  path: '/user/orgs',
  summary: "List the caller's organizations",
  tag,
  access: signedIn,
  servesConfined: true,
  scope: read('organization'),
  ok: list(Organization, organizationExample),
  failures: [],
})

export const listOrganizationsInSettings = defineRoute({
  id: 'organizations.listOrganizationsInSettings',
  method: 'GET',
  path: '/user/settings/organizations',
  summary: "List the caller's organizations, as `/user/orgs` does",
  tag: 'Identity - Users & Settings',
  access: signedIn,
  servesConfined: true,
  scope: read('organization'),
  ok: list(Organization, organizationExample),
  failures: [],
})

export const listOrganizationsOfUser = defineRoute({
  id: 'organizations.listOrganizationsOfUser',
  method: 'GET',
  path: '/users/{username}/orgs',
  summary: "List a user's organizations as far as the caller may know of them",
  tag,
  access: signedIn,
  servesConfined: true,
  scope: read('organization'),
  params: UserPath,
  ok: list(Organization, organizationExample),
  failures: [MemberMissing],
})

export const getPermissionsOfUser = defineRoute({
  id: 'organizations.getPermissionsOfUser',
  method: 'GET',
  path: '/users/{username}/orgs/{org}/permissions',
  summary: 'Tell what a user may do in an organization',
  description: 'For the user, the members of the organization and site admins.',
  tag,
  access: signedIn,
  servesConfined: true,
  scope: read('organization'),
  params: UserOrgPath,
  ok: json(200, OrganizationPermissions, permissionsExample),
  failures: [MemberMissing, OrganizationMissing, SecondFactorDemanded, TokenLifeTooLong],
})
