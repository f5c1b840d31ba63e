import { ProofRequired, SecondFactorNeeded, SignInProhibited } from '../../core/identity/access-ports.ts'
import { NotAuthenticated, OneTimeCodeRequired, TooManyAttempts } from '../../core/identity/ports.ts'
import {
  AttemptMissing,
  ExternalAccountTaken,
  ExternalAccountUnknown,
  ExternalNameTaken,
  LinkMissing,
  TooManySearches,
} from '../../core/identity-providers/failures.ts'
import {
  LogoutTokenRefused,
  ProviderAnswerRefused,
  ProviderMissing,
  ProviderUnavailable,
} from '../../core/identity-providers/ports.ts'
import { signInCookie } from '../identity/sessions/session-wire.ts'
import { anyone, signedIn } from '../kit/access.ts'
import { empty, json, jsonWithCookies, list } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  AccountLink,
  AccountLinkParams,
  BeginSignInOption,
  BegunSignIn,
  CodeOption,
  DirectorySignInOption,
  EndSession,
  linkExample,
  LinkProof,
  LogoutOption,
  ProviderSearch,
  ProviderSearchOption,
  SignedIn,
  SignInAnswerOption,
  SignInPath,
  SignInProvider,
} from './codecs.ts'

const tag = 'Identity - Users & Settings'
const publicRoute = routesOf({ tag, access: anyone })
const signInRoute = routesOf({ tag, access: anyone, params: SignInPath, failures: [ProviderMissing] })
const ownRoute = routesOf({ tag, access: signedIn, scopeCategory: 'user' })

const cookieText =
  'The cookie that it sets binds the sign-in to the browser. It must be complete within ten minutes, and is used once.'

export const listSignInProviders = publicRoute({
  id: 'identityProviders.listButtons',
  method: 'GET',
  path: '/user/oauth2',
  summary: 'List the identity providers of the site, for the buttons of a sign-in page',
  description: 'A signed-in caller also gets those of the own organizations, to which the account can be linked.',
  ok: list(SignInProvider, { id: 3, display_name: 'Analytical Engines' }),
})

export const findSignInProvider = publicRoute({
  id: 'identityProviders.search',
  method: 'POST',
  path: '/user/oauth2/search',
  summary: 'Find the identity provider that an address leads to',
  description:
    'Only the domain is looked at, so that the answer says nothing about accounts: it is the same for every address ' +
    'of a domain. A network address may ask 1,000 times an hour.',
  body: body(ProviderSearchOption, { address: 'ada@analytical.example' }),
  ok: json(200, ProviderSearch, { provider_id: 3 }),
  failures: [TooManySearches],
})

export const beginSignIn = signInRoute({
  id: 'identityProviders.beginSignIn',
  method: 'POST',
  path: '/user/oauth2/{id}',
  summary: 'Begin a sign-in with an identity provider',
  description:
    `Returns the address at which the browser continues: of a directory, the page of this service that asks for the ` +
    `name and the password. ${cookieText}`,
  beforePasswordChange: true,
  readsCookie: signInCookie,
  body: body(BeginSignInOption, {}, { whenAbsent: {} }),
  ok: jsonWithCookies(200, BegunSignIn, { url: 'https://login.analytical.example/authorize?client_id=moorage' }),
  failures: [ProviderUnavailable],
})

const signedInExample = { login: 'ada', is_link: false }
const finishFailures = [
  AttemptMissing,
  ExternalAccountTaken,
  ExternalAccountUnknown,
  ExternalNameTaken,
  ProviderAnswerRefused,
  ProviderUnavailable,
  SignInProhibited,
]

export const finishSignIn = signInRoute({
  id: 'identityProviders.finishSignIn',
  method: 'POST',
  path: '/user/oauth2/{id}/callback',
  summary: 'Complete a sign-in with the answer of the identity provider',
  description:
    'The page at `redirect_uri` sends the parameters of the answer here, from the browser in which the sign-in began. ' +
    'Sets the cookies of a session, as `POST /user/signin` does. Returns 405 with the code `SecondFactorNeeded` for an ' +
    'account with a second factor, which continues with `POST /user/oauth2/{id}/twofa`.',
  beforePasswordChange: true,
  readsCookie: signInCookie,
  body: body(SignInAnswerOption, { state: 'Xk3...', code: 'SplxlOBeZQQYbYS6WxSbIA', iss: 'https://login.example' }),
  ok: jsonWithCookies(200, SignedIn, signedInExample),
  failures: [...finishFailures, SecondFactorNeeded],
})

