import {
  AuthorizationMissing,
  SessionNeeded,
  SignInAgain,
  TooManyUserCodes,
} from '../../core/authorization-server/failures.ts'
import { anyone, signedIn } from '../kit/access.ts'
import { empty, json } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  AuthorizationAnswer,
  authorizationCookie,
  AuthorizationQuery,
  AuthorizationQuestion,
  Continuation,
  DeviceAnswer,
  DeviceCodeOption,
  DeviceQuestion,
} from './codecs.ts'

const tag = 'Identity - Users & Settings'
const route = routesOf({ tag, access: signedIn, scopeCategory: 'user' })

const question = {
  application: 'Grafana',
  client_id: 'Xk3vJ8hQz2mT5wYb7nC9dF1gR4sL6pAe',
  owner: 'analytical',
  logo: '',
  is_trusted: false,
  asks_for: ['See your user name and your full name'],
  needs_consent: true,
  must_sign_in_again: false,
}

const asked = { id: 'xk3vJ8hQz2mT5wYb7nC9d', key: 'a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3e4f5a0b1' }

export const showAuthorization = routesOf({ tag, access: anyone })({
  id: 'authorizationServer.showAuthorization',
  method: 'GET',
  path: '/user/authorizations',
  summary: 'Get what an application asks for',
  description:
    'For the page to which the authorization endpoint sends a browser, with the parameters of its address. A cookie ' +
    'binds the question to that browser: for any other one there is no such question.',
  query: AuthorizationQuery,
  readsCookie: authorizationCookie,
  ok: json(200, AuthorizationQuestion, question),
  failures: [AuthorizationMissing],
})

export const decideAuthorization = route({
  id: 'authorizationServer.decideAuthorization',
  method: 'POST',
  path: '/user/authorizations',
  summary: 'Answer an application',
  description:
    'From a session, in the browser that the application sent here. Returns the address at which the browser continues. ' +
    'Returns 409 if the application demands a newer sign-in.',
  refusesSudo: true,
  readsCookie: authorizationCookie,
  body: body(AuthorizationAnswer, { ...asked, is_accepted: true }),
  ok: json(200, Continuation, { url: 'https://platform.example/oidc/auth/xk3vJ8hQz2mT5wYb7nC9d' }),
  failures: [AuthorizationMissing, SessionNeeded, SignInAgain],
})

export const showDevice = route({
  id: 'authorizationServer.showDevice',
  method: 'POST',
  path: '/user/devices/search',
  summary: 'Get which program waits for a code',
  description:
    'A program on another device shows the code (RFC 8628). Returns which program asks, for what, and from where. A user ' +
    'may ask for 30 codes an hour.',
  body: body(DeviceCodeOption, { user_code: 'WDJB-MJHT' }),
  ok: json(200, DeviceQuestion, {
    ...question,
    source_ip: '192.0.2.17',
    user_agent: 'moorage/1.4.0',
    started_at: 1_795_651_200,
  }),
  failures: [AuthorizationMissing, TooManyUserCodes],
})

export const answerDevice = route({
  id: 'authorizationServer.answerDevice',
  method: 'POST',
  path: '/user/devices',
  summary: 'Answer a program on another device',
  description: 'From a session. A code is answered once.',
  refusesSudo: true,
  body: body(DeviceAnswer, { user_code: 'WDJB-MJHT', is_accepted: true }),
  ok: empty(200),
  failures: [AuthorizationMissing, SessionNeeded, SignInAgain, TooManyUserCodes],
})
