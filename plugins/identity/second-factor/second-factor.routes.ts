import { UserMissing } from '../../../core/identity/accounts/users.ts'
import { NotAuthenticated, TooManyAttempts } from '../../../core/identity/ports.ts'
import { ProofRequired } from '../../../core/identity/authentication/credentials.ts'
import { OwnSecondFactor } from '../../../core/identity/second-factor/reset.ts'
import { OneTimeCodeWrong, SecondFactorEnrolled, SecondFactorMissing } from '../../../core/identity/second-factor/codes.ts'
import { read, signedIn, siteAdmin, write } from '../../kit/access.ts'
import { empty, json } from '../../kit/reply.ts'
import { body, defineRoute } from '../../kit/route.ts'
import { RecoveryCodesText, SecondFactorProof, Security, TwoFactorAuthParams, TwoFAStatus, UserPath } from '../codecs.ts'

const tag = 'Identity - Users & Settings'
const path = '/user/settings/security'

const codesExample = ['0h4k-9zqd-m2xv-7ct3-5wbn-e8ra', '8wny-51rb-gfa6-jpe0-2dck-t4vh'].join('\n')
const proofExample = { password: 'a long passphrase', passCode: '492039' }
const proofText =
  'A session or a token alone is not enough: send HTTP Basic with the password and a one-time code in `X-OTP`, or `password` and `passCode` in the body; else 403. A recovery code may stand in place of the one-time code.'

export const showSecurity = defineRoute({
  id: 'identity.showSecurity',
  method: 'GET',
  path,
  summary: 'Whether a second factor is enrolled',
  tag,
  access: signedIn,
  scope: read('user'),
  ok: json(200, TwoFAStatus, { twoFAEnrolled: true }),
  failures: [],
})

export const offerSecondFactor = defineRoute({
  id: 'identity.offerSecondFactor',
  method: 'GET',
  path: `${path}/twofa/enroll`,
  summary: 'A new secret for an authenticator app',
  description:
    'Each call makes a new secret, which waits for its first code and takes the place of one that waited before; so a token needs the scope write:user. `twoFAImageURL` is a QR code as a PNG data URL. Nothing is enrolled before the first code was right.',
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  ok: json(200, Security, { twoFASecret: 'E7ITKYE3474G3SQKVPMOSYOZN53YENUB', twoFAImageURL: 'data:image/png;base64,iVBORw0KGgo=' }),
  failures: [SecondFactorEnrolled, NotAuthenticated],
})

export const enrollSecondFactor = defineRoute({
  id: 'identity.enrollSecondFactor',
  method: 'POST',
  path: `${path}/twofa/enroll`,
  summary: 'Enroll the second factor with its first code',
  description:
    'Answers ten recovery codes, one a line, which are never shown again. The code counts as used. All other sessions of the account end.',
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  body: body(TwoFactorAuthParams, { passCode: '492039' }),
  ok: json(200, RecoveryCodesText, codesExample),
  failures: [SecondFactorEnrolled, OneTimeCodeWrong, NotAuthenticated, TooManyAttempts],
})

export const replaceRecoveryCodes = defineRoute({
  id: 'identity.replaceRecoveryCodes',
  method: 'POST',
  path: `${path}/twofa/regenerate_scratch`,
  summary: 'Void all recovery codes and make new ones',
  description: `Answers ten recovery codes, one a line, which are never shown again. ${proofText}`,
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  body: body(SecondFactorProof, proofExample, { whenAbsent: {} }),
  ok: json(200, RecoveryCodesText, codesExample),
  failures: [ProofRequired, SecondFactorMissing, NotAuthenticated, TooManyAttempts],
})

export const disableSecondFactor = defineRoute({
  id: 'identity.disableSecondFactor',
  method: 'POST',
  path: `${path}/twofa/disable`,
  summary: 'Switch the second factor off',
  description: `Removes the secret and all recovery codes; all other sessions of the account end. ${proofText}`,
  tag,
  access: signedIn,
  scope: write('user'),
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
    'Ends all sessions of the user, who is told by mail; 404 when there is none. The own second factor is switched off in the security settings, with a proof (403 here).',
  tag: 'Administration',
  access: siteAdmin,
  scope: write('admin'),
  refusesSudo: true,
  params: UserPath,
  ok: empty(204),
  failures: [UserMissing, SecondFactorMissing, OwnSecondFactor],
  statusOf: { SecondFactorMissing: 404 },
})
