import { AsyncLocalStorage } from 'node:async_hooks'
import type { Call } from '../../core/kernel/principal.ts'
import type { SessionCaller } from '../../core/authorization-server/ports.ts'

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
}

export const requestScope = new AsyncLocalStorage<RequestScope>()
