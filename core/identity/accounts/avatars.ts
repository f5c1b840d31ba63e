import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { PictureMaker } from '../../kernel/picture.ts'
import type { Call, SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type { ContentDigest } from './ports.ts'
import type { IdentityChanges, IdentityStores } from '../ports.ts'

/** No picture with this name exists. */
export const AvatarMissing = defineFailure('AvatarMissing', 'NotFound')

/** The side length in pixels: sharp on a high-density screen at the sizes at which avatars are shown. */
const side = 290

export interface ChangeAvatarDeps {
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly pictures: PictureMaker
  readonly contentDigest: ContentDigest
  readonly clock: Clock
}

/** Sets the caller's picture, re-encoded. */
export const makeSetAvatar =
  (deps: ChangeAvatarDeps) =>
  async (call: SignedInCall, bytes: Uint8Array): Outcome<Failure<'PictureRefused'> | Failure<'PicturesBusy'>, void> => {
    const picture = await deps.pictures.square(bytes, side)
    if (isLeft(picture)) return picture
    const { userId, login } = call.principal
    return deps.unitOfWork.run<never, void>(call, async (stores) => {
      await stores.avatars.put(userId, deps.contentDigest.of(picture.right), picture.right, deps.clock.now())
      await stores.audit.record(auditOfUser({ id: userId, login }, 'user.avatar_changed'))
      return right(undefined)
    })
  }

/** Removes the caller's picture. Does nothing if there is none. */
export const makeRemoveAvatar =
  (deps: Pick<ChangeAvatarDeps, 'unitOfWork'>) =>
  async (call: SignedInCall): Outcome<never, void> =>
    deps.unitOfWork.run<never, void>(call, async (stores) => {
      const { userId, login } = call.principal
      if (await stores.avatars.remove(userId)) {
        await stores.audit.record(auditOfUser({ id: userId, login }, 'user.avatar_removed'))
      }
      return right(undefined)
    })

/** Returns the picture with a digest. It requires no other right than knowing the digest. */
export const makeFindAvatar =
  ({ stores }: { readonly stores: Pick<IdentityStores, 'avatars'> }) =>
  async (_call: Call<never>, digest: string): Outcome<Failure<'AvatarMissing'>, Uint8Array> => {
    const bytes = await stores.avatars.byDigest(digest)
    return bytes === undefined ? left(AvatarMissing('The picture does not exist.')) : right(bytes)
  }
