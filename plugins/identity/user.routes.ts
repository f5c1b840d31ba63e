import * as t from 'io-ts'
import { UserMissing } from '../../core/identity/find-user.ts'
import { anyone, read, signedIn } from '../kit/access.ts'
import { freeText, optional, PathName, QueryId, QueryInt, request } from '../kit/codecs.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { User, userExample, UserSearchResult } from './codecs.ts'

const tag = 'Identity - Users & Settings'

export const getCaller = defineRoute({
  id: 'identity.getCaller',
  method: 'GET',
  path: '/user',
  summary: 'Tell who the caller is',
  tag,
  access: signedIn,
  loads: 'profile',
  scope: read('user'),
  query: request({ check_client_org: optional(t.string) }, 'CallerQuery'),
  ok: json(200, User, { ...userExample, email: 'ada@example.org', active: true, login_name: 'ada', language: 'en-US' }),
  failures: [],
})

export const searchUsers = defineRoute({
  id: 'identity.searchUsers',
  method: 'GET',
  path: '/users/search',
  summary: 'Find users whose name starts with a text',
  description: 'Without regard to case, by name; at most 50. `uid` narrows to one user.',
  tag,
  access: anyone,
  query: request({ q: optional(freeText(255)), uid: optional(QueryId), limit: optional(QueryInt) }, 'UserSearchQuery'),
  ok: json(200, UserSearchResult, { ok: true, data: [userExample] }),
  failures: [],
})

export const getUser = defineRoute({
  id: 'identity.getUser',
  method: 'GET',
  path: '/users/{username}',
  summary: 'Show a user',
  tag,
  access: anyone,
  params: request({ username: PathName }, 'UserPath'),
  ok: json(200, User, userExample),
  failures: [UserMissing],
})
