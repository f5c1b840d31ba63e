import { right } from 'fp-ts/lib/Either.js'
import { makeSignUp } from '../../../core/identity/accounts/sign-up.ts'
import type { Verdict } from '../../../core/identity/site-rules.ts'
import {
  makeAllowDomain,
  makeDisallowDomain,
  makeOpenRegistration,
  makeValidateEmail,
  makeValidateName,
} from '../../../core/identity/site-rules.ts'
import { AllowancesPort } from '../../../core/identity/attempt-ports.ts'
import {
  CommonPasswordsPort,
  DomainNamesPort,
  IdentitySettingsPort,
  IdentityStoresPort,
  IdentityUnitOfWorkPort,
  PasswordHasherPort,
  TokenDigestPort,
} from '../../../core/identity/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort, secret } from '../../../core/kernel/secret.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { passwordPolicyOf } from '../passwords.ts'
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

export const siteRulesGroup = defineGroup({
  needs: {
    allowances: AllowancesPort,
    clock: ClockPort,
    commonPasswords: CommonPasswordsPort,
    digest: TokenDigestPort,
    domains: DomainNamesPort,
    entropy: EntropyPort,
    hasher: PasswordHasherPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    unitOfWork: IdentityUnitOfWorkPort,
  },
  routes: (given) => [
    handle(getRegistration, async () => right(await given.stores.siteRules.read()), {
      reply: ({ isRegistrationOpen }) => ({ disableRegistration: !isRegistrationOpen }),
    }),
    handle(setRegistration, makeOpenRegistration(given), { input: ({ body }) => !body.disableRegistration }),
    handle(listAllowedDomains, async () => right(await given.stores.siteRules.read()), {
      reply: ({ allowedDomains }) => allowedDomains,
    }),
    handle(allowDomain, makeAllowDomain(given), { input: ({ body }) => body.name }),
    handle(disallowDomain, makeDisallowDomain(given), { input: ({ body }) => body.name }),
    handle(signUp, makeSignUp({ ...given, passwords: passwordPolicyOf(given) }), {
      input: ({ body }) => ({
        login: body.username,
        email: body.email,
        password: secret(body.password),
        fullName: body.full_name ?? '',
      }),
    }),
  ],
})

const verdictToWire = ({ status, message }: Verdict) => ({ Status: status, message })

export const validationGroup = defineGroup({
  needs: { allowances: AllowancesPort, domains: DomainNamesPort, stores: IdentityStoresPort },
  routes: (given) => [
    handle(validateUsername, makeValidateName(given), {
      input: ({ query }) => ({ name: query.user_name ?? '' }),
      reply: verdictToWire,
    }),
    handle(validateOrgname, makeValidateName(given), {
      input: ({ query }) => ({ name: query.user_name ?? '', current: query.org }),
      reply: verdictToWire,
    }),
    handle(validateEmail, makeValidateEmail(given), { input: ({ query }) => query.email ?? '', reply: verdictToWire }),
  ],
})
