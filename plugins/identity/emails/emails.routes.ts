import * as t from 'io-ts'
import { EmailDomainRefused } from '../../../core/identity/site-rules.ts'
import { EmailInvalid } from '../../../core/identity/emails/email-address.ts'
import { TooManyMails } from '../../../core/identity/emails/link-codes.ts'
import {
  EmailIsPrimary,
  EmailIsVerified,
  EmailMissing,
  TooManyEmails,
  EmailNotVerified,
} from '../../../core/identity/emails/own-emails.ts'
import { EmailTaken } from '../../../core/identity/ports.ts'
import { signedIn } from '../../kit/access.ts'
import { described, oneOf, optional, queryId, request } from '../../kit/codecs.ts'
import { empty, json, list } from '../../kit/reply.ts'
import { body, routesOf } from '../../kit/route.ts'
import { AccountEmail, AddEmailParams, CreateEmailOption, DeleteEmailOption, Email, emailExample } from '../codecs.ts'

const route = routesOf({ tag: 'Identity - Users & Settings', access: signedIn, scopeCategory: 'user' })
const emailsExample = { emails: ['ada@example.net'] }

export const listEmails = route({
  id: 'identity.listEmails',
  method: 'GET',
  path: '/user/emails',
  summary: "List the caller's e-mail addresses, the primary one first",
  description: 'Includes addresses that are not confirmed yet.',
  ok: list(Email, emailExample),
})

export const addEmails = route({
  id: 'identity.addEmails',
  method: 'POST',
  path: '/user/emails',
  summary: 'Add e-mail addresses, all or none',
  description:
    'New addresses are unverified: they cannot be used for signing in or as the primary address until the ' +
    'code that is mailed to each of them is sent to `/user/activate`. An account has at most ten ' +
    'addresses. If a site admin acts as the user, both are recorded, and the primary address is notified.',
  body: body(CreateEmailOption, emailsExample, { malformedAs: 422 }),
  ok: json(201, t.array(Email), [
    emailExample,
    { ...emailExample, email: 'ada@example.net', display_email: 'ada@example.net', verified: false, primary: false },
  ]),
  failures: [EmailInvalid, EmailTaken, EmailDomainRefused, TooManyEmails, TooManyMails],
})

export const removeEmails = route({
  id: 'identity.removeEmails',
  method: 'DELETE',
  path: '/user/emails',
  summary: 'Remove e-mail addresses, all or none; the primary one stays',
  description:
    "Returns an error, and removes none, if one of the addresses is not the caller's, or is the primary one.",
  body: body(DeleteEmailOption, emailsExample, { malformedAs: 422 }),
  ok: empty(204),
  failures: [EmailMissing, EmailIsPrimary],
})

export const listAccountEmails = route({
  id: 'identity.listAccountEmails',
  method: 'GET',
  path: '/user/settings/account/email',
  summary: "List the caller's e-mail addresses with their ids, the primary one first",
  description: 'Includes addresses that are not confirmed yet. The ids are those that changes of one address need.',
  ok: list(AccountEmail, { id: 3, ...emailExample }),
})

export const changeAccountEmail = route({
  id: 'identity.changeAccountEmail',
  method: 'POST',
  path: '/user/settings/account/email',
  summary: 'Add an e-mail address, make one the primary, or send its confirmation again',
  description:
    'Without `_method` the body contains an address to add, which is unverified until the code of the mail ' +
    'is sent to `/user/activate`. `_method=PRIMARY` makes the verified address `id` the primary one and ' +
    'notifies the old one by mail. `_method=SENDACTIVATION` sends the confirmation of `id` again, at most ' +
    'five mails per hour to one address.',
  refusesSudo: true,
  query: request(
    {
      _method: described(
        optional(oneOf('PRIMARY', 'SENDACTIVATION')),
        '`PRIMARY` makes the address `id` the primary one, `SENDACTIVATION` sends its confirmation again; if ' +
          'absent, the address of the body is added.',
      ),
      id: described(optional(queryId('email')), 'The id of an address of the caller; needed with `_method`.'),
    },
    'AccountEmailQuery',
  ),
  body: body(AddEmailParams, { email: 'ada@example.net' }, { whenAbsent: {} }),
  ok: empty(200),
  failures: [
    EmailInvalid,
    EmailTaken,
    EmailMissing,
    EmailNotVerified,
    EmailIsVerified,
    EmailDomainRefused,
    TooManyEmails,
    TooManyMails,
  ],
})

export const removeAccountEmail = route({
  id: 'identity.removeAccountEmail',
  method: 'POST',
  path: '/user/settings/account/email/delete',
  summary: 'Remove one e-mail address by its id; the primary one stays',
  description: 'Returns an error, and changes nothing, for an address of another user and for the primary one.',
  refusesSudo: true,
  query: request(
    {
      id: described(queryId('email'), 'The id of the address to remove.'),
    },
    'RemoveAccountEmailQuery',
  ),
  ok: empty(200),
  failures: [EmailMissing, EmailIsPrimary],
})
