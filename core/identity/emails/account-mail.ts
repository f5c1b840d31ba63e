import type { Mail, MailOutbox } from '../../mail/ports.ts'
import type { User } from '../types.ts'

/** The time and source address of an event. */
export interface MailOccasion {
  readonly at: Date
  readonly sourceIp: string
}

/** Posts the mail if it has a recipient. Not every account has an address. */
export const postIfAddressed = (outbox: MailOutbox, mail: Mail): Promise<void> =>
  mail.to === '' ? Promise.resolve() : outbox.post(mail)

/** The author of a change, as far as the owner of the account may know. */
export type ChangedBy =
  | { readonly kind: 'user' | 'reset'; readonly sourceIp: string }
  | { readonly kind: 'administrator' }

type Owner = Pick<User, 'id' | 'login'>

const byWhom = (by: ChangedBy): string => {
  if (by.kind === 'administrator') return 'by an administrator'
  return by.kind === 'reset'
    ? `with a code that was sent by mail, from the address ${by.sourceIp}`
    : `from the address ${by.sourceIp}`
}

/** Sent to the owner, regardless of who changed the password. */
export const passwordChangedMail = (user: Owner & Pick<User, 'primaryEmail'>, at: Date, by: ChangedBy): Mail => ({
  to: user.primaryEmail,
  subject: 'Your password was changed',
  paragraphs: [
    `The password of the account ${user.login} was changed at ${at.toISOString()} ${byWhom(by)}.`,
    by.kind === 'user' ? 'All other sessions were ended.' : 'All sessions were ended.',
    'If this was not you, set a new password by "forgot password" and tell an administrator.',
  ],
  accountId: user.id,
})

/** Sent to the owner: the name is used to sign in. */
export const renamedMail = (user: Pick<User, 'id' | 'primaryEmail'>, from: string, to: string): Mail => ({
  to: user.primaryEmail,
  subject: 'Your account has another name',
  paragraphs: [
    `An administrator renamed the account ${from} to ${to}. Sign in with the new name, or with your e-mail ` +
      'address; sessions and access tokens stay valid.',
    'If you did not expect this, ask an administrator.',
  ],
  accountId: user.id,
})

/** Sent to the primary address: an administrator who acts as the user made the change, not the user. */
export const emailsChangedMail = (
  user: Owner & Pick<User, 'primaryEmail'>,
  done: 'added' | 'removed',
  texts: readonly string[],
  at: Date,
): Mail => ({
  to: user.primaryEmail,
  subject: `An administrator ${done} e-mail addresses of your account`,
  paragraphs: [
    `An administrator ${done} e-mail addresses of the account ${user.login} at ${at.toISOString()}: ` +
      `${texts.join(', ')}.`,
    'If you did not expect this, ask an administrator.',
  ],
  accountId: user.id,
})

/** Sent to the former primary address. */
export const primaryEmailChangedMail = (user: Owner, oldEmail: string, at: Date, by: ChangedBy): Mail => ({
  to: oldEmail,
  subject: 'Your account has another primary e-mail address',
  paragraphs: [
    `The primary e-mail address of the account ${user.login} was changed at ${at.toISOString()} ` +
      `${byWhom(by)}. This address is the primary one no longer.`,
    'If this was not you, change your password, end your sessions and tell an administrator.',
  ],
  accountId: user.id,
})

/** Sent to the primary address: the confirmed address can reset the password from now on. */
export const emailConfirmedMail = (
  user: Owner & Pick<User, 'primaryEmail'>,
  email: string,
  { at, sourceIp }: MailOccasion,
): Mail => ({
  to: user.primaryEmail,
  subject: 'Another e-mail address belongs to your account',
  paragraphs: [
    `The address ${email} was confirmed for the account ${user.login} at ${at.toISOString()} from the ` +
      `address ${sourceIp}. A day later it can be used to request a new password.`,
    'If this was not you, remove that address, change your password, end your sessions, delete your access ' +
      'tokens and tell an administrator.',
  ],
  accountId: user.id,
})

