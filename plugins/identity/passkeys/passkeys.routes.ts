import { ProofRequired, SignInProhibited } from '../../../core/identity/access-ports.ts'
import { PasskeyRefused, PasskeysUnavailable } from '../../../core/identity/passkeys/challenges.ts'
import {
  PasskeyMissing,
  PasskeyNameRefused,
  PasskeyNotAdded,
  RegistrationInvalid,
} from '../../../core/identity/passkeys/passkeys.ts'
import { NotAuthenticated, TooManyAttempts } from '../../../core/identity/ports.ts'
import type { PasskeyId } from '../../../core/kernel/ids.ts'
import { anyone, signedIn } from '../../kit/access.ts'
import { described, pathId, request } from '../../kit/codecs.ts'
import { cookies, empty, json, jsonWithCookies, list } from '../../kit/reply.ts'
import { body, defineRoute, routesOf } from '../../kit/route.ts'
import { PasskeyNameOption, SecondFactorProof, WebauthnRegistrationOptions } from '../codecs.ts'
import { signInCookie } from '../sessions/session-wire.ts'
import {
  PasskeyOptions,
  PasskeyRegistration,
  PasskeySignInParams,
  RegisteredPasskeyBody,
  WebAuthnSecurityKeys,
} from './codecs.ts'

const tag = 'Identity - Users & Settings'
const route = routesOf({ tag, access: signedIn, scopeCategory: 'user' })
const path = '/user/settings/security/webauthn'

const PasskeyPath = request(
  { id: described(pathId<PasskeyId>('passkey'), 'The id of a passkey of the caller.') },
  'PasskeyPath',
)

const keyExample = {
  ID: 3,
  Name: 'Laptop',
  UID: 2,
  createdAt: 1795248000,
  lastUsedAt: 0,
  transports: ['internal', 'hybrid'],
  backedUp: true,
  aaguid: 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd',
}
const credentialExample = { id: 'AQIDBAUGBwg', rawId: 'AQIDBAUGBwg', type: 'public-key' }
const clientData = 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0'
const assertionExample = {
  ...credentialExample,
  response: { clientDataJSON: clientData, authenticatorData: 'SZYN5YgOjGh0NBcP', signature: 'MEUCIQDx' },
}
const optionsExample = { publicKey: { challenge: 'Zk3vWq81LmT0xYb7RcU5nHs9EdJ2oPfA', rpId: 'platform.example' } }
const proofText =
  'Returns 403 unless the request proves the password, and the second factor if there is one, or a passkey of the ' +
  'account: a session or a token is not sufficient.'

export const listPasskeys = route({
  id: 'identity.listPasskeys',
  method: 'GET',
  path: `${path}/keys`,
  summary: "List the caller's passkeys, in the order of their registration",
  description: 'An account has at most 25 passkeys.',
  ok: list(WebAuthnSecurityKeys, keyExample),
})

export const requestPasskey = route({
  id: 'identity.requestPasskey',
  method: 'POST',
  path: `${path}/request_register`,
  summary: 'Request the options for a new passkey',
  description:
    '`publicKey` is for `PublicKeyCredential.parseCreationOptionsFromJSON`. The same session or token must send the ' +
    `response within five minutes. ${proofText}`,
  refusesSudo: true,
  body: body(WebauthnRegistrationOptions, { name: 'Laptop', password: 'a long passphrase' }),
  ok: json(200, PasskeyOptions, optionsExample),
  failures: [PasskeyNameRefused, PasskeyNotAdded, PasskeysUnavailable, ProofRequired, TooManyAttempts],
})

export const registerPasskey = route({
  id: 'identity.registerPasskey',
  method: 'POST',
  path: `${path}/register`,
  summary: 'Register a passkey by the response of the browser',
  description:
    'The passkey signs in without a password, and is a second factor of the account: a password alone no longer ' +
    'signs in. If it is the first second factor, all other sessions end. An account without recovery codes gets ten.',
  refusesSudo: true,
  body: body(PasskeyRegistration, {
    ...credentialExample,
    response: { clientDataJSON: clientData, attestationObject: 'o2NmbXRkbm9uZQ', transports: ['internal'] },
  }),
  ok: json(201, RegisteredPasskeyBody, keyExample),
  failures: [NotAuthenticated, PasskeyNotAdded, PasskeysUnavailable, RegistrationInvalid],
})

export const renamePasskey = route({
  id: 'identity.renamePasskey',
  method: 'PATCH',
  path: `${path}/keys/{id}`,
  summary: "Rename one of the caller's passkeys",
  description: 'Returns the passkey with its new name. Two passkeys may have the same name.',
  refusesSudo: true,
  params: PasskeyPath,
  body: body(PasskeyNameOption, { name: 'Office laptop' }),
  ok: json(200, WebAuthnSecurityKeys, keyExample),
  failures: [PasskeyMissing, PasskeyNameRefused],
})

export const removePasskey = route({
  id: 'identity.removePasskey',
  method: 'DELETE',
  path: `${path}/keys/{id}`,
  summary: "Remove one of the caller's passkeys",
  description: `All other sessions of the account end. With the last second factor, the recovery codes go too. ${proofText}`,
  refusesSudo: true,
  params: PasskeyPath,
  body: body(SecondFactorProof, { password: 'a long passphrase', passCode: '492039' }, { whenAbsent: {} }),
  ok: empty(200),
  failures: [NotAuthenticated, PasskeyMissing, ProofRequired, TooManyAttempts],
})

export const requestPasskeyProof = route({
  id: 'identity.requestPasskeyProof',
  method: 'POST',
  path: `${path}/request_proof`,
  summary: 'Request the options for a proof by a passkey of the account',
  description:
    'For requests that must prove the caller again: their field `passkey` is the response of the browser, which the ' +
    'same session or token must send within five minutes.',
  refusesSudo: true,
  ok: json(200, PasskeyOptions, optionsExample),
  failures: [PasskeyMissing, PasskeysUnavailable],
})

export const requestPasskeySignIn = defineRoute({
  id: 'identity.requestPasskeySignIn',
  method: 'POST',
  path: '/user/signin/passkey/request',
  summary: 'Request the options for a sign-in with a passkey',
  description:
    '`publicKey` is for `PublicKeyCredential.parseRequestOptionsFromJSON`. The browser that receives the cookie must ' +
    'send the response within five minutes.',
  tag,
  access: anyone,
  beforePasswordChange: true,
  readsCookie: signInCookie,
  ok: jsonWithCookies(200, PasskeyOptions, optionsExample),
  failures: [PasskeysUnavailable, TooManyAttempts],
})

export const signInWithPasskey = defineRoute({
  id: 'identity.signInWithPasskey',
  method: 'POST',
  path: '/user/signin/passkey',
  summary: 'Sign in with a passkey, without a password',
  description: 'Sets the same cookies as `POST /user/signin`. The response is valid once.',
  tag,
  access: anyone,
  beforePasswordChange: true,
  readsCookie: signInCookie,
  body: body(PasskeySignInParams, { passkey: assertionExample, remember: false }),
  ok: cookies(200, 'Signed in, cookies set'),
  failures: [PasskeyRefused, PasskeysUnavailable, SignInProhibited, TooManyAttempts],
})
