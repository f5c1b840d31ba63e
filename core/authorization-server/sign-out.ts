import { right } from 'fp-ts/lib/Either.js'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOfConsent } from './audit.ts'
import type { AuthorizationServerStores, SessionCaller } from './ports.ts'

/** Ends the session of a person who signs out at an application, with what it was granted. */
export const makeSignOutCaller =
  ({ unitOfWork }: { readonly unitOfWork: UnitOfWork<AuthorizationServerStores> }) =>
  async ({ userId, sessionId }: SessionCaller, call: Call): Promise<void> => {
    await unitOfWork.run<never, void>(call as Call<void>, async ({ sessions, audit, tokens }) => {
      await tokens.lockOwner(userId)
      if (await sessions.remove(userId, sessionId))
        await audit.record(auditOfConsent({ id: userId }, 'user.signed_out_by_application', { session: sessionId }))
      return right(undefined)
    })
  }
