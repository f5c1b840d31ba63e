import * as t from 'io-ts'
import { EmailTaken, TooManyAttempts } from '../../core/identity/ports.ts'
import { SessionMissing } from '../../core/identity/end-sessions.ts'
import { SignInProhibited, SignInRefused } from '../../core/identity/sign-in.ts'
import { anyone, read, signedIn, write } from '../kit/access.ts'
import { PathId, request } from '../kit/codecs.ts'
import { cookies, json, list } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { SessionInfoAPIForm, SignInParams } from './codecs.ts'

const tag = 'Identity - Users & Settings'

export const signIn = defineRoute({
  id: 'identity.signIn',
  method: 'POST',
  path: '/user/signin',
  summary: 'Sign in with name (or verified e-mail address) and password',
  description:
    'Sets the session cookie and `_csrf`, whose value changes must repeat in the header `X-Csrf-Token`. A session ends after an hour without use and after a day in any case; a remembered one after 30 days.',
  tag,
  access: anyone,
  body: body(SignInParams, { username: 'ada', password: 'a long passphrase', remember: false }, { malformedAs: 422 }),
  ok: cookies(200, 'Signed in, cookies set'),
  // 409 is the specification's answer where an external source would make a user whose address is in use.
  failures: [SignInRefused, SignInProhibited, TooManyAttempts, EmailTaken],
  statusOf: { EmailTaken: 409 },
})

export const signOut = defineRoute({
  id: 'identity.signOut',
  method: 'GET',
  path: '/user/signout',
  summary: 'End the session and clear its cookies',
  tag,
  access: signedIn,
  scope: read('user'),
  refusesSudo: true,
  ok: cookies(200, 'Signed out, cookies cleared'),
  failures: [],
})

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

export const listSessions = defineRoute({
  id: 'identity.listSessions',
  method: 'GET',
  path: '/user/settings/security/sessions',
  summary: "List the caller's own sessions, newest first",
  tag,
  access: signedIn,
  scope: read('user'),
  refusesSudo: true,
  ok: list(SessionInfoAPIForm, sessionExample),
  failures: [],
})

export const revokeSession = defineRoute({
  id: 'identity.revokeSession',
  method: 'DELETE',
  path: '/user/settings/security/sessions/{sid}/revoke',
  summary: "End one of the caller's own sessions",
  description: 'Answers the sessions that are left.',
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  params: request({ sid: PathId }, 'SessionPath'),
  ok: json(200, t.array(SessionInfoAPIForm), [sessionExample]),
  failures: [SessionMissing],
})
