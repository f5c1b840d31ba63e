import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeUnlockUser } from '../../core/identity/unlock-user.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { adminUnlockUser } from './unlock.routes.ts'

export const unlockRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const unlock = makeUnlockUser(given)
  return [
    handle(adminUnlockUser, async ({ call, params }) => {
      const unlocked = await unlock(call, params.username)
      return isLeft(unlocked) ? unlocked : right(undefined)
    }),
  ]
}
