import { right } from 'fp-ts/lib/Either.js'
import { mapPage, pageWithin } from '../../core/kernel/page.ts'
import { makeAddOwnEmails, makeRemoveOwnEmails } from '../../core/identity/change-own-emails.ts'
import type { EmailRecord } from '../../core/identity/types.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle, handleChange } from '../kit/route.ts'
import { addEmails, listEmails, removeEmails } from './email.routes.ts'
import { emailWire } from './email-wire.ts'
import type { IdentityGiven } from './needs.ts'

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
