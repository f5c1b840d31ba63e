import { AsyncLocalStorage } from 'node:async_hooks'
import { Unavailable } from '../../../core/kernel/failure.ts'
import type { AccountKey } from '../../../core/kernel/turns.ts'
import { startWait } from '../../outbound/account-turns.ts'

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
  /** Takes a place if one is free. */
  tryTake(): boolean
  /** Calls back when a place is granted, or with `Unavailable` if none became free in time. */
  take(done: (error: Unavailable | undefined) => void): void
  release(): void
  load(): QueueLoad
}

/** Returns the account for which the caller works; undefined for the service itself. */
export type WaitingAccount = () => AccountKey

const everyone = new AsyncLocalStorage<true>()

/** Runs work for whose result callers of several accounts wait. It does not wait in the turns of one of them. */
export const forEveryone = <A>(work: () => A): A => everyone.run(true, work)

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
 * Accounts take turns as in `FairTurns` with calls of equal length, which would cost as much as the statement if some
 * hundred wait. A caller that finds a free place is not asked for its account.
 * @param message the message of the `Unavailable` that a caller gets after a timeout.
 */
export const makeWaitQueue = (
  places: number,
  waitMilliseconds: number,
  message: string,
  accountOf: WaitingAccount = () => undefined,
): WaitQueue => {
  let free = places
  // The account that is first gets the next place. Maps keep the order and remove a cancelled waiter without a search.
  const accounts = new Map<AccountKey, Map<number, Waiter>>()
  let [nextTicket, waiting] = [0, 0]
  let [waits, waitSeconds] = [0, 0]
  const tryTake = (): boolean => {
    if (free === 0) return false
    free--
    waits++
    return true
  }
  const leave = (account: AccountKey, ticket: number): void => {
    const own = accounts.get(account)
    if (own?.delete(ticket) !== true) return
    waiting--
    if (own.size === 0) accounts.delete(account)
  }
  const removeNext = (): Waiter | undefined => {
    for (const [account, own] of accounts) {
      // Behind the others that wait.
      accounts.delete(account)
      accounts.set(account, own)
      for (const [ticket, waiter] of own) {
        leave(account, ticket)
        return waiter
      }
    }
    return undefined
  }
  return {
    tryTake,
    take: (done) => {
      if (tryTake()) return done(undefined)
      const ticket = nextTicket++
      const account = everyone.getStore() === true ? undefined : accountOf()
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
        done(error)
      }
      const waiter: Waiter = { done: granted, timer: start(waitMilliseconds) }
      const end = (late: number): void => {
        if (late > stillMilliseconds) return void (waiter.timer = start(Math.min(late, waitMilliseconds)))
        leave(account, ticket)
        granted(new Unavailable(message))
      }
      const own = accounts.get(account) ?? new Map<number, Waiter>()
      accounts.set(account, own.set(ticket, waiter))
      waiting++
    },
    release: () => {
      const next = removeNext()
      if (next === undefined) return void free++
      clearTimeout(next.timer)
      next.done(undefined)
    },
    load: () => ({ used: places - free, free, waiting, waits, waitSeconds }),
  }
}

/** Takes a place; returns a promise. */
export const takePlace = (queue: WaitQueue): Promise<void> =>
  queue.tryTake()
    ? Promise.resolve()
    : new Promise((resolve, reject) => queue.take((error) => (error === undefined ? resolve() : reject(error))))
