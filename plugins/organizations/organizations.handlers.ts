import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../core/kernel/access.ts'
import { reaches } from '../../core/kernel/access.ts'
import type { OrgId } from '../../core/kernel/ids.ts'
import { mapPage } from '../../core/kernel/page.ts'
import { makeCreateOrganization } from '../../core/organizations/create-organization.ts'
import { makeDeleteOrganization } from '../../core/organizations/delete-organization.ts'
import { makeEditOrganization } from '../../core/organizations/edit-organization.ts'
import { makeFindOrganization } from '../../core/organizations/find-organization.ts'
import {
  makeListOrganizations,
  makeListOrganizationsOfUser,
  makeListOwnOrganizations,
} from '../../core/organizations/list-organizations.ts'
import { makeRenameOrganization } from '../../core/organizations/rename-organization.ts'
import { makeTellPermissions } from '../../core/organizations/tell-permissions.ts'
import type { Organization, Standing } from '../../core/organizations/types.ts'
import { Redirect } from '../kit/reply.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import type { OrganizationGiven } from './needs.ts'
import { organizationWire, profileInput } from './organization-wire.ts'
import {
  createOrganization,
  deleteOrganization,
  editOrganization,
  getOrganization,
  getPermissionsOfUser,
  isOwner,
  listOrganizations,
  listOrganizationsOfUser,
  listOrganizationsInSettings,
  listOwnOrganizations,
  renameOrganization,
} from './organizations.routes.ts'

/** An account name may be a person's own: that is no organization, and no row has this id. */
const noOrganization = 0 as OrgId

/** The organization that a route was granted on. */
export const orgOf = (grant: AccessGrant): OrgId => grant.orgId ?? noOrganization

const permissionsWire = ({ level }: Standing) => ({
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
