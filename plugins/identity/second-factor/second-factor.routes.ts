import { UserMissing } from '../../../core/identity/types.ts'
import { NotAuthenticated, TooManyAttempts } from '../../../core/identity/ports.ts'
import { ProofRequired } from '../../../core/identity/access-ports.ts'
import { OwnSecondFactor } from '../../../core/identity/second-factor/enrollment.ts'
import {
  OneTimeCodeWrong,
  SecondFactorEnrolled,
  SecondFactorMissing,
} from '../../../core/identity/second-factor/codes.ts'
import { signedIn, siteAdmin, write } from '../../kit/access.ts'
import { empty, json } from '../../kit/reply.ts'
import { body, defineRoute, routesOf } from '../../kit/route.ts'
import {
  RecoveryCodesText,
  SecondFactorProof,
  Security,
  TwoFactorAuthParams,
  TwoFAStatus,
  UserPath,
} from '../codecs.ts'

const route = routesOf({ tag: 'Identity - Users & Settings', access: signedIn, scopeCategory: 'user' })
const path = '/user/settings/security'

const codesExample = ['0h4k-9zqd-m2xv-7ct3-5wbn-e8ra', '8wny-51rb-gfa6-jpe0-2dck-t4vh'].join('\n')
const proofExample = { password: 'a long passphrase', passCode: '492039' }
const proofText =
  'Returns 403 unless the request has HTTP Basic with the password and a one-time code in `X-OTP`, or ' +
  '`password` and `passCode` in the body; a session or a token is not sufficient. A recovery code may ' +
  'replace the one-time code.'

export const showSecurity = route({
  id: 'identity.showSecurity',
  method: 'GET',
  path,
  summary: 'Get whether a second factor is enrolled',
  description: 'A session or a token is sufficient.',
  ok: json(200, TwoFAStatus, { twoFAEnrolled: true }),
})

export const offerSecondFactor = route({
  id: 'identity.offerSecondFactor',
  method: 'GET',
  path: `${path}/twofa/enroll`,
  summary: 'Create a secret for an authenticator app',
  description:
    'Each request creates a new secret, which replaces the one of an earlier request, so a token requires ' +
    'the scope write:user. `twoFAImageURL` is a QR code as a PNG data URL. The second factor is not ' +
    'enrolled until its first code is sent.',
  scope: write('user'),
  refusesSudo: true,
  ok: json(200, Security, {
    twoFASecret: 'E7ITKYE3474G3SQKVPMOSYOZN53YENUB',
    twoFAImageURL: 'data:image/png;base64,iVBORw0KGgo=',
  }),
  failures: [SecondFactorEnrolled, NotAuthenticated],
})

export const enrollSecondFactor = route({
  id: 'identity.enrollSecondFactor',
  method: 'POST',
  path: `${path}/twofa/enroll`,
  summary: 'Enroll the second factor with its first code',
  description:
    'Returns ten recovery codes, one per line, which are never returned again. The code cannot be used ' +
    'again. All other sessions of the account end.',
  refusesSudo: true,
  body: body(TwoFactorAuthParams, { passCode: '492039' }),
  ok: json(200, RecoveryCodesText, codesExample),
  failures: [SecondFactorEnrolled, OneTimeCodeWrong, NotAuthenticated, TooManyAttempts],
})

export const replaceRecoveryCodes = route({
  id: 'identity.replaceRecoveryCodes',
  method: 'POST',
  path: `${path}/twofa/regenerate_scratch`,
  summary: 'Replace all recovery codes',
  description: `Returns ten recovery codes, one per line, which are never returned again. ${proofText}`,
  refusesSudo: true,
  body: body(SecondFactorProof, proofExample, { whenAbsent: {} }),
  ok: json(200, RecoveryCodesText, codesExample),
  failures: [ProofRequired, SecondFactorMissing, NotAuthenticated, TooManyAttempts],
})

export const disableSecondFactor = route({
  id: 'identity.disableSecondFactor',
  method: 'POST',
  path: `${path}/twofa/disable`,
  summary: 'Remove the second factor',
  description: `Removes the secret and all recovery codes; all other sessions of the account end. ${proofText}`,
  refusesSudo: true,
  body: body(SecondFactorProof, proofExample, { whenAbsent: {} }),
  ok: empty(200),
  failures: [ProofRequired, SecondFactorMissing, NotAuthenticated, TooManyAttempts],
})

export const adminResetSecondFactor = defineRoute({
  id: 'identity.adminResetSecondFactor',
  method: 'DELETE',
  path: '/admin/users/{username}/twofa',
  summary: 'Remove the second factor of a user who lost it',
  description:
    'Ends all sessions of the user and notifies the user by mail. Returns 404 if the user has no second ' +
    'factor, and 403 for the caller, whose own second factor is removed in the security settings.',
  tag: 'Administration',
  access: siteAdmin,
  scope: write('admin'),
  refusesSudo: true,
  params: UserPath,
  ok: empty(204),
  failures: [UserMissing, SecondFactorMissing, OwnSecondFactor],
  statusOf: { SecondFactorMissing: 404 },
})
