import { isLeft, right } from 'fp-ts/lib/Either.js'
import { makeSignUp } from '../../../core/identity/accounts/sign-up.ts'
import type { Verdict } from '../../../core/identity/accounts/site-rules.ts'
import {
  makeAllowDomain,
  makeDisallowDomain,
  makeOpenRegistration,
  makeValidateEmail,
  makeValidateName,
} from '../../../core/identity/accounts/site-rules.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle } from '../../kit/route.ts'
import type { IdentityGiven } from '../needs.ts'
import { passwordPolicyOf } from '../needs.ts'
import {
  allowDomain,
  disallowDomain,
  getRegistration,
  listAllowedDomains,
  setRegistration,
  signUp,
  validateEmail,
  validateOrgname,
  validateUsername,
} from './registration.routes.ts'

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

const wire = ({ status, message }: Verdict) => right({ Status: status, message })

export const validateRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const name = makeValidateName(given.stores)
  const email = makeValidateEmail(given)
  return [
    handle(validateUsername, async ({ query }) => wire(await name(query.user_name ?? ''))),
    handle(validateOrgname, async ({ query }) => wire(await name(query.user_name ?? '', query.org))),
    handle(validateEmail, async ({ call, query }) => {
      const verdict = await email(call, query.email ?? '')
      return isLeft(verdict) ? verdict : wire(verdict.right)
    }),
  ]
}
