import { isLeft, right } from 'fp-ts/lib/Either.js'
import { mapPage, pageWithin } from '../../core/kernel/page.ts'
import { makeAddOwnEmails } from '../../core/identity/change-own-emails.ts'
import { makeChoosePrimaryEmail, makeRemoveOwnEmail, makeResendConfirmation } from '../../core/identity/own-email-settings.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { changeAccountEmail, listAccountEmails, removeAccountEmail } from './account-email.routes.ts'
import { emailWire } from './email-wire.ts'
import type { IdentityGiven } from './needs.ts'

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
      const added = await add(call, [body.email ?? ''])
      return isLeft(added) ? added : right(undefined)
    }),
    handle(removeAccountEmail, ({ call, query }) => remove(call, query.id)),
  ]
}
