import { AsyncLocalStorage } from 'node:async_hooks'
import { getOrMake } from '../../core/kernel/cache.ts'
import type { Call } from '../../core/kernel/principal.ts'
import type { ApplicationStore, KeptAnswer, SessionCaller } from '../../core/authorization-server/ports.ts'
import type { Application } from '../../core/authorization-server/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'

/** What an answer depends on, collected while it is made. */
export interface AnswerBasis {
  /** Notes an account whose rows were read. */
  note(account: AccountId | undefined): void
  /** The answer is not kept. */
  forgo(): void
  answer: KeptAnswer | undefined
}

/** What the library does not pass on to the stores and functions that it calls. */
export interface RequestScope {
  /** The person whose session the browser carries. */
  readonly caller: SessionCaller | undefined
  readonly sourceIp: string
  readonly userAgent: string
  /** Undefined while a person answers. */
  readonly call?: Call
  /** Ends the session of the caller: the person signs out at an application. */
  readonly signOut?: (() => Promise<void>) | undefined
  /** What the answer depends on; undefined if it is not kept. */
  readonly basis?: AnswerBasis | undefined
  /** The applications that were read for the request. */
  readonly applications?: Map<string, Promise<Application | undefined>>
}

export const requestScope = new AsyncLocalStorage<RequestScope>()

/** Returns applications by their client ids, each of which is read once for a request. */
export const readOnceForRequest = (read: ApplicationStore['byClientId']): ApplicationStore['byClientId'] => {
  return async (clientId) => {
    const applications = requestScope.getStore()?.applications
    if (applications === undefined) return read(clientId)
    const application = await getOrMake(applications, clientId, () => read(clientId))
    if (application === undefined) applications.delete(clientId)
    return application
  }
}
