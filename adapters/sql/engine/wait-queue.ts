import { Unavailable } from '../../../core/kernel/failure.ts'
import type { AccountKey } from '../../../core/kernel/turns.ts'
import { AccountQueue } from '../../../core/kernel/turns.ts'
import { isForEveryone, startWait } from '../../outbound/account-turns.ts'

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
  /** @param account the one that `take` passed. */
  release(account?: AccountKey): void
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
 *
 * Accounts take turns as in `FairTurns` with calls of equal length, which would cost as much as a statement where some
 * hundred wait.
 * @param message the message of the `Unavailable` that a caller gets after a timeout.
 */
export const makeWaitQueue = (
  places: number,
  waitMilliseconds: number,
  message: string,
  { account: accountOf = () => undefined, perAccount = places }: WaitOptions = {},
): WaitQueue => {
  let free = places
  const held = makeHeld(perAccount < places ? perAccount : undefined)
  const waiters = new AccountQueue<Waiter>()
  let [waits, waitSeconds] = [0, 0]
  const tryTakeFor = (account: AccountKey): boolean => {
    if (free === 0 || held.isFull(account)) return false
    free--
    held.add(account)
    waits++
    return true
  }
  const grant = (): void => {
    for (;;) {
      const next = free === 0 ? undefined : waiters.removeNext(held.isFull)
      if (next === undefined) return
      free--
      held.add(next.account)
      clearTimeout(next.item.timer)
      next.item.done(undefined)
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
      const waiter: Waiter = { done: granted, timer: start(waitMilliseconds) }
      const end = (late: number): void => {
        if (late > stillMilliseconds) return void (waiter.timer = start(Math.min(late, waitMilliseconds)))
        waiters.remove(account, waiter)
        granted(new Unavailable(message))
      }
      waiters.add(account, waiter)
    },
    release: (account) => {
      free++
      held.remove(account)
      grant()
    },
    load: () => ({ used: places - free, free, waiting: waiters.size, waits, waitSeconds }),
  }
}

/** The places of each account. Without a limit they are not counted. */
const makeHeld = (limit: number | undefined) => {
  const places = new Map<AccountKey, number>()
  const isCounted = (account: AccountKey): boolean => limit !== undefined && account !== undefined
  return {
    isFull: (account: AccountKey): boolean =>
      limit !== undefined && account !== undefined && (places.get(account) ?? 0) >= limit,
    add: (account: AccountKey): void => {
      if (isCounted(account)) places.set(account, (places.get(account) ?? 0) + 1)
    },
    remove: (account: AccountKey): void => {
      if (!isCounted(account)) return
      const left = (places.get(account) ?? 0) - 1
      if (left > 0) places.set(account, left)
      else places.delete(account)
    },
  }
}

/** Takes a place; returns a promise. */
export const takePlace = (queue: WaitQueue): Promise<void> =>
  queue.tryTake()
    ? Promise.resolve()
    : new Promise((resolve, reject) => queue.take((error) => (error === undefined ? resolve() : reject(error))))
