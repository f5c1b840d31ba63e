import type { PoolLoad } from '../../core/platform/ports.ts'
import { startWait } from './work-queue.ts'

/** An account, or `undefined` for work of the service itself, which counts as one account. */
export type AccountKey = number | string | undefined

export interface TurnLimits {
  /** The name of the pool in traces. */
  readonly pool: string
  /** The number of turns at the same time. */
  readonly inAll: number
  readonly perAccount: number
  /** The number of calls of one account that wait; further ones are refused. */
  readonly waitingPerAccount: number
  /** The longest wait. */
  readonly waitMilliseconds: number
}

/** Too many calls of this account wait, or its turn did not come in time. The message is for people. */
export class TurnRefused extends Error {}

/**
 * A bounded number of turns. Accounts that wait get them one after the other, however many calls each of them makes,
 * and an account that has all its turns holds up no other.
 */
export interface AccountTurns {
  /**
   * Runs the work when its turn comes. Rejects with TurnRefused before the work starts, or with the error of the work.
   */
  run<A>(account: AccountKey, work: () => Promise<A>): Promise<A>
  /** The calls that have a turn, and those that wait. */
  load(): PoolLoad
}

interface Waiter {
  readonly admit: () => void
}

export const makeAccountTurns = (limits: TurnLimits): AccountTurns => {
  const runningOf = new Map<AccountKey, number>()
  /** In the order in which the accounts get their next turn. */
  const waitersOf = new Map<AccountKey, Waiter[]>()
  let running = 0
  let [waits, waitSeconds] = [0, 0]

  const hasRoom = (account: AccountKey): boolean =>
    running < limits.inAll && (runningOf.get(account) ?? 0) < limits.perAccount

  const count = (account: AccountKey, by: 1 | -1): void => {
    running += by
    const now = (runningOf.get(account) ?? 0) + by
    if (now === 0) runningOf.delete(account)
    else runningOf.set(account, now)
  }

  const admitNext = (): void => {
    const next = [...waitersOf].find(([account]) => hasRoom(account))
    if (next === undefined) return
    const [account, waiters] = next
    const waiter = waiters.shift()
    waitersOf.delete(account)
    if (waiters.length > 0) waitersOf.set(account, waiters)
    waiter?.admit()
  }

  const leave = (account: AccountKey, waiter: Waiter): void => {
    const left = (waitersOf.get(account) ?? []).filter((each) => each !== waiter)
    if (left.length === 0) waitersOf.delete(account)
    else waitersOf.set(account, left)
  }

  /** Resolves when the turn is counted. */
  const take = (account: AccountKey): Promise<void> => {
    const waiters = waitersOf.get(account) ?? []
    if (hasRoom(account) && waiters.length === 0) {
      count(account, 1)
      return Promise.resolve()
    }
    if (waiters.length >= limits.waitingPerAccount)
      return Promise.reject(new TurnRefused('Too many requests of this kind wait already. Try again later.'))
    const endWait = startWait(limits.pool)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        leave(account, waiter)
        reject(new TurnRefused('The service is busy with requests of this kind. Try again later.'))
      }, limits.waitMilliseconds)
      const waiter: Waiter = {
        admit() {
          clearTimeout(timer)
          count(account, 1)
          endWait()
          resolve()
        },
      }
      waitersOf.set(account, [...waiters, waiter])
    })
  }

  return {
    async run(account, work) {
      const since = performance.now()
      await take(account)
      waits += 1
      waitSeconds += (performance.now() - since) / 1000
      try {
        return await work()
      } finally {
        count(account, -1)
        admitNext()
      }
    },
    load: () => ({
      running,
      waiting: [...waitersOf.values()].reduce((sum, { length }) => sum + length, 0),
      waits,
      waitSeconds,
    }),
  }
}
