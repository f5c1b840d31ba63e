import { left, right } from 'fp-ts/lib/Either.js'
import { changedFields, isUnchanged } from '../../kernel/json.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfUser } from '../audit.ts'
import type { PageSizes } from './ports.ts'
import type { IdentityChanges } from '../ports.ts'

export const PageSizeInvalid = defineFailure('PageSizeInvalid', 'Unprocessable')

const maxPageSize = 1_000
export const defaultPageSizes: PageSizes = { productUi: 10, consoleUi: 10, platformUi: 10 }

/** Changes the caller's page sizes. An absent one is unchanged. */
export const makeChangePageSizes =
  (deps: { readonly unitOfWork: UnitOfWork<IdentityChanges> }) =>
  async (call: SignedInCall<PageSizes>, changes: Partial<PageSizes>): Outcome<Failure<'PageSizeInvalid'>, PageSizes> => {
    const isValid = Object.values(changes).every((size) => size >= 1 && size <= maxPageSize)
    if (!isValid) return left(PageSizeInvalid(`A page has 1 to ${maxPageSize} rows.`))
    return deps.unitOfWork.run<Failure<'PageSizeInvalid'>, PageSizes>(call, async (stores) => {
      const { userId } = call.principal
      const user = await stores.users.lock(userId)
      if (user === undefined) throw new Error('the account of an authenticated caller does not exist')
      const current = (await stores.pageSizes.find(userId)) ?? defaultPageSizes
      const changed = changedFields(current, changes)
      if (isUnchanged(changed)) return right(current)
      const sizes = { ...current, ...changed }
      await stores.pageSizes.put(userId, sizes)
      await stores.audit.record(auditOfUser(user, 'user.page_sizes_changed', changed))
      return right(sizes)
    })
  }
