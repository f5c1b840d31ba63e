import * as t from 'io-ts'
import { PasskeyDemanded, SecondFactorDemanded, TokenLifeTooLong } from '../../../core/kernel/access.ts'
import type { OrgId } from '../../../core/kernel/ids.ts'
import { PictureRefused } from '../../../core/kernel/picture.ts'
import {
  AccountNotEligible,
  MemberMissing,
  OrganizationChanged,
  OrganizationCreationDenied,
  OrganizationFieldRefused,
  OrganizationHasOwner,
  OrganizationInUse,
  OrganizationMissing,
  OrganizationNameRefused,
  PolicyChanged,
  PolicyRefused,
} from '../../../core/organizations/failures.ts'
import { OrganizationNameTaken } from '../../../core/organizations/ports.ts'
import { anyone, path, requires, requiresWithin, signedIn, siteAdmin } from '../../kit/access.ts'
import {
  answer,
  Base64Bytes,
  described,
  FreeObjectCodec,
  freeText,
  listOf,
  optional,
  OrgPathName,
  pathId,
  request,
  SafeInteger,
} from '../../kit/codecs.ts'
import { body, pictureBodyBytes, pictureExample, pictureUrlExample, routesOf } from '../../kit/route.ts'
import { empty, json, list, orNoContent, orRedirect, packed, paged, versioned } from '../../kit/reply.ts'
import {
  CreateOrgOption,
  EditOrgOption,
  EditPoliciesOption,
  Organization,
  organizationExample,
  organizationInPath,
  OrganizationPermissions,
  OrgPath,
  OrgPolicies,
  permissionsExample,
  policiesExample,
  RenameOrgOption,
  UserOrgPath,
  UserPath,
} from '../codecs.ts'

const tag = 'Identity - Organizations & Teams'
const publicRoute = routesOf({ tag, access: anyone })
const common = { tag, scopeCategory: 'organization' } as const
const route = routesOf(common)
const organizationRoute = routesOf({ ...common, params: OrgPath, failures: [OrganizationMissing] })
const callerRoute = routesOf({ ...common, access: signedIn, servesConfined: true })

export const listOrganizations = publicRoute({
  id: 'organizations.listOrganizations',
  method: 'GET',
  path: '/orgs',
  summary: 'List the organizations that the caller may see without being a member',
  description:
    'By name. Lists public organizations, also limited ones if the caller is signed in, and all of them ' +
    'for a site admin.',
  ok: packed(paged(list(Organization, organizationExample))),
})

export const createOrganization = route({
  id: 'organizations.createOrganization',
  method: 'POST',
  path: '/orgs',
  summary: 'Create an organization',
  description: 'The organization has the teams Owners, Editors and Viewers; the caller is the only member of Owners.',
  access: signedIn,
  body: body(CreateOrgOption, {
    username: 'analytical-engines',
    full_name: 'Analytical Engines Ltd',
    visibility: 'private',
  }),
  ok: json(201, Organization, organizationExample, 'Created'),
  failures: [OrganizationNameRefused, OrganizationNameTaken, OrganizationFieldRefused, OrganizationCreationDenied],
})

export const getOrganization = publicRoute({
  id: 'organizations.getOrganization',
  method: 'GET',
  path: '/orgs/{orgname}',
  summary: 'Get an organization',
  description: 'Returns 307 to the present name for a former name that no other account uses.',
  params: OrgPath,
  ok: orRedirect(versioned(200, Organization, organizationExample), 307),
  failures: [OrganizationMissing],
})

export const listRepositoriesOfOrganization = publicRoute({
  id: 'organizations.listRepositories',
  method: 'GET',
  path: '/orgs/{orgname}/repos',
  summary: 'List the repositories of an organization: there are none',
  description:
    'This service does not store repositories. Some clients request them with the organization, and treat ' +
    'an error as a missing organization.',
  params: OrgPath,
  ok: json(200, listOf(FreeObjectCodec, 0), [], 'Always an empty list'),
  failures: [OrganizationMissing],
})

