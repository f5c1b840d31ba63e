import * as t from 'io-ts'
import { SessionMissing } from '../../../core/identity/sessions/sessions.ts'
import { UserMissing } from '../../../core/identity/types.ts'
import type { SessionId } from '../../../core/kernel/ids.ts'
import { signedIn, siteAdmin, write } from '../../kit/access.ts'
import { described, pathId, request } from '../../kit/codecs.ts'
import { empty, json, list } from '../../kit/reply.ts'
import { defineRoute, routesOf } from '../../kit/route.ts'
import { SessionInfoAPIForm, UserPath } from '../codecs.ts'

const route = routesOf({ tag: 'Identity - Users & Settings', access: signedIn, scopeCategory: 'user' })

const sessionExample = {
  id: 3,
  isActiveSession: true,
  lastAccessedZonedTime: '2026-11-21T08:00:00.000Z',
  lastAccessed: 1795248000,
  createdAt: 1795248000,
  expiresAt: 1795334400,
  remember: false,
  ip: '192.0.2.7',
  user_agent: '',
}

export const listSessions = route({
  id: 'identity.listSessions',
  method: 'GET',
  path: '/user/settings/security/sessions',
  summary: "List the caller's own sessions, newest first",
  description:
    'A session of a remembered login is listed after its end as long as the login opens new sessions; ' +
    '`expiresAt` is the end of the login.',
  refusesSudo: true,
  ok: list(SessionInfoAPIForm, sessionExample),
})

export const revokeSession = route({
  id: 'identity.revokeSession',
  method: 'DELETE',
  path: '/user/settings/security/sessions/{sid}/revoke',
  summary: "End one of the caller's own sessions",
  description: 'Ends its remembered login as well. Returns the remaining sessions.',
  refusesSudo: true,
  params: request(
    {
      sid: described(pathId<SessionId>('session'), 'The id of a session of the caller.'),
    },
    'SessionPath',
  ),
  ok: json(200, t.array(SessionInfoAPIForm), [sessionExample]),
  failures: [SessionMissing],
})

export const revokeOtherSessions = route({
  id: 'identity.revokeOtherSessions',
  method: 'DELETE',
  path: '/user/settings/security/sessions',
  summary: "End all of the caller's own sessions and remembered logins except the one of this request",
  description: 'Returns the remaining session; none if the request is authenticated by a token or a password.',
  refusesSudo: true,
  ok: json(200, t.array(SessionInfoAPIForm), [sessionExample]),
})

export const endUserSessions = defineRoute({
  id: 'identity.endUserSessions',
  method: 'DELETE',
  path: '/admin/users/{username}/sessions',
  summary: 'End all sessions and remembered logins of a user',
  description: 'Access tokens stay.',
  tag: 'Administration',
  access: siteAdmin,
  scope: write('admin'),
  refusesSudo: true,
  params: UserPath,
  ok: empty(204),
  failures: [UserMissing],
})
