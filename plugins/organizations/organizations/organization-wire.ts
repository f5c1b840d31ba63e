import { viewerOf } from '../../../core/organizations/organizations/visibility.ts'
import type { Organization, TeamInOrganization } from '../../../core/organizations/types.ts'
import type { ProfileInput } from '../../../core/organizations/organizations/profile.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import { avatarUrl, placeOf } from '../../identity/accounts/user-wire.ts'
import type { OrganizationBody, TeamBody } from '../codecs.ts'
import type { OrganizationGiven } from '../needs.ts'
import { definedFields } from '../../../core/kernel/fields.ts'

/** The settings that the URLs of pictures depend on. */
type Place = Pick<OrganizationGiven, 'identitySettings'>

/** Returns an organization. The contact address is shown only to signed-in callers. */
export const organizationWire = (place: Place, call: Call, organization: Organization): OrganizationBody => ({
  id: organization.id,
  name: organization.name,
  username: organization.name,
  full_name: organization.fullName,
  email: viewerOf(call).userId === undefined ? '' : organization.email,
  avatar_url: avatarUrl(placeOf(place.identitySettings, call), { name: organization.name, digest: organization.avatarDigest }),
  description: organization.description,
  website: organization.website,
  location: organization.location,
  fleetManagementClusterEndPoint: organization.fleetEndpoint,
  visibility: organization.visibility,
  orgType: organization.orgType,
  repo_admin_change_team_access: false,
})

export const teamWire = (place: Place, call: Call, { team, organization }: TeamInOrganization): TeamBody => ({
  id: team.id,
  name: team.name,
  description: team.description,
  organization: organizationWire(place, call, organization),
  permission: team.permission,
  units: [],
  units_map: {},
  includes_all_repositories: false,
  can_create_org_repo: false,
  type: team.type,
  role_ids: team.roleIds,
})

interface ProfileBody {
  readonly full_name: string | undefined
  readonly email: string | undefined
  readonly description: string | undefined
  readonly website: string | undefined
  readonly location: string | undefined
  readonly visibility: '' | 'public' | 'limited' | 'private' | undefined
  readonly orgType: string | number | undefined
  readonly fleetManagementClusterEndPoint: string | undefined
}

/** Distinguishes the fields that were sent from those that were not. */
export const profileInput = (body: ProfileBody): ProfileInput => ({
  ...definedFields({ fullName: body.full_name, email: body.email, description: body.description, website: body.website, location: body.location, visibility: body.visibility, orgType: body.orgType, fleetEndpoint: body.fleetManagementClusterEndPoint }),
})
