import { isLeft, right } from 'fp-ts/lib/Either.js'
import { mapPage, pageWithin } from '../../core/kernel/page.ts'
import { makeAddOwnEmails, makeRemoveOwnEmails } from '../../core/identity/change-own-emails.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
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
    handle(addEmails, async ({ call, body }) => {
      const added = await add(call, body.emails)
      return isLeft(added) ? added : right(added.right.map((email) => emailWire(email, call.principal.login)))
    }),
    handle(removeEmails, ({ call, body }) => remove(call, body.emails)),
  ]
}
