import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { IdentityStores } from './ports.ts'
import type { User, Viewer } from './types.ts'
import { maySee } from './types.ts'

export const UserMissing = defineFailure('UserMissing', 'NotFound')

/** One message for a user who is not there and one who may not be seen. */
export const userMissing = (): Failure<'UserMissing'> => UserMissing('There is no such user.')

/** Finds a user by name for a viewer. An organization's name is no user. */
export const makeFindUser =
  (stores: IdentityStores) =>
  async (viewer: Viewer, login: string): Outcome<Failure<'UserMissing'>, User> => {
    const user = await stores.users.byLogin(login)
    return user !== undefined && maySee(viewer, user) ? right(user) : left(userMissing())
  }
