import { EmailIsPrimary, EmailMissing, TooManyEmails } from '../../core/identity/change-own-emails.ts'
import { EmailInvalid } from '../../core/identity/email-address.ts'
import { TooManyMails } from '../../core/identity/link-codes.ts'
import { EmailIsVerified } from '../../core/identity/own-email-settings.ts'
import { EmailTaken } from '../../core/identity/ports.ts'
import { EmailNotVerified } from '../../core/identity/primary-email.ts'
import { EmailDomainRefused } from '../../core/identity/site-rules.ts'
import { read, signedIn, write } from '../kit/access.ts'
import { oneOf, optional, QueryId, request } from '../kit/codecs.ts'
import { empty, list } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { AccountEmail, AddEmailParams } from './codecs.ts'
import { emailExample } from './examples.ts'

const tag = 'Identity - Users & Settings'

export const listAccountEmails = defineRoute({
  id: 'identity.listAccountEmails',
  method: 'GET',
  path: '/user/settings/account/email',
  summary: "List the caller's e-mail addresses with their ids, the primary one first",
  tag,
  access: signedIn,
  scope: read('user'),
  ok: list(AccountEmail, { id: 3, ...emailExample }),
  failures: [],
})

export const changeAccountEmail = defineRoute({
  id: 'identity.changeAccountEmail',
  method: 'POST',
  path: '/user/settings/account/email',
  summary: "Add an e-mail address, make one the primary, or send its confirmation again",
  description:
    'Without `_method` the body names an address to add, which is unverified until the code of the mail is sent to `/user/activate`. `_method=PRIMARY` makes the verified address `id` the primary one and tells the old one by mail. `_method=SENDACTIVATION` sends the confirmation of `id` again, at most five mails an hour to one address.',
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  query: request({ _method: optional(oneOf('PRIMARY', 'SENDACTIVATION')), id: optional(QueryId) }, 'AccountEmailQuery'),
  body: body(AddEmailParams, { email: 'ada@example.net' }, { whenAbsent: {} }),
  ok: empty(200),
  failures: [EmailInvalid, EmailTaken, EmailMissing, EmailNotVerified, EmailIsVerified, EmailDomainRefused, TooManyEmails, TooManyMails],
})

export const removeAccountEmail = defineRoute({
  id: 'identity.removeAccountEmail',
  method: 'POST',
  path: '/user/settings/account/email/delete',
  summary: 'Remove one e-mail address by its id; the primary one stays',
  tag,
  access: signedIn,
  scope: write('user'),
  refusesSudo: true,
  query: request({ id: QueryId }, 'RemoveAccountEmailQuery'),
  ok: empty(200),
  failures: [EmailMissing, EmailIsPrimary],
})
