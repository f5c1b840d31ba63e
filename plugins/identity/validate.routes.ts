import { TooManyAddressChecks } from '../../core/identity/validate-names.ts'
import { read, signedIn } from '../kit/access.ts'
import { freeText, optional, request } from '../kit/codecs.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { Validation } from './codecs.ts'

const tag = 'Identity - Users & Settings'
const ok = json(200, Validation, { Status: 'RESERVED' as const, message: 'The name "api" is reserved.' })
const Words = optional(freeText(320))

export const validateUsername = defineRoute({
  id: 'identity.validateUsername',
  method: 'POST',
  path: '/user/validate/username',
  summary: 'Tell whether a user name could be taken',
  tag,
  access: signedIn,
  scope: read('user'),
  query: request({ user_name: Words }, 'ValidateUsernameQuery'),
  ok,
  failures: [],
})

export const validateOrgname = defineRoute({
  id: 'identity.validateOrgname',
  method: 'POST',
  path: '/user/validate/orgname',
  summary: 'Tell whether an organization name could be taken',
  description: '`org` is the present name when an organization is renamed; it may keep its name in another spelling.',
  tag,
  access: signedIn,
  scope: read('user'),
  query: request({ org: Words, user_name: Words }, 'ValidateOrgnameQuery'),
  ok,
  failures: [],
})

export const validateEmail = defineRoute({
  id: 'identity.validateEmail',
  method: 'POST',
  path: '/user/validate/email',
  summary: 'Tell whether an e-mail address could be added',
  description: 'At most 30 addresses an hour for a user, and 120 for a network.',
  tag,
  access: signedIn,
  scope: read('user'),
  query: request({ email: Words }, 'ValidateEmailQuery'),
  ok,
  failures: [TooManyAddressChecks],
})
