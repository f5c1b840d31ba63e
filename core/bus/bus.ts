import type { Clock } from '../kernel/clock.ts'
import type { Entropy, SecretBox } from '../kernel/secret.ts'
import { token } from '../kernel/token.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { IssueCredentials } from './credentials.ts'
import { makeIssueCredentials } from './credentials.ts'
import { makeSealedKeys } from './keys.ts'
import type { PushClaims, PushDue } from './accounts.ts'
import { makeOpenAccount, makePushClaims, makePushDue, makeReconcileClaims } from './accounts.ts'
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
}

/** The bus operations used by several parts: routes, jobs, and the sign-in, which issues passes to browsers. */
export interface Bus {
  readonly issue: IssueCredentials
  readonly push: PushClaims
  readonly pushDue: PushDue
  readonly reconcile: PushDue
}
export const BusToken = token<Bus>('bus.Bus')

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
