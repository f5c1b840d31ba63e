import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import { reaches } from '../../../core/kernel/access.ts'
import type { OrgId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { PictureRefused } from '../../../core/kernel/picture.ts'
import type { Call } from '../../../core/kernel/principal.ts'
import { OrganizationMissing } from '../../../core/organizations/failures.ts'
import { makeTellPermissions } from '../../../core/organizations/members/members.ts'
import { makeRemoveOrganizationAvatar, makeSetOrganizationAvatar } from '../../../core/organizations/organizations/avatar.ts'
import {
  makeCreateOrganization,
  makeDeleteOrganization,
  makeEditOrganization,
  makeFindOrganization,
  makeListOrganizations,
  makeListOrganizationsOfUser,
  makeListOwnOrganizations,
  makeRenameOrganization,
} from '../../../core/organizations/organizations/organizations.ts'
import { makeChangePolicy } from '../../../core/organizations/organizations/policies.ts'
import type { OrganizationPolicy } from '../../../core/organizations/organizations/ports.ts'
import type { Organization, MemberRights } from '../../../core/organizations/types.ts'
import { avatarUrl, placeOf } from '../../identity/accounts/user-wire.ts'
import { NoContent, Redirect } from '../../kit/reply.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import type { OrganizationGiven } from '../needs.ts'
import { organizationWire, profileInput } from './organization-wire.ts'
import {
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
  renameOrganization,
  setOrganizationAvatar,
} from './organizations.routes.ts'
import { definedFields } from '../../../core/kernel/fields.ts'

/** The id for an account name that belongs to a user, not an organization. No row has this id. */
const noOrganization = 0 as OrgId

/** Returns the organization on which a route was granted. */
export const orgOf = (grant: AccessGrant): OrgId => grant.orgId ?? noOrganization

const permissionsWire = ({ level }: MemberRights) => ({
  is_owner: level === 'owner',
  is_admin: reaches(level, 'admin'),
  can_write: reaches(level, 'write'),
  can_read: reaches(level, 'read'),
  can_create_repository: false,
})

const changeRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const create = makeCreateOrganization(given)
  const edit = makeEditOrganization(given)
  const rename = makeRenameOrganization(given)
  const remove = makeDeleteOrganization(given)
  return [
    handleChange(
      createOrganization,
      (organization: Organization, { call }) => organizationWire(given, call, organization),
      ({ call, body }) => create(call, { name: body.username, ...profileInput(body) }),
    ),
    handleChange(
      editOrganization,
      (organization: Organization, { call }) => ({ value: organizationWire(given, call, organization), version: organization.version }),
      ({ call, grant, body, expectedVersion }) => edit(call, orgOf(grant), profileInput(body), expectedVersion),
    ),
    handle(renameOrganization, ({ call, grant, body }) => rename(call, orgOf(grant), body.new_name)),
    handle(deleteOrganization, ({ call, grant }) => remove(call, orgOf(grant))),
  ]
}

const readRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const find = makeFindOrganization(given)
  const listAll = makeListOrganizations(given)
  const listOwn = makeListOwnOrganizations(given)
  const listOfUser = makeListOrganizationsOfUser(given)
  const tellPermissions = makeTellPermissions(given)
  return [
    handle(listOrganizations, async ({ call, page }) =>
      right(mapPage(await listAll(call, page), (organization) => organizationWire(given, call, organization))),
    ),
    handle(getOrganization, async ({ call, params }) => {
      const found = await find(call, params.orgname, 'found')
      if (isLeft(found)) return found
      const { organization, isFormerName } = found.right
      return right(
        isFormerName
          ? new Redirect(307, `/orgs/${organization.name}`)
          : { value: organizationWire(given, call, organization), version: organization.version },
      )
    }),
    handle(isOwner, () => Promise.resolve(right(undefined))),
    handle(listOwnOrganizations, async ({ call, page }) =>
      right(mapPage(await listOwn(call, page), (organization) => organizationWire(given, call, organization))),
    ),
    handle(listOrganizationsInSettings, async ({ call, page }) =>
      right(mapPage(await listOwn(call, page), (organization) => organizationWire(given, call, organization))),
    ),
    handle(listOrganizationsOfUser, async ({ call, params, page }) => {
      const listed = await listOfUser(call, params.username, page)
      return isLeft(listed) ? listed : right(mapPage(listed.right, (organization) => organizationWire(given, call, organization)))
    }),
    handle(getPermissionsOfUser, async ({ call, params }) => {
      const standing = await tellPermissions(call, params.username, params.org)
      return isLeft(standing) ? standing : right(permissionsWire(standing.right))
    }),
  ]
}

export const organizationRoutes = (given: OrganizationGiven): readonly BoundRoute[] => [
  ...readRoutes(given),
  ...changeRoutes(given),
]

export const avatarRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const set = makeSetOrganizationAvatar(given)
  const remove = makeRemoveOrganizationAvatar(given)
  const urlOf = (call: Call, { name, avatarDigest: digest }: Organization): string => avatarUrl(placeOf(given.identitySettings, call), { name, digest })
  return [
    handle(getOrganizationAvatar, async ({ call, grant }) => {
      const organization = await given.organizations.findById(orgOf(grant))
      return organization === undefined ? left(OrganizationMissing('The organization does not exist.')) : right(urlOf(call, organization))
    }),
    handleChange(
      setOrganizationAvatar,
      (changed: Organization, { call, body }) => (body.image === undefined ? { avatar: urlOf(call, changed) } : new NoContent()),
      async ({ call, grant, body }) => {
        const bytes = body.image ?? body.avatar
        return bytes === undefined ? left(PictureRefused('The picture must be sent as `image` or `avatar`.')) : set(call, orgOf(grant), bytes)
      },
    ),
    handle(deleteOrganizationAvatar, ({ call, grant }) => remove(call, orgOf(grant))),
    handle(discardOrganizationAvatar, ({ call, grant }) => remove(call, orgOf(grant))),
  ]
}

const policiesWire = ({ secondFactorFrom, graceDays, maxTokenLifeDays, version }: OrganizationPolicy) => ({
  value: {
    require_two_factor: secondFactorFrom !== undefined,
    two_factor_grace_days: graceDays,
    two_factor_from: secondFactorFrom?.toISOString(),
    max_token_life_days: maxTokenLifeDays,
  },
  version,
})

export const policyRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const change = makeChangePolicy(given)
  return [
    handle(getPolicies, async ({ grant }) => {
      const policy = await given.policies.find(orgOf(grant))
      return policy === undefined ? left(OrganizationMissing('The organization does not exist.')) : right(policiesWire(policy))
    }),
    handleChange(editPolicies, policiesWire, ({ call, grant, body, expectedVersion }) => {
      const input = {
        ...definedFields({ requiresSecondFactor: body.require_two_factor, graceDays: body.two_factor_grace_days, maxTokenLifeDays: body.max_token_life_days }),
      }
      return change(call, orgOf(grant), input, expectedVersion)
    }),
  ]
}
