import { isLeft, right } from 'fp-ts/lib/Either.js'
import { secret } from '../../core/kernel/secret.ts'
import { makeCreateUser } from '../../core/identity/create-user.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { adminCreateUser } from './admin.routes.ts'
import type { IdentityGiven } from './needs.ts'
import { userWire, viewerOf } from './user-wire.ts'

export const adminRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const { settings, commonPasswords } = given
  const passwords = { minLength: settings.passwordMinLength, common: commonPasswords }
  const create = makeCreateUser({ ...given, passwords })
  return [
    handle(adminCreateUser, async ({ call, body }) => {
      const created = await create(call, {
        login: body.username,
        email: body.email,
        password: secret(body.password),
        fullName: body.full_name,
        mustChangePassword: body.must_change_password ?? true,
        restricted: body.restricted,
        visibility: body.visibility,
      })
      return isLeft(created) ? created : right(userWire(settings.baseUrl(), viewerOf(call.principal), created.right))
    }),
  ]
}