export const editOrganization = organizationRoute({
  id: 'organizations.editOrganization',
  method: 'PATCH',
  path: '/orgs/{orgname}',
  summary: 'Update the profile of an organization',
  description:
    'Omitted fields do not change; an empty string clears a field, but does not change `email` and `visibility`.',
  access: requires('can_edit', organizationInPath),
  body: body(EditOrgOption, { description: 'We compute by steam', website: '' }),
  ok: versioned(200, Organization, organizationExample),
  failures: [OrganizationFieldRefused, OrganizationChanged],
})

export const deleteOrganization = organizationRoute({
  id: 'organizations.deleteOrganization',
  method: 'DELETE',
  path: '/orgs/{orgname}',
  summary: 'Delete an empty organization',
  description: 'Returns 409 while clusters or other objects belong to it, and names them in `errors`.',
  access: requires('can_delete', organizationInPath),
  ok: empty(204),
  failures: [OrganizationInUse],
})

export const renameOrganization = organizationRoute({
  id: 'organizations.renameOrganization',
  method: 'POST',
  path: '/orgs/{orgname}/rename',
  summary: 'Rename an organization',
  description: 'The old name redirects to the organization until another account uses it. Access tokens stay valid.',
  access: requires('can_rename', organizationInPath),
  body: body(RenameOrgOption, { new_name: 'difference-engines' }),
  ok: empty(204),
  failures: [OrganizationNameRefused, OrganizationNameTaken],
})

export const isOwner = route({
  id: 'organizations.isOwner',
  method: 'GET',
  path: '/orgs/{orgname}/is-owner',
  summary: 'Check whether the caller is an owner: 200, or 403',
  description: 'The status is the answer.',
  access: requiresWithin('owner', organizationInPath),
  params: OrgPath,
  ok: empty(200, 'The caller is an owner'),
})

export const listOwnOrganizations = callerRoute({
  id: 'organizations.listOwnOrganizations',
  method: 'GET',
  path: '/user/orgs',
  summary: "List the caller's organizations",
  description: 'Includes private organizations of which the caller is a member.',
  ok: packed(list(Organization, organizationExample)),
})

export const listOrganizationsInSettings = callerRoute({
  id: 'organizations.listOrganizationsInSettings',
  method: 'GET',
  path: '/user/settings/organizations',
  summary: "List the caller's organizations, like `/user/orgs`",
  description: 'Includes private organizations of which the caller is a member.',
  tag: 'Identity - Users & Settings',
  ok: packed(list(Organization, organizationExample)),
})

export const listOrganizationsOfUser = callerRoute({
  id: 'organizations.listOrganizationsOfUser',
  method: 'GET',
  path: '/users/{username}/orgs',
  summary: 'List the organizations of a user that the caller may see',
  description: 'The user and site admins see all of them.',
  params: UserPath,
  ok: packed(list(Organization, organizationExample)),
  failures: [MemberMissing],
})

export const getPermissionsOfUser = callerRoute({
  id: 'organizations.getPermissionsOfUser',
  method: 'GET',
  path: '/users/{username}/orgs/{org}/permissions',
  summary: 'Get the rights of a user in an organization',
  description: 'Available to the user, the members of the organization and site admins.',
  params: UserOrgPath,
  ok: json(200, OrganizationPermissions, permissionsExample),
  failures: [MemberMissing, OrganizationMissing, PasskeyDemanded, SecondFactorDemanded, TokenLifeTooLong],
})

const organization = { type: 'organization', name: path('orgname') } as const
const OrganizationPath = request({ orgname: OrgPathName }, 'OrganizationAvatarPath')

/** One of two keys: `image` as for the picture of a user, `avatar` as in a form. */
const OrganizationAvatarOption = request(
  {
    image: described(
      optional(Base64Bytes),
      'The picture in base64, bare or as a `data:` URL; the answer then has no body.',
    ),
    avatar: described(
      optional(Base64Bytes),
      'The picture: the bytes of a file in a form, or base64 in JSON; `image` takes precedence.',
    ),
    source: described(optional(freeText(32)), 'Accepted for older clients and ignored.'),
    gravatar: described(
      optional(freeText(255)),
      'Accepted for older clients and ignored: pictures of other services are not used.',
    ),
    federavatar: described(optional(t.unknown), 'Accepted for older clients and ignored, whatever its value.'),
  },
  'OrganizationAvatarOption',
)
const avatarRoute = routesOf({ ...common, params: OrganizationPath, failures: [OrganizationMissing] })
const AvatarAddress = answer(
  {
    avatar: described(t.string, 'The URL of the picture.'),
  },
  'OrganizationAvatar',
)

