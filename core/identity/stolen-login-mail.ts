import type { Mail } from '../kernel/mail.ts'
import type { MailOccasion } from './account-mail.ts'
import type { User } from './types.ts'

/** Tells a user that a copy of the own remember cookie was used. */
export const stolenLoginMail = (user: User, { at, sourceIp }: MailOccasion): Mail => ({
  to: user.primaryEmail,
  subject: 'Your remembered login was used from two places',
  paragraphs: [
    `A remembered login of the account ${user.login} was used a second time at ${at.toISOString()}, from the address ${sourceIp}. Somebody may have copied its cookie from your browser.`,
    'To be safe, we ended all of your sessions and remembered logins. Access tokens still work. Please sign in again; if you do not know how this came about, change your password and look through your access tokens.',
  ],
  accountId: user.id,
})
