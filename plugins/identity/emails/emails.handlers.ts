import { isLeft, right } from 'fp-ts/lib/Either.js'
import {
  makeAddOwnEmails,
  makeChoosePrimaryEmail,
  makeRemoveOwnEmail,
  makeRemoveOwnEmails,
  makeResendConfirmation,
} from '../../../core/identity/emails/own-emails.ts'
import type { EmailRecord } from '../../../core/identity/types.ts'
import { mapPage, pageWithin } from '../../../core/kernel/page.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import { emailWire } from '../accounts/user-wire.ts'
import type { IdentityGiven } from '../needs.ts'
import { addEmails, changeAccountEmail, listAccountEmails, listEmails, removeAccountEmail, removeEmails } from './emails.routes.ts'

export const emailRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const add = makeAddOwnEmails(given)
  const remove = makeRemoveOwnEmails(given)
  return [
    handle(listEmails, async ({ call, page }) => {
      const { userId, login } = call.principal
      return right(mapPage(pageWithin(await given.stores.emails.list(userId), page), (email) => emailWire(email, login)))
    }),
    handleChange(
      addEmails,
      (added: readonly EmailRecord[], { call }) => added.map((email) => emailWire(email, call.principal.login)),
      ({ call, body }) => add(call, body.emails),
    ),
    handle(removeEmails, ({ call, body }) => remove(call, body.emails)),
  ]
}

/** No address has this id. */
const noId = 0

export const accountEmailRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const add = makeAddOwnEmails(given)
  const choosePrimary = makeChoosePrimaryEmail(given)
  const resend = makeResendConfirmation(given)
  const remove = makeRemoveOwnEmail(given)
  return [
    handle(listAccountEmails, async ({ call, page }) => {
      const { userId, login } = call.principal
      const listed = pageWithin(await given.stores.emails.list(userId), page)
      return right(mapPage(listed, (email) => ({ id: email.id, ...emailWire(email, login) })))
    }),
    handle(changeAccountEmail, async ({ call, query, body }) => {
      if (query._method === 'PRIMARY') return choosePrimary(call, query.id ?? noId)
      if (query._method === 'SENDACTIVATION') return resend(call, query.id ?? noId)
      const added = await add(call, [body.email ?? ''], 'email')
      return isLeft(added) ? added : right(undefined)
    }),
    handle(removeAccountEmail, ({ call, query }) => remove(call, query.id)),
  ]
}
