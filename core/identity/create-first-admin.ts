import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Outcome } from '../kernel/failure.ts'
import type { Call } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { makeCreateUser } from './create-user.ts'
import type { CreateUserDeps, CreateUserFailure } from './create-user.ts'
import type { IdentityStores } from './ports.ts'

export interface CreateFirstAdminDeps extends CreateUserDeps {
  readonly stores: IdentityStores
}

export interface FirstAdminInput {
  readonly login: string
  readonly email: string
  readonly password: Secret
}

/**
 * Makes the first site admin when the store has none; answers whether this call made one. Two instances that start
 * together try the same name, and the unique key lets one through: the other sees an admin and answers `false`.
 */
export const makeCreateFirstAdmin = (deps: CreateFirstAdminDeps) => {
  const createUser = makeCreateUser(deps)
  return async (call: Call, input: FirstAdminInput): Outcome<CreateUserFailure, boolean> => {
    if (await deps.stores.users.hasAdmin()) return right(false)
    const created = await createUser(call, { ...input, isAdmin: true, allowsReservedName: true })
    if (!isLeft(created)) return right(true)
    const isRace = created.left.tag === 'UserNameTaken' || created.left.tag === 'EmailTaken'
    return isRace && (await deps.stores.users.hasAdmin()) ? right(false) : left(created.left)
  }
}
