import type { BusPasses } from '../identity/sessions/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Entropy, SecretBox } from '../kernel/secret.ts'
import { portKey } from '../kernel/port-key.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { PushClaims, PushDue } from './accounts.ts'
import { makeOpenAccount, makePushClaims, makePushDue, makeReconcileClaims } from './accounts.ts'
import type { IssueCredentials } from './credentials.ts'
import { makeIssueCredentials } from './credentials.ts'
import { makeSealedKeys } from './keys.ts'
import type { SentSubject } from './types.ts'
import type { BusIdentityStore, BusMint, BusServer, BusStores, BusUserStore } from './ports.ts'

export interface BusDeps {
  readonly identities: BusIdentityStore
  readonly users: BusUserStore
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly mint: BusMint
  readonly server: BusServer
  readonly secretBox: SecretBox
  readonly entropy: Entropy
  readonly clock: Clock
  readonly sent: readonly SentSubject[]
}

/** The bus operations used by several parts: routes, jobs, and the sign-in, which issues passes to browsers. */
export interface Bus {
  readonly issue: IssueCredentials
  readonly push: PushClaims
  readonly pushDue: PushDue
  readonly reconcile: PushDue
}
export const BusPort = portKey<Bus>('bus.Bus')

export const makeBus = (given: BusDeps): Bus => {
  const deps = { ...given, safe: makeSealedKeys(given.secretBox, given.entropy) }
  const push = makePushClaims(deps)
  return {
    issue: makeIssueCredentials({ ...deps, push, openAccount: makeOpenAccount({ ...deps, push }) }),
    push,
    pushDue: makePushDue({ ...deps, push }),
    reconcile: makeReconcileClaims({ ...deps, push }),
  }
}

const longestMs = 1_000

/**
 * Returns the passes, or none if they take longer than a second or fail, so that they neither delay a sign-in further
 * nor fail it.
 */
export const makeBoundedPasses = (passes: BusPasses, log: Log): BusPasses => ({
  passFor: (user, validSeconds) =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), longestMs)
      passes
        .passFor(user, validSeconds)
        .catch((error: unknown) => {
          log.warn({ reason: (error as Error).message }, 'a sign-in got no pass for the message bus')
          return undefined
        })
        .then(
          (pass) => {
            clearTimeout(timer)
            resolve(pass)
          },
          () => resolve(undefined),
        )
    }),
})
