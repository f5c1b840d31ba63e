import * as t from 'io-ts'
import {
  DomainInvalid,
  DomainNotThere,
  DomainThere,
  EmailDomainRefused,
  RegistrationClosed,
  TooManyAddressChecks,
} from '../../../core/identity/site-rules.ts'
import { UserNameRefused } from '../../../core/identity/accounts/users.ts'
import { PasswordTooWeak } from '../../../core/identity/authentication/password-policy.ts'
import { EmailInvalid } from '../../../core/identity/emails/email-address.ts'
import { TooManyAttempts, UserNameTaken } from '../../../core/identity/ports.ts'
import { anyone, read, signedIn, siteAdmin } from '../../kit/access.ts'
import { answer, described, freeText, naming, optional, request } from '../../kit/codecs.ts'
import { empty, json } from '../../kit/reply.ts'
import { body, defineRoute, routesOf } from '../../kit/route.ts'
import { Validation } from './codecs.ts'

const tag = 'Administration'
const route = routesOf({ tag, access: siteAdmin, scopeCategory: 'admin' })

const RegistrationState = answer(
  {
    disableRegistration: described(t.boolean, 'Whether sign-up is closed.'),
  },
  'RegistrationOpts',
)
const RegistrationOpts = request(
  {
    disableRegistration: described(t.boolean, 'Whether sign-up is closed.'),
  },
  'RegistrationOptsForm',
)
const DomainOpts = request(
  {
    name: described(
      freeText(255, 1),
      'A domain name such as example.org, at most 255 characters, without regard to case.',
    ),
  },
  'DomainOpts',
)
const SignUpParams = request(
  {
    username: described(
      freeText(255),
      'The name of the new user, unique among users and organizations without regard to case.',
    ),
    email: described(freeText(320), 'The primary address of the new user, unique among all accounts.'),
    password: described(
      freeText(),
      'The password, at most 256 characters, of at least the length that the operator set.',
    ),
    full_name: described(optional(freeText(100)), 'The display name, at most 100 characters; empty by default.'),
  },
  'SignUpParams',
)

export const getRegistration = defineRoute({
  id: 'identity.getRegistration',
  method: 'GET',
  path: '/disable-registration',
  summary: 'Get whether sign-up is closed',
  description: 'Needs no credential. While sign-up is closed, only site admins make accounts.',
  tag,
  access: anyone,
  ok: json(200, RegistrationState, { disableRegistration: true }),
  failures: [],
})

export const setRegistration = route({
  id: 'identity.setRegistration',
  method: 'POST',
  path: '/disable-registration',
  summary: 'Close or open sign-up',
  description: 'Closed until a site administrator opens it.',
  body: body(RegistrationOpts, { disableRegistration: false }),
  ok: empty(200),
})

export const listAllowedDomains = defineRoute({
  id: 'identity.listAllowedDomains',
  method: 'GET',
  path: '/allowed-domains',
  summary: 'List the domains whose addresses are accepted at sign-up',
  description: 'Sorted and not paged. If the list is empty, addresses of every domain are accepted.',
  tag,
  access: anyone,
  ok: json(200, t.readonlyArray(t.string), ['example.org']),
  failures: [],
})

export const allowDomain = route({
  id: 'identity.allowDomain',
  method: 'POST',
  path: '/allowed-domains',
  summary: 'Add a domain to the list',
  description:
    'The first domain on the list excludes all others. A subdomain is a separate domain. Site ' +
    'administrators may give users any address.',
  body: body(DomainOpts, { name: 'example.org' }),
  ok: empty(200),
  failures: [DomainInvalid, DomainThere],
})

export const disallowDomain = route({
  id: 'identity.disallowDomain',
  method: 'PATCH',
  path: '/allowed-domains',
  summary: 'Remove a domain from the list',
  description: 'Accounts keep their addresses of the domain.',
  body: body(DomainOpts, { name: 'example.org' }),
  ok: empty(200),
  failures: [DomainNotThere],
})

export const signUp = defineRoute({
  id: 'identity.signUp',
  method: 'POST',
  path: '/user/signup',
  summary: 'Sign up',
  description:
    'Available while sign-up is open. The account is inactive until the link that is mailed to its address ' +
    'is used, and is removed after 7 days without that. The response does not sign in. It is the same if ' +
    'the address already belongs to a user, who is notified by mail. A network address may send 10 requests per hour.',
  tag: 'Identity - Users & Settings',
  access: anyone,
  body: body(SignUpParams, {
    username: 'ada',
    email: 'ada@example.org',
    password: 'a long passphrase',
    full_name: 'Ada Lovelace',
  }),
  ok: empty(200, 'Check your mail'),
  failures: [
    RegistrationClosed,
    UserNameRefused,
    UserNameTaken,
    EmailInvalid,
    EmailDomainRefused,
    PasswordTooWeak,
    TooManyAttempts,
  ],
})

// The routes only read.
const checkRoute = routesOf({ tag: 'Identity - Users & Settings', access: signedIn, scope: read('user') })
const ok = json(200, Validation, { Status: 'RESERVED' as const, message: 'The name "api" is reserved.' })
const Words = optional(freeText(320))

export const validateUsername = checkRoute({
  id: 'identity.validateUsername',
  method: 'POST',
  path: '/user/validate/username',
  summary: 'Check whether a user name is available',
  description: 'Changes nothing and reserves nothing: the name may be taken by the time that it is used.',
  query: request(
    {
      user_name: described(
        naming(Words, 'user', 'name'),
        'The user name to check; absent is empty, which is not valid.',
      ),
    },
    'ValidateUsernameQuery',
  ),
  ok,
})

export const validateOrgname = checkRoute({
  id: 'identity.validateOrgname',
  method: 'POST',
  path: '/user/validate/orgname',
  summary: 'Check whether an organization name is available',
  description: '`org` is the present name if an organization is renamed; the new name may differ from it in case only.',
  query: request(
    {
      org: described(
        naming(Words, 'organization', 'name'),
        'The present name of an organization that is renamed; absent for a new one.',
      ),
      user_name: described(
        naming(Words, 'user', 'name'),
        'The organization name to check; absent is empty, which is not valid.',
      ),
    },
    'ValidateOrgnameQuery',
  ),
  ok,
})

export const validateEmail = checkRoute({
  id: 'identity.validateEmail',
  method: 'POST',
  path: '/user/validate/email',
  summary: 'Check whether an e-mail address can be added',
  description: 'At most 30 addresses per hour for a user, and 120 for a network.',
  query: request(
    {
      email: described(naming(Words, 'user', 'email'), 'The address to check; absent is empty, which is not valid.'),
    },
    'ValidateEmailQuery',
  ),
  ok,
  failures: [TooManyAddressChecks],
})
