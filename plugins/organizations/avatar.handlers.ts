import { left, right } from 'fp-ts/lib/Either.js'
import { PictureRefused } from '../../core/kernel/picture.ts'
import type { Call } from '../../core/kernel/principal.ts'
import { makeRemoveOrganizationAvatar, makeSetOrganizationAvatar } from '../../core/organizations/change-organization-avatar.ts'
import { OrganizationMissing } from '../../core/organizations/failures.ts'
import type { Organization } from '../../core/organizations/types.ts'
import { avatarUrl, placeOf } from '../identity/user-wire.ts'
import { NoContent } from '../kit/reply.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import { deleteOrganizationAvatar, discardOrganizationAvatar, getOrganizationAvatar, setOrganizationAvatar } from './avatar.routes.ts'
import type { OrganizationGiven } from './needs.ts'
import { orgOf } from './organizations.handlers.ts'

export const avatarRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const set = makeSetOrganizationAvatar(given)
  const remove = makeRemoveOrganizationAvatar(given)
  const urlOf = (call: Call, { name, avatarDigest: digest }: Organization): string => avatarUrl(placeOf(given.identitySettings, call), { name, digest })
  return [
    handle(getOrganizationAvatar, async ({ call, grant }) => {
      const organization = await given.organizations.findById(orgOf(grant))
      return organization === undefined ? left(OrganizationMissing('There is no such organization.')) : right(urlOf(call, organization))
    }),
    handleChange(
      setOrganizationAvatar,
      (changed: Organization, { call, body }) => (body.image === undefined ? { avatar: urlOf(call, changed) } : new NoContent()),
      async ({ call, grant, body }) => {
        const bytes = body.image ?? body.avatar
        return bytes === undefined ? left(PictureRefused('Send the picture as `image` or `avatar`.')) : set(call, orgOf(grant), bytes)
      },
    ),
    handle(deleteOrganizationAvatar, ({ call, grant }) => remove(call, orgOf(grant))),
    handle(discardOrganizationAvatar, ({ call, grant }) => remove(call, orgOf(grant))),
  ]
}
