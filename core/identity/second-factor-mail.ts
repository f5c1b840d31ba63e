import type { Mail } from '../kernel/mail.ts'
import type { MailOccasion } from './account-mail.ts'
import type { User } from './types.ts'

const sentence = (user: User, { at, sourceIp }: MailOccasion, what: string): string =>
  `${what} for the account ${user.login} at ${at.toISOString()}, from the address ${sourceIp}.`

const ifNotYou = 'If this was not you, change your password, end your sessions and delete your access tokens, then tell an administrator.'

const mailTo = (user: User, subject: string, paragraphs: readonly string[]): Mail => ({
  to: user.primaryEmail,
  subject,
  paragraphs: [...paragraphs, ifNotYou],
  accountId: user.id,
})

export const enrolledMail = (user: User, occasion: MailOccasion): Mail =>
  mailTo(user, 'A second factor was set up', [
    sentence(user, occasion, 'A second factor was set up'),
    'From now on signing in takes a code of your authenticator app besides the password. Keep the recovery codes that you were shown where you find them without your phone.',
  ])

export const disabledMail = (user: User, occasion: MailOccasion): Mail =>
  mailTo(user, 'Your second factor was switched off', [
    sentence(user, occasion, 'The second factor was switched off'),
    'From now on the password alone signs in. The recovery codes are void.',
  ])

/** Says no address: it would be the administrator's. */
export const resetByAdminMail = (user: User, at: Date): Mail =>
  mailTo(user, 'An administrator removed your second factor', [
    `An administrator removed the second factor of the account ${user.login} at ${at.toISOString()}.`,
    'From now on the password alone signs in. The recovery codes are void, and all your sessions were ended. You may set up a second factor again in your security settings.',
  ])

export const recoveryCodesReplacedMail = (user: User, occasion: MailOccasion): Mail =>
  mailTo(user, 'Your recovery codes were replaced', [
    sentence(user, occasion, 'New recovery codes were made'),
    'The old recovery codes are void.',
  ])

export const recoveryCodeUsedMail = (user: User, occasion: MailOccasion, codesLeft: number): Mail =>
  mailTo(user, 'A recovery code was used', [
    sentence(user, occasion, 'A recovery code was used instead of a code of the authenticator app'),
    codesLeft === 0
      ? 'No recovery code is left: make new ones in your security settings.'
      : `Recovery codes left: ${codesLeft}. New ones can be made in your security settings.`,
  ])
