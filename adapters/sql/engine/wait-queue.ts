import { Unavailable } from '../../../core/kernel/failure.ts'
import type { AccountKey } from '../../../core/kernel/fair-queue.ts'
import { FairQueue } from '../../../core/kernel/fair-queue.ts'
import { isForEveryone, startWait } from '../../outbound/account-limiter.ts'

/** The numbers of taken and free places, and of waiting callers. */
export interface QueueLoad {
  readonly used: number
  readonly free: number
  readonly waiting: number
  /** The number of places that were granted since the start, and how long their callers waited in all. */
  readonly waits: number
  readonly waitSeconds: number
}

/**
 * Grants a fixed number of places. While none is free, accounts get them in turn, and each account in the order of its
 * requests.
 */
export interface WaitQueue {
  /** Takes a place if one is free; for no account. */
  tryTake(): boolean
  /**
   * Calls back when a place is granted, with the account that has it, or with `Unavailable` if none became free in
   * time.
   */
  take(done: (error: Unavailable | undefined, account: AccountKey) => void): void
  /** @param account the one that `take` passed; undefined after `tryTake`. */
  release(account: AccountKey): void
  load(): QueueLoad
}

export interface WaitOptions {
  /** Returns the account for which the caller works; undefined for the service itself. */
  readonly account?: WaitingAccount
  /** The places that one account may have; by default all. The service itself may have all. */
  readonly perAccount?: number
}

/** Returns the account for which the caller works; undefined for the service itself. */
export type WaitingAccount = () => AccountKey

interface Waiter {
  readonly account: AccountKey
  readonly done: (error: Unavailable | undefined) => void
  timer: NodeJS.Timeout
}

/**
 * A timer that is later than this shows that the process stood still: it was stopped, or other work kept the event
 * loop.
 */
export const stillMilliseconds = 100

/**
 * The holders of the places stand still with this process. So a wait is longer by the time in which the process stood
 * still.
 * @param message the message of the `Unavailable` that a caller gets after a timeout.
 */
export const makeWaitQueue = (
  places: number,
  waitMilliseconds: number,
  message: string,
  { account: accountOf = () => undefined, perAccount = places }: WaitOptions = {},
): WaitQueue => {
  const queue = new FairQueue<Waiter>()
  const isFull = (account: AccountKey): boolean => account !== undefined && queue.runningOf(account) >= perAccount
  let [waits, waitSeconds] = [0, 0]
  const tryTakeFor = (account: AccountKey): boolean => {
    if (queue.running >= places || isFull(account)) return false
    queue.start({ account })
    waits++
    return true
  }
  const grant = (): void => {
    while (queue.running < places) {
      const next = queue.startNext(isFull)
      if (next === undefined) return
      clearTimeout(next.timer)
      next.done(undefined)
    }
  }
  return {
    tryTake: () => tryTakeFor(undefined),
    take: (done) => {
      const account = isForEveryone() ? undefined : accountOf()
      if (tryTakeFor(account)) return done(undefined, account)
      const start = (milliseconds: number): NodeJS.Timeout => {
        const due = performance.now() + milliseconds
        return setTimeout(() => end(performance.now() - due), milliseconds)
      }
      const since = performance.now()
      const endWait = startWait('database')
      const granted = (error: Unavailable | undefined): void => {
        endWait()
        waits++
        waitSeconds += (performance.now() - since) / 1000
        done(error, account)
      }
      const waiter: Waiter = { account, done: granted, timer: start(waitMilliseconds) }
      const end = (late: number): void => {
        if (late > stillMilliseconds) return void (waiter.timer = start(Math.min(late, waitMilliseconds)))
        queue.remove(waiter)
        granted(new Unavailable(message))
      }
      queue.add(waiter)
    },
    release: (account) => {
      queue.end({ account })
      grant()
    },
    load: () => ({
      used: queue.running,
      free: places - queue.running,
      waiting: queue.waiting,
      waits,
      waitSeconds,
    }),
  }
}

/** Takes a place; resolves with the account that has it, for `release`. */
export const takePlace = (queue: WaitQueue): Promise<AccountKey> =>
  queue.tryTake()
    ? Promise.resolve(undefined)
    : new Promise((resolve, reject) =>
        queue.take((error, account) => (error === undefined ? resolve(account) : reject(error))),
      )
