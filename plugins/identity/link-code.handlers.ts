import { right } from 'fp-ts/lib/Either.js'
import { makeAskPasswordReset } from '../../core/identity/ask-password-reset.ts'
import { makeConfirmEmail } from '../../core/identity/confirm-email.ts'
import { makeResetPassword } from '../../core/identity/reset-password.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { confirmEmail, forgotPassword, resetPassword } from './link-code.routes.ts'
import type { IdentityGiven } from './needs.ts'
import { passwordPolicyOf } from './password-policy-of.ts'

export const linkCodeRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const confirm = makeConfirmEmail(given)
  const ask = makeAskPasswordReset(given)
  const reset = makeResetPassword({ ...given, passwords: passwordPolicyOf(given) })
  return [
    handle(confirmEmail, ({ call, body }) => confirm(call, body.code)),
    handle(forgotPassword, ({ call, body }) => {
      ask(call, body.email)
      return Promise.resolve(right(undefined))
    }),
    handle(resetPassword, ({ call, body }) => reset(call, { code: body.code, password: secret(body.password) })),
  ]
}
