import { isLeft, right } from 'fp-ts/lib/Either.js'
import { pageOffset } from '../../core/kernel/page.ts'
import { makeAddOwnEmails, makeRemoveOwnEmails } from '../../core/identity/change-own-emails.ts'
import type { EmailRecord } from '../../core/identity/types.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handle } from '../kit/route.ts'
import { addEmails, listEmails, removeEmails } from './email.routes.ts'
import type { IdentityGiven } from './needs.ts'

const emailWire = (email: EmailRecord, login: string) => ({
  email: email.email,
  verified: email.verified,
  primary: email.isPrimary,
  user_id: email.userId,
  username: login,
})

export const emailRoutes = (given: IdentityGiven): readonly BoundRoute[] => {
  const add = makeAddOwnEmails(given)
  const remove = makeRemoveOwnEmails(given)
  return [
    handle(listEmails, async ({ call, page }) => {
      const { userId, login } = call.principal
      const all = await given.stores.emails.list(userId)
      const items = all.slice(pageOffset(page), pageOffset(page) + page.limit)
      return right({ items: items.map((email) => emailWire(email, login)), total: all.length })
    }),
    handle(addEmails, async ({ call, body }) => {
      const added = await add(call, body.emails)
      return isLeft(added) ? added : right(added.right.map((email) => emailWire(email, call.principal.login)))
    }),
    handle(removeEmails, ({ call, body }) => remove(call, body.emails)),
  ]
}