export const getOrganizationAvatar = avatarRoute({
  id: 'organizations.getAvatar',
  method: 'GET',
  path: '/orgs/{orgname}/avatar',
  summary: "Get the address of an organization's picture",
  description:
    'Returns the URL as a JSON string. Without an uploaded picture it is that of the picture that is generated ' +
    'from the name.',
  access: requires('member', organization),
  ok: json(200, t.string, pictureUrlExample),
})

export const setOrganizationAvatar = avatarRoute({
  id: 'organizations.setAvatar',
  method: 'POST',
  path: '/orgs/{orgname}/avatar',
  summary: 'Set the picture of an organization',
  description:
    'As JSON with the bytes in base64 in `image` (returns 204, as for a user) or in `avatar` (returns the ' +
    'address), or as multipart/form-data with the file `avatar`. PNG, JPEG, GIF or WebP. The picture is ' +
    're-encoded as a square PNG.',
  access: requires('can_edit', organization),
  body: body(OrganizationAvatarOption, { image: pictureExample }, { limitBytes: pictureBodyBytes, orForm: true }),
  ok: orNoContent(json(200, AvatarAddress, { avatar: pictureUrlExample })),
  failures: [PictureRefused],
})

export const deleteOrganizationAvatar = avatarRoute({
  id: 'organizations.deleteAvatar',
  method: 'DELETE',
  path: '/orgs/{orgname}/avatar',
  summary: 'Remove the picture of an organization',
  description: 'The picture that is generated from the name is shown instead.',
  access: requires('can_edit', organization),
  ok: empty(204),
})

export const discardOrganizationAvatar = avatarRoute({
  id: 'organizations.discardAvatar',
  method: 'POST',
  path: '/orgs/{orgname}/avatar/delete',
  summary: 'Remove the picture of an organization',
  description: 'The same as `DELETE /orgs/{orgname}/avatar`, for clients that send only GET and POST.',
  access: requires('can_edit', organization),
  ok: empty(200),
})

export const getPolicies = organizationRoute({
  id: 'organizations.getPolicies',
  method: 'GET',
  path: '/orgs/{orgname}/policies',
  summary: 'Get the entry requirements of an organization',
  description: 'From `two_factor_from` on, members without a second factor are refused.',
  access: requires('can_view_policies', organizationInPath),
  ok: versioned(200, OrgPolicies, policiesExample),
})

export const editPolicies = organizationRoute({
  id: 'organizations.editPolicies',
  method: 'PATCH',
  path: '/orgs/{orgname}/policies',
  summary: 'Update the entry requirements: a second factor, passkeys, and the life of access tokens',
  description:
    'Omitted fields do not change. After the grace period, members without a second factor are refused ' +
    'with the code `SecondFactorDemanded`; members are notified by mail at once and three days before. ' +
    'Tokens that live longer than `max_token_life_days` (0: any), including existing ones, are refused ' +
    'with the code `TokenLifeTooLong`. With `require_passkey`, members are refused from the next request on with the ' +
    'code `PasskeyDemanded` unless a passkey opened their session, and with a token unless they have a passkey. To ' +
    'require a second factor, the caller must have one; to require passkeys, the caller must have signed in with one.',
  access: requires('can_edit_policies', organizationInPath),
  body: body(EditPoliciesOption, { require_two_factor: true, two_factor_grace_days: 14, max_token_life_days: 90 }),
  ok: versioned(200, OrgPolicies, policiesExample),
  failures: [PolicyRefused, PolicyChanged],
})

