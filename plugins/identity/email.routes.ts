import * as t from 'io-ts'
import { EmailIsPrimary, EmailMissing, TooManyEmails } from '../../core/identity/change-own-emails.ts'
import { EmailInvalid } from '../../core/identity/email-address.ts'
import { TooManyMails } from '../../core/identity/link-codes.ts'
import { EmailTaken } from '../../core/identity/ports.ts'
import { EmailDomainRefused } from '../../core/identity/site-rules.ts'
import { read, signedIn, write } from '../kit/access.ts'
import { empty, json, list } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import { CreateEmailOption, DeleteEmailOption, Email } from './codecs.ts'
import { emailExample } from './examples.ts'

const tag = 'Identity - Users & Settings'
const emailsExample = { emails: ['ada@example.net'] }

export const listEmails = defineRoute({
  id: 'identity.listEmails',
  method: 'GET',
  path: '/user/emails',
  summary: "List the caller's e-mail addresses, the primary one first",
  tag,
  access: signedIn,
  scope: read('user'),
  ok: list(Email, emailExample),
  failures: [],
})

export const addEmails = defineRoute({
  id: 'identity.addEmails',
  method: 'POST',
  path: '/user/emails',
  summary: 'Add e-mail addresses, all or none',
  description:
    'New addresses are unverified: they serve neither for signing in nor as the primary address until the code of the mail that goes to each of them is sent to `/user/activate`. An account has at most ten. A site admin who acts as the user is recorded beside the user, and the primary address is told.',
  tag,
  access: signedIn,
  scope: write('user'),
  body: body(CreateEmailOption, emailsExample, { malformedAs: 422 }),
  ok: json(201, t.array(Email), [emailExample, { ...emailExample, email: 'ada@example.net', verified: false, primary: false }]),
  failures: [EmailInvalid, EmailTaken, EmailDomainRefused, TooManyEmails, TooManyMails],
})

export const removeEmails = defineRoute({
  id: 'identity.removeEmails',
  method: 'DELETE',
  path: '/user/emails',
  summary: 'Remove e-mail addresses, all or none; the primary one stays',
  tag,
  access: signedIn,
  scope: write('user'),
  body: body(DeleteEmailOption, emailsExample, { malformedAs: 422 }),
  ok: empty(204),
  failures: [EmailMissing, EmailIsPrimary],
})
