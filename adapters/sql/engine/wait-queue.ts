import { Unavailable } from '../../../core/kernel/failure.ts'
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

/** Grants a fixed number of places in the order of requests. */
export interface WaitQueue {
  /** Takes a place if one is free. */
  tryTake(): boolean
  /** Calls back when a place is granted, or with `Unavailable` if none became free in time. */
  take(done: (error: Unavailable | undefined) => void): void
  release(): void
  load(): QueueLoad
}

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
 * @param message the message of the `Unavailable` that a caller gets after a timeout.
 */
export const makeWaitQueue = (places: number, waitMilliseconds: number, message: string): WaitQueue => {
  let free = places
  // A map keeps the order and removes a cancelled waiter without a search.
  const waiters = new Map<number, Waiter>()
  let nextTicket = 0
  let [waits, waitSeconds] = [0, 0]
  const tryTake = (): boolean => {
    if (free === 0) return false
    free--
    waits++
    return true
  }
  return {
    tryTake,
    take: (done) => {
      if (tryTake()) return done(undefined)
      const ticket = nextTicket++
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
        waiters.delete(ticket)
        granted(new Unavailable(message))
      }
      waiters.set(ticket, waiter)
    },
    release: () => {
      for (const [ticket, waiter] of waiters) {
        waiters.delete(ticket)
        clearTimeout(waiter.timer)
        return waiter.done(undefined)
      }
      free++
    },
    load: () => ({ used: places - free, free, waiting: waiters.size, waits, waitSeconds }),
  }
}

/** Takes a place; returns a promise. */
export const takePlace = (queue: WaitQueue): Promise<void> =>
  queue.tryTake()
    ? Promise.resolve()
    : new Promise((resolve, reject) => queue.take((error) => (error === undefined ? resolve() : reject(error))))