const adminRoute = routesOf({ tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' })

/** A row of the console's list of organizations. The instant is in Unix seconds. */
const ConsoleOrganization = answer(
  {
    ID: described(SafeInteger, 'The id of the organization, from 1.'),
    Name: described(t.string, 'The name of the organization.'),
    FullName: described(t.string, 'The display name; empty if not set.'),
    Email: described(t.string, 'The contact address; empty if not set.'),
    Description: described(t.string, 'The text about the organization; empty if not set.'),
    Website: described(t.string, 'An http or https URL; empty if not set.'),
    Location: described(t.string, 'A place; empty if not set.'),
    Visibility: described(
      t.string,
      'Who may see the organization: `public` everyone, `limited` signed-in users, `private` members and site admins.',
    ),
    OrgType: described(SafeInteger, 'The kind of the organization as a number; 0 for an ordinary one.'),
    CreatedUnix: described(SafeInteger, 'The creation of the organization, in seconds since the epoch.'),
  },
  'ConsoleOrganization',
)

export const adminListOrganizations = adminRoute({
  id: 'organizations.adminListOrganizations',
  method: 'GET',
  path: '/admin/orgs',
  summary: 'List all organizations, including private ones, by name',
  description: 'Returns the same fields as `/orgs`, for every visibility.',
  ok: packed(list(Organization, organizationExample)),
})

export const adminListOrganizationsOfUser = adminRoute({
  id: 'organizations.adminListOrganizationsOfUser',
  method: 'GET',
  path: '/admin/users/{username}/orgs',
  summary: 'List the organizations that a user belongs to',
  description: 'Includes limited and private organizations.',
  params: UserPath,
  ok: packed(list(Organization, organizationExample)),
  failures: [MemberMissing],
})

export const adminCreateOrganization = adminRoute({
  id: 'organizations.adminCreateOrganization',
  method: 'POST',
  path: '/admin/users/{username}/orgs',
  summary: 'Create an organization for a user',
  description: 'The user becomes the only member of Owners. The user need not be allowed to create organizations.',
  params: UserPath,
  body: body(CreateOrgOption, {
    username: 'analytical-engines',
    full_name: 'Analytical Engines Ltd',
    visibility: 'private',
  }),
  ok: json(201, Organization, organizationExample, 'Created'),
  failures: [
    MemberMissing,
    AccountNotEligible,
    OrganizationNameRefused,
    OrganizationNameTaken,
    OrganizationFieldRefused,
    OrganizationCreationDenied,
  ],
})

export const consoleListOrganizations = adminRoute({
  id: 'organizations.consoleListOrganizations',
  method: 'GET',
  path: '/accounts/admin/orgs',
  summary: 'List all organizations, as rows of a console',
  description: 'Includes limited and private organizations.',
  ok: packed(
    list(ConsoleOrganization, {
      ID: 12,
      Name: 'analytical-engines',
      FullName: 'Analytical Engines Ltd',
      Email: 'office@analytical.example',
      Description: 'We compute by steam',
      Website: 'https://analytical.example',
      Location: 'London',
      Visibility: 'private',
      OrgType: 0,
      CreatedUnix: 1795248000,
    }),
  ),
})

export const consoleListOrphaned = adminRoute({
  id: 'organizations.consoleListOrphaned',
  method: 'GET',
  path: '/accounts/admin/orgs/orphaned',
  summary: 'List the organizations without an owner',
  description: 'Organizations whose team Owners has no member. Such an organization can be deleted.',
  ok: packed(list(Organization, organizationExample)),
})

export const consoleDeleteOrphaned = adminRoute({
  id: 'organizations.consoleDeleteOrphaned',
  method: 'DELETE',
  path: '/accounts/admin/orgs/orphaned/delete/{id}',
  summary: 'Delete an organization without an owner',
  description: 'Returns 409 if it has an owner, or while clusters or other objects belong to it (named in `errors`).',
  params: request(
    {
      id: described(pathId<OrgId>('organization'), 'The id of the organization to delete, from 1.'),
    },
    'OrphanedOrganizationPath',
  ),
  ok: empty(200),
  failures: [OrganizationMissing, OrganizationHasOwner, OrganizationInUse],
})
