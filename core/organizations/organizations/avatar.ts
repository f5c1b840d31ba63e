import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ContentDigest } from '../../identity/accounts/ports.ts'
import type { OrgId } from '../../kernel/ids.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { PictureMaker } from '../../kernel/picture.ts'
import { PictureRefused } from '../../kernel/picture.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfOrganization } from '../audit.ts'
import { OrganizationMissing } from '../failures.ts'
import type { OrganizationStores } from '../ports.ts'
import type { Organization } from '../types.ts'

/** The side length in pixels, the same as for users' pictures. */
const side = 290

export interface ChangeOrganizationAvatarDeps {
  readonly unitOfWork: UnitOfWork<OrganizationStores>
  readonly pictures: PictureMaker
  readonly contentDigest: ContentDigest
  readonly clock: Clock
}

const missing = (): Failure<'OrganizationMissing'> => OrganizationMissing('The organization does not exist.')

export interface SetOrganizationAvatarInput {
  readonly id: OrgId
  /** The picture in any accepted format; undefined if the caller sent none. */
  readonly picture: Uint8Array | undefined
}

/** Sets an organization's picture, re-encoded, and returns the organization with it. */
export const makeSetOrganizationAvatar =
  (deps: ChangeOrganizationAvatarDeps) =>
  async (
    call: SignedInCall<Organization>,
    { id, picture: sent }: SetOrganizationAvatarInput,
  ): Outcome<Failure<'PictureRefused' | 'OrganizationMissing'>, Organization> => {
    if (sent === undefined) return left(PictureRefused('The picture must be sent as `image` or `avatar`.'))
    const picture = await deps.pictures.square(sent, side)
    if (isLeft(picture)) return picture
    return deps.unitOfWork.run<Failure<'OrganizationMissing'>, Organization>(
      call,
      async ({ organizations, avatars, audit }) => {
        const organization = (await organizations.lock(id)) ? await organizations.findById(id) : undefined
        if (organization === undefined) return left(missing())
        const digest = deps.contentDigest.of(picture.right)
        await avatars.put(id, digest, picture.right, deps.clock.now())
        await audit.record(auditOfOrganization(organization, 'organization.avatar_changed'))
        return right({ ...organization, avatarDigest: digest })
      },
    )
  }

/** Removes an organization's picture. Does nothing if there is none. */
export const makeRemoveOrganizationAvatar =
  (deps: Pick<ChangeOrganizationAvatarDeps, 'unitOfWork'>) =>
  async (call: SignedInCall, id: OrgId): Outcome<Failure<'OrganizationMissing'>, void> =>
    deps.unitOfWork.run<Failure<'OrganizationMissing'>, void>(call, async ({ organizations, avatars, audit }) => {
      const organization = (await organizations.lock(id)) ? await organizations.findById(id) : undefined
      if (organization === undefined) return left(missing())
      if (await avatars.remove(id)) await audit.record(auditOfOrganization(organization, 'organization.avatar_removed'))
      return right(undefined)
    })
