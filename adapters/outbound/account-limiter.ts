import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import type { AccountKey, LimitedCall, LimiterChanges, LimiterCapacity } from '../../core/kernel/fair-queue.ts'
import { FairLimiter } from '../../core/kernel/fair-queue.ts'
import { Busy } from '../../core/kernel/failure.ts'
import type { PoolLoad } from '../../core/platform/ports.ts'

/** A wait for a place in a bounded pool that has ended. Times are milliseconds since 1970. */
export interface EndedWait {
  readonly pool: string
  readonly since: number
  readonly until: number
}

/** Gets an `EndedWait` in the asynchronous context of the caller who waited. */
export const endedWaits = channel('moorage.wait')

const now = (): number => performance.timeOrigin + performance.now()
const nothing = (): void => undefined

/** Begins a wait, and returns what ends it. Without a subscriber it does nothing. */
export const startWait = (pool: string): (() => void) => {
  if (!endedWaits.hasSubscribers) return nothing
  const since = now()
  // A place is given by the caller who leaves it, in the context of that one.
  const inContext = AsyncLocalStorage.snapshot()
  return () => inContext(() => endedWaits.publish({ pool, since, until: now() } satisfies EndedWait))
}

const everyone = new AsyncLocalStorage<true>()

/** Runs work for whose result callers of several accounts wait. It does not wait in the turns of one of them. */
export const forEveryone = <A>(work: () => A): A => everyone.run(true, work)

export const isForEveryone = (): boolean => everyone.getStore() === true

export interface AccountLimits extends Pick<LimiterCapacity, 'inAll' | 'perAccount' | 'waitingPerAccount'> {
  /** The name of the pool in traces. */
  readonly pool: string
  /** By default four times as many as of one account. */
  readonly waitingInAll?: number
  /** Unlimited by default. */
  readonly bytesPerAccount?: number
  readonly bytesInAll?: number
  /** The longest wait. By default a call waits until its signal. */
  readonly waitMilliseconds?: number
}

/** A call that wants a turn. */
export interface AskedTurn extends Partial<Pick<LimitedCall, 'named' | 'length' | 'bytes'>> {
  readonly account: AccountKey
  /** Ends the wait, but not the work. */
  readonly signal?: AbortSignal | undefined
}

/**
 * A bounded number of turns. Accounts that wait get them one after the other, however many calls each of them makes,
 * and an account that has all its turns holds up no other (FairLimiter).
 */
export interface AccountLimiter {
  /**
   * Runs the work when its turn comes. Rejects before the work starts with Busy (too many calls of the account wait, or
   * its turn did not come in time) or the reason of the signal; otherwise with the error of the work.
   */
  run<A>(asked: AskedTurn, work: () => Promise<A>): Promise<A>
  /** Waits for a turn, as `run` does. Returns what ends it. */
  enter(asked: AskedTurn): Promise<() => void>
  /** The calls that have a turn, and those that wait. */
  load(): PoolLoad
}

interface Call extends LimitedCall {
  start(): void
  refuse(): void
}

export const makeAccountLimiter = (limits: AccountLimits): AccountLimiter => {
  const { waitingPerAccount, waitMilliseconds } = limits
  // By then all that waits now has started or has been refused.
  const longestSeconds = Math.max(1, Math.ceil((waitMilliseconds ?? Number.POSITIVE_INFINITY) / 1000))
  const rule = new FairLimiter<Call>({
    waitingInAll: 4 * waitingPerAccount,
    bytesPerAccount: Number.POSITIVE_INFINITY,
    bytesInAll: Number.POSITIVE_INFINITY,
    ...limits,
  })
  let [waits, waitSeconds, refusals] = [0, 0, 0]

  const apply = ({ started, refused }: LimiterChanges<Call>): void => {
    for (const call of started) call.start()
    for (const call of refused) call.refuse()
  }

  const busy = (account: AccountKey, message: string): Busy => {
    refusals += 1
    return new Busy(message, { retryAfterSeconds: Math.min(longestSeconds, rule.secondsToWait(account)) })
  }

  /** Resolves when the call has its turn. */
  const take = (call: Omit<Call, 'start' | 'refuse'>, signal: AbortSignal | undefined): Promise<Call> =>
    new Promise((resolve, reject) => {
      let isSettled = false
      let endWait = nothing
      const settled = (): void => {
        isSettled = true
        endWait()
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
      }
      const entered: Call = {
        ...call,
        start() {
          settled()
          resolve(entered)
        },
        refuse() {
          settled()
          reject(busy(call.account, 'Too many requests of this kind wait already. Try again later.'))
        },
      }
      const onAbort = (): void => {
        if (!rule.leave(entered)) return
        settled()
        reject(signal?.reason as Error)
      }
      const onLate = (): void => {
        const error = busy(call.account, 'The service is busy with requests of this kind. Try again later.')
        if (!rule.leave(entered)) return
        settled()
        reject(error)
      }
      const timer = waitMilliseconds === undefined ? undefined : setTimeout(onLate, waitMilliseconds)
      signal?.addEventListener('abort', onAbort)
      apply(rule.add(entered, performance.now()))
      if (!isSettled) endWait = startWait(limits.pool)
    })

  const enter = async ({ account, named, length = 1, bytes = 0, signal }: AskedTurn): Promise<() => void> => {
    signal?.throwIfAborted()
    const since = performance.now()
    const call = await take({ account, named, length, bytes }, signal)
    waits += 1
    waitSeconds += (performance.now() - since) / 1000
    return () => apply(rule.end(call, performance.now()))
  }

  return {
    enter,
    async run(asked, work) {
      const end = await enter(asked)
      try {
        return await work()
      } finally {
        end()
      }
    },
    load: () => ({ running: rule.running, waiting: rule.waiting, waits, waitSeconds, refusals }),
  }
}
