import { right } from 'fp-ts/lib/Either.js'
import { AllowancesPort } from '../../../core/identity/attempt-ports.ts'
import type { OwnEmailChange } from '../../../core/identity/emails/own-emails.ts'
import {
  makeAddOwnEmails,
  makeChangeOwnEmail,
  makeRemoveOwnEmail,
  makeRemoveOwnEmails,
} from '../../../core/identity/emails/own-emails.ts'
import {
  DomainNamesPort,
  IdentitySettingsPort,
  IdentityStoresPort,
  IdentityUnitOfWorkPort,
  TokenDigestPort,
} from '../../../core/identity/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { pageWithin } from '../../../core/kernel/page.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { emailWire } from '../accounts/user-wire.ts'
import {
  addEmails,
  changeAccountEmail,
  listAccountEmails,
  listEmails,
  removeAccountEmail,
  removeEmails,
} from './emails.routes.ts'

/** No address has this id. */
const noId = 0

const changeOf = (
  method: 'PRIMARY' | 'SENDACTIVATION' | undefined,
  id: number | undefined,
  email: string | undefined,
): OwnEmailChange => {
  if (method === undefined) return { kind: 'add', email: email ?? '' }
  return { kind: method === 'PRIMARY' ? 'make-primary' : 'resend-confirmation', id: id ?? noId }
}

export const emailGroup = defineGroup({
  needs: {
    allowances: AllowancesPort,
    clock: ClockPort,
    digest: TokenDigestPort,
    domains: DomainNamesPort,
    entropy: EntropyPort,
    settings: IdentitySettingsPort,
    stores: IdentityStoresPort,
    unitOfWork: IdentityUnitOfWorkPort,
  },
  routes: (given) => {
    const { emails } = given.stores
    return [
      handle(
        listEmails,
        async ({ principal }, { page }) => right(pageWithin(await emails.list(principal.userId), page)),
        {
          reply: (email, { call }) => emailWire(email, call.principal.login, given.domains),
        },
      ),
      handle(addEmails, makeAddOwnEmails(given), {
        input: ({ body }) => body.emails,
        reply: (added, { call }) => added.map((email) => emailWire(email, call.principal.login, given.domains)),
      }),
      handle(removeEmails, makeRemoveOwnEmails(given), { input: ({ body }) => body.emails }),
      handle(
        listAccountEmails,
        async ({ principal }, { page }) => right(pageWithin(await emails.list(principal.userId), page)),
        {
          reply: (email, { call }) => ({ id: email.id, ...emailWire(email, call.principal.login, given.domains) }),
        },
      ),
      handle(changeAccountEmail, makeChangeOwnEmail(given), {
        input: ({ query, body }) => changeOf(query._method, query.id, body.email),
      }),
      handle(removeAccountEmail, makeRemoveOwnEmail(given), { input: ({ query }) => query.id }),
    ]
  },
})
