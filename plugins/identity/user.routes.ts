import * as t from 'io-ts'
import { UserMissing } from '../../core/identity/find-user.ts'
import { anyone, read, signedIn } from '../kit/access.ts'
import { FreeObjectCodec, freeText, listOf, optional, QueryId, request } from '../kit/codecs.ts'
import { json, listWithin, orRedirect } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { User, userExample, UserPath, UserSearchResult } from './codecs.ts'
import { fullUserExample } from './examples.ts'

const tag = 'Identity - Users & Settings'

export const getCaller = defineRoute({
  id: 'identity.getCaller',
  method: 'GET',
  path: '/user',
  summary: 'Tell who the caller is',
  tag,
  access: signedIn,
  loads: 'profile',
  servesConfined: true,
  beforePasswordChange: true,
  scope: read('user'),
  query: request({ check_client_org: optional(t.string) }, 'CallerQuery'),
  ok: json(200, User, fullUserExample),
  failures: [],
})

export const searchUsers = defineRoute({
  id: 'identity.searchUsers',
  method: 'GET',
  path: '/users/search',
  summary: 'Find users by a part of the name',
  description:
    'Without regard to case: users whose name starts with `q` first, by name, then those who have it elsewhere in the name or at the start of a word of the full name. Site admins find users by parts of addresses as well. At most 50 a page. `uid` narrows to one user. Counting stops at 1,000, and so do the pages.',
  tag,
  access: anyone,
  query: request({ q: optional(freeText(255)), uid: optional(QueryId) }, 'UserSearchQuery'),
  ok: listWithin(User, userExample, { codec: UserSearchResult, key: 'data', constants: { ok: true } }),
  failures: [],
})

export const getUser = defineRoute({
  id: 'identity.getUser',
  method: 'GET',
  path: '/users/{username}',
  summary: 'Show a user',
  description: 'A former name answers 307 to the present one until somebody takes it.',
  tag,
  access: anyone,
  params: UserPath,
  ok: orRedirect(json(200, User, userExample), 307),
  failures: [UserMissing],
})

const noKeys = { tag, access: signedIn, scope: read('user'), ok: json(200, listOf(FreeObjectCodec, 0), [], 'Always an empty list'), failures: [] } as const

export const listPublicKeys = defineRoute({
  ...noKeys,
  id: 'identity.listPublicKeys',
  method: 'GET',
  path: '/user/keys',
  summary: "List the caller's SSH keys: there are none",
  description: 'This service keeps no SSH keys. Clients of this family ask for them at sign-in and take a refusal for a failed one.',
})

export const listSigningKeys = defineRoute({
  ...noKeys,
  id: 'identity.listSigningKeys',
  method: 'GET',
  path: '/user/gpg_keys',
  summary: "List the caller's GPG keys: there are none",
  description: 'This service keeps no GPG keys. Clients of this family ask for them at sign-in and take a refusal for a failed one.',
})
