import { right } from 'fp-ts/lib/Either.js'
import { makeAllowDomain, makeDisallowDomain, makeOpenRegistration } from '../../core/identity/change-site-rules.ts'
import { makeSignUp } from '../../core/identity/sign-up.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import type { IdentityGiven } from './needs.ts'
import { passwordPolicyOf } from './password-policy-of.ts'
import { allowDomain, disallowDomain, getRegistration, listAllowedDomains, setRegistration, signUp } from './site-rules.routes.ts'

export const siteRulesRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const open = makeOpenRegistration(given)
  const allow = makeAllowDomain(given)
  const disallow = makeDisallowDomain(given)
  const join = makeSignUp({ ...given, passwords: passwordPolicyOf(given) })
  return [
    handle(getRegistration, async () => right({ disableRegistration: !(await given.stores.siteRules.read()).isRegistrationOpen })),
    handle(setRegistration, ({ call, body }) => open(call, !body.disableRegistration)),
    handle(listAllowedDomains, async () => right((await given.stores.siteRules.read()).allowedDomains)),
    handle(allowDomain, ({ call, body }) => allow(call, body.name)),
    handle(disallowDomain, ({ call, body }) => disallow(call, body.name)),
    handle(signUp, ({ call, body }) =>
      join(call, { login: body.username, email: body.email, password: secret(body.password), fullName: body.full_name ?? '' }),
    ),
  ]
}
