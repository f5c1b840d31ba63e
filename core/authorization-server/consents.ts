import { right } from 'fp-ts/lib/Either.js'
import type { Outcome } from '../kernel/failure.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOfConsent } from './audit.ts'
import type { AuthorizationServerStores, ConsentStore } from './ports.ts'
import { removeAllRecords } from './records.ts'
import type { ApplicationId, ShownConsent } from './types.ts'

/** Lists what the caller has allowed applications, newest first. */
export const makeListConsents =
  ({ consents }: { readonly consents: ConsentStore }) =>
  async (call: SignedInCall<never>, page: PageRequest): Outcome<never, Page<ShownConsent>> =>
    right(await consents.list(call.principal.userId, page))

/**
 * Withdraws what the caller has allowed an application: its access tokens, refresh tokens and codes of the caller end
 * at once. Nothing changes if there is nothing.
 */
export const makeWithdrawConsent =
  ({ unitOfWork }: { readonly unitOfWork: UnitOfWork<AuthorizationServerStores> }) =>
  async (call: SignedInCall<void>, applicationId: ApplicationId): Outcome<never, void> =>
    unitOfWork.run<never, void>(call, async (stores) => {
      const { userId, login } = call.principal
      await stores.tokens.lockOwner(userId)
      const records = await removeAllRecords(stores, () => stores.records.ofApplication(applicationId, userId))
      // Those that the application has made with its own tokens.
      const tokens = await stores.tokens.removeOfApplication(userId, applicationId)
      if ((await stores.consents.remove(userId, applicationId)) || records + tokens > 0)
        await stores.audit.record(
          auditOfConsent({ id: userId, login }, 'user.application_withdrawn', { application: applicationId }),
        )
      return right(undefined)
    })
