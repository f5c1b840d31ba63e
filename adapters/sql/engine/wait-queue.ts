import { Unavailable } from '../../../core/kernel/failure.ts'

/** How many places are taken and free, and how many callers wait for one. */
export interface QueueLoad {
  readonly used: number
  readonly free: number
  readonly waiting: number
}

/** Hands out a fixed number of places in the order of asking. */
export interface WaitQueue {
  /** Takes a place at once when one is free. */
  tryTake(): boolean
  /** Calls back when a place is there, or with `Unavailable` when none came free in time. */
  take(done: (error: Unavailable | undefined) => void): void
  release(): void
  load(): QueueLoad
}

interface Waiter {
  readonly done: (error: Unavailable | undefined) => void
  readonly timer: NodeJS.Timeout
}

/** `message` is what a caller reads who waited in vain. */
export const makeWaitQueue = (places: number, waitMilliseconds: number, message: string): WaitQueue => {
  let free = places
  // A map keeps the order and forgets a waiter who gave up without a search.
  const waiters = new Map<number, Waiter>()
  let nextTicket = 0
  const tryTake = (): boolean => {
    if (free === 0) return false
    free--
    return true
  }
  return {
    tryTake,
    take: (done) => {
      if (tryTake()) return done(undefined)
      const ticket = nextTicket++
      const timer = setTimeout(() => {
        waiters.delete(ticket)
        done(new Unavailable(message))
      }, waitMilliseconds)
      waiters.set(ticket, { done, timer })
    },
    release: () => {
      for (const [ticket, waiter] of waiters) {
        waiters.delete(ticket)
        clearTimeout(waiter.timer)
        return waiter.done(undefined)
      }
      free++
    },
    load: () => ({ used: places - free, free, waiting: waiters.size }),
  }
}

/** The same as a promise. */
export const takePlace = (queue: WaitQueue): Promise<void> =>
  queue.tryTake()
    ? Promise.resolve()
    : new Promise((resolve, reject) => queue.take((error) => (error === undefined ? resolve() : reject(error))))
