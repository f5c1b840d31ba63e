import type * as t from 'io-ts'
import type { IdentitySettings } from '../../../core/identity/ports.ts'
import type { User } from '../../../core/identity/types.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import type { ProfileInput } from '../../../core/organizations/organization-rules.ts'
import { viewerOf } from '../../../core/organizations/organization-rules.ts'
import type { Organization, TeamInOrganization } from '../../../core/organizations/types.ts'
import { avatarUrl, placeOf, userWire, viewerOf as userViewerOf } from '../../identity/accounts/user-wire.ts'
import type { UserBody } from '../../identity/codecs.ts'
import { draftOf, shownOf } from '../../kit/fields.ts'
import type { EditOrgOption, OrganizationBody, TeamBody } from '../codecs.ts'
import { organizationFields } from './organization-fields.ts'

/** The settings that the URLs of pictures depend on. */
interface Place {
  readonly identitySettings: Pick<IdentitySettings, 'baseUrl'>
}

interface Asked {
  readonly call: Call
}

/** Returns the URL of an organization's picture. */
export const organizationAvatar =
  ({ identitySettings }: Place) =>
  ({ name, avatarDigest: digest }: Organization, { call }: Asked): string =>
    avatarUrl(placeOf(identitySettings, call), { name, digest })

/** Returns an organization. The contact address is shown only to signed-in callers. */
export const organizationWire = (place: Place) => {
  const pictureOf = organizationAvatar(place)
  return (organization: Organization, { call }: Asked): OrganizationBody => ({
    id: organization.id,
    name: organization.name,
    username: organization.name,
    ...shownOf(organizationFields, organization, 'owner'),
    email: viewerOf(call).userId === undefined ? '' : organization.email,
    avatar_url: pictureOf(organization, { call }),
    orgType: organization.orgType,
    repo_admin_change_team_access: false,
  })
}

export const teamWire = (place: Place) => {
  const toOrganization = organizationWire(place)
  return ({ team, organization }: TeamInOrganization, asked: Asked): TeamBody => ({
    id: team.id,
    name: team.name,
    description: team.description,
    organization: toOrganization(organization, asked),
    permission: team.permission === 'custom' ? 'read' : team.permission,
    is_custom: team.permission === 'custom',
    units: [],
    units_map: {},
    includes_all_repositories: false,
    can_create_org_repo: false,
    type: team.type,
    role_ids: team.roleIds,
  })
}

/** Returns a member as the caller may see it. */
export const memberWire =
  ({ identitySettings }: Place) =>
  (user: User, { call }: Asked): UserBody =>
    userWire(placeOf(identitySettings, call), userViewerOf(call.principal), user)

/** Distinguishes the fields that were sent from those that were not. */
export const profileInput = (body: t.TypeOf<typeof EditOrgOption>): ProfileInput => ({
  ...draftOf(organizationFields, body),
  ...definedFields({ orgType: body.orgType }),
})