export const finishWithPassword = signInRoute({
  id: 'identityProviders.finishWithPassword',
  method: 'POST',
  path: '/user/oauth2/{id}/password',
  summary: 'Complete a sign-in with a directory by a name and a password',
  description:
    'For providers of LDAP, with the `state` of the returned address, from the browser in which the sign-in began. Sets ' +
    'the cookies of a session. A wrong password may be entered again; after many, wait. Returns 405 with the code ' +
    '`SecondFactorNeeded` for an account with a second factor, as for other providers.',
  beforePasswordChange: true,
  readsCookie: signInCookie,
  body: body(DirectorySignInOption, { state: 'Xk3...', username: 'ada', password: 'a long passphrase' }),
  ok: jsonWithCookies(200, SignedIn, signedInExample),
  failures: [...finishFailures, SecondFactorNeeded, TooManyAttempts],
})

export const finishWithCode = signInRoute({
  id: 'identityProviders.finishWithCode',
  method: 'POST',
  path: '/user/oauth2/{id}/twofa',
  summary: 'Complete a sign-in with an identity provider by a one-time code or a passkey',
  description:
    'For an account with a second factor, after `POST /user/oauth2/{id}/callback` in the same browser. Set `passCode`, or ' +
    '`passkey`. Sets the cookies of a session.',
  beforePasswordChange: true,
  readsCookie: signInCookie,
  body: body(CodeOption, { passCode: '492039' }),
  ok: jsonWithCookies(200, SignedIn, signedInExample),
  failures: [...finishFailures, OneTimeCodeRequired, TooManyAttempts],
})

export const backChannelLogout = signInRoute({
  id: 'identityProviders.backChannelLogout',
  method: 'POST',
  path: '/user/oauth2/{id}/logout',
  summary: 'End the sessions that an identity provider reports as over',
  description:
    'For providers (OpenID Connect Back-Channel Logout). The token proves the sender and is valid once. Access tokens ' +
    'of the person stay.',
  body: body(LogoutOption, { logout_token: 'eyJhbGciOi...' }, { orUrlEncoded: true, refusedAs: 400 }),
  ok: empty(200),
  failures: [LogoutTokenRefused, ProviderUnavailable],
})

export const beginLink = ownRoute({
  id: 'identityProviders.beginLink',
  method: 'POST',
  path: '/user/oauth2/{id}/link',
  summary: 'Begin to link the own account to an identity provider',
  description:
    `Returns the address at which the browser continues. ${cookieText} The password is proven again in the request, ` +
    'and the second factor if one is enrolled.',
  refusesSudo: true,
  params: SignInPath,
  readsCookie: signInCookie,
  body: body(LinkProof, { password: 'a long passphrase' }, { whenAbsent: {} }),
  ok: jsonWithCookies(200, BegunSignIn, { url: 'https://login.analytical.example/authorize?client_id=moorage' }),
  failures: [ProofRequired, ProviderMissing, ProviderUnavailable, TooManyAttempts],
})

export const getEndSession = ownRoute({
  id: 'identityProviders.getEndSession',
  method: 'GET',
  path: '/user/oauth2/end-session',
  summary: 'Get the address at which the session is ended at its identity provider',
  description: 'Ask before `GET /user/signout`, which ends the session here, and send the browser there afterwards.',
  ok: json(200, EndSession, { url: 'https://login.analytical.example/logout?client_id=moorage' }),
})

export const listLinks = ownRoute({
  id: 'identityProviders.listLinks',
  method: 'GET',
  path: '/user/settings/security/account_link',
  summary: "List the caller's links to identity providers",
  description: 'One for each provider to which the account is linked.',
  ok: list(AccountLink, linkExample),
})

export const removeLink = ownRoute({
  id: 'identityProviders.removeLink',
  method: 'POST',
  path: '/user/settings/security/account_link',
  summary: 'Remove a link to an identity provider',
  description:
    'The password is proven again in the request, and the second factor if one is enrolled, so that the account still ' +
    'has a way in. An account that a provider created sets a password by mail first.',
  refusesSudo: true,
  body: body(AccountLinkParams, { loginSourceID: 3, externalID: linkExample.externalID, password: 'a passphrase' }),
  ok: empty(200),
  failures: [LinkMissing, NotAuthenticated, ProofRequired, TooManyAttempts],
  statusOf: { LinkMissing: 422 },
})