const sentence = (user: User, { at, sourceIp }: MailOccasion, what: string): string =>
  `${what} for the account ${user.login} at ${at.toISOString()}, from the address ${sourceIp}.`

const ifNotYou =
  'If this was not you, change your password, end your sessions and delete your access tokens, then tell ' +
  'an administrator.'

const mailTo = (user: User, subject: string, paragraphs: readonly string[]): Mail => ({
  to: user.primaryEmail,
  subject,
  paragraphs: [...paragraphs, ifNotYou],
  accountId: user.id,
})

export const enrolledMail = (user: User, occasion: MailOccasion): Mail =>
  mailTo(user, 'A second factor was set up', [
    sentence(user, occasion, 'A second factor was set up'),
    'From now on signing in takes a code of your authenticator app besides the password. Keep the recovery ' +
      'codes that you were shown where you find them without your phone.',
  ])

const passwordAlone = 'From now on the password alone signs in. The recovery codes are void.'

export const disabledMail = (user: User, occasion: MailOccasion, hasPasskeys: boolean): Mail =>
  mailTo(user, 'Your second factor was switched off', [
    sentence(user, occasion, 'The second factor was switched off'),
    hasPasskeys ? 'Your passkeys and the recovery codes remain.' : passwordAlone,
  ])

export const passkeyAddedMail = (user: User, occasion: MailOccasion, name: string): Mail =>
  mailTo(user, 'A passkey was added', [
    sentence(user, occasion, `The passkey "${name}" was added`),
    'It signs in without a password. After a password, signing in takes a passkey, a code of your authenticator app ' +
      'or a recovery code.',
  ])

export const passkeyRemovedMail = (user: User, occasion: MailOccasion, name: string, isProtected: boolean): Mail =>
  mailTo(user, 'A passkey was removed', [
    sentence(user, occasion, `The passkey "${name}" was removed`),
    isProtected ? 'Your other sessions were ended.' : `Your other sessions were ended. ${passwordAlone}`,
  ])

/** Contains no source address: it would be the administrator's. */
export const resetByAdminMail = (user: User, at: Date): Mail =>
  mailTo(user, 'An administrator removed your second factor', [
    `An administrator removed the second factor and the passkeys of the account ${user.login} at ${at.toISOString()}.`,
    'From now on the password alone signs in. The recovery codes are void, and all your sessions were ' +
      'ended. You may set up a second factor again in your security settings.',
  ])

export const recoveryCodesReplacedMail = (user: User, occasion: MailOccasion): Mail =>
  mailTo(user, 'Your recovery codes were replaced', [
    sentence(user, occasion, 'New recovery codes were made'),
    'The old recovery codes are void.',
  ])

export const recoveryCodeUsedMail = (user: User, occasion: MailOccasion, codesLeft: number): Mail =>
  mailTo(user, 'A recovery code was used', [
    sentence(user, occasion, 'A recovery code was used instead of the second factor'),
    codesLeft === 0
      ? 'No recovery code is left: make new ones in your security settings.'
      : `Recovery codes left: ${codesLeft}. New ones can be made in your security settings.`,
  ])

/** Notifies a user that a copy of the user's remember cookie was used. */
export const stolenLoginMail = (user: User, { at, sourceIp }: MailOccasion): Mail => ({
  to: user.primaryEmail,
  subject: 'Your remembered login was used from two places',
  paragraphs: [
    `A remembered login of the account ${user.login} was used a second time at ${at.toISOString()}, from ` +
      `the address ${sourceIp}. Its cookie may have been copied from your browser.`,
    'To be safe, we ended all of your sessions and remembered logins. Access tokens still work. Please ' +
      'sign in again; if you do not know the reason, change your password and review your access tokens.',
  ],
  accountId: user.id,
})
