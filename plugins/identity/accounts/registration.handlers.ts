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
import { AllowancesToken } from '../../../core/identity/attempt-ports.ts'
import {
  CommonPasswordsToken,
  DomainNamesToken,
  IdentitySettingsToken,
  IdentityStoresToken,
  IdentityUnitOfWorkToken,
  PasswordHasherToken,
  TokenDigestToken,
} from '../../../core/identity/ports.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import { EntropyToken, secret } from '../../../core/kernel/secret.ts'
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
    allowances: AllowancesToken,
    clock: ClockToken,
    commonPasswords: CommonPasswordsToken,
    digest: TokenDigestToken,
    domains: DomainNamesToken,
    entropy: EntropyToken,
    hasher: PasswordHasherToken,
    settings: IdentitySettingsToken,
    stores: IdentityStoresToken,
    unitOfWork: IdentityUnitOfWorkToken,
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
  needs: { allowances: AllowancesToken, domains: DomainNamesToken, stores: IdentityStoresToken },
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
