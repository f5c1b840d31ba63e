import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import { HelmBusy, HelmStopped } from '../../../core/packages/releases/ports.ts'

export interface SlotLimits {
  /** How many run at once. */
  readonly inAll: number
  readonly perTenant: number
  /** How many of one tenant wait; the next is refused. */
  readonly waitingPerTenant: number
  /** Longest wait; absent waits until the asker gives up. */
  readonly waitSeconds?: number
}

/** Gives a slot back; calling it again does nothing. */
export type Release = () => void

/** A bounded number of places, shared among tenants in the order of asking. */
export interface Slots {
  /** Failures: HelmBusy (too many wait already, or the wait was too long), HelmStopped (the signal came first). */
  take(tenantId: number, signal: AbortSignal): Outcome<Failure<'HelmBusy'> | Failure<'HelmStopped'>, Release>
}

interface Waiter {
  readonly tenantId: number
  readonly admit: () => void
}

export const makeSlots = (limits: SlotLimits): Slots => {
  const runningOf = new Map<number, number>()
  const waiters: Waiter[] = []
  let running = 0

  const hasRoom = (tenantId: number): boolean => running < limits.inAll && (runningOf.get(tenantId) ?? 0) < limits.perTenant

  const count = (tenantId: number, by: 1 | -1): void => {
    running += by
    const now = (runningOf.get(tenantId) ?? 0) + by
    if (now === 0) runningOf.delete(tenantId)
    else runningOf.set(tenantId, now)
  }

  /** A tenant that has its share does not hold back those behind it. */
  const admitNext = (): void => {
    const next = waiters.findIndex(({ tenantId }) => hasRoom(tenantId))
    if (next >= 0) waiters.splice(next, 1)[0]?.admit()
  }

  const occupy = (tenantId: number): Release => {
    count(tenantId, 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      count(tenantId, -1)
      admitNext()
    }
  }

  return {
    take(tenantId, signal) {
      if (signal.aborted) return Promise.resolve(left(HelmStopped('The operation was ended before helm was started.')))
      if (hasRoom(tenantId)) return Promise.resolve(right(occupy(tenantId)))
      const waiting = waiters.filter((each) => each.tenantId === tenantId).length
      if (waiting >= limits.waitingPerTenant) return Promise.resolve(left(HelmBusy('Too many operations of helm wait already. Try again later.', { retryAfterSeconds: 10 })))
      return new Promise((resolve) => {
        const leave = (failure: Failure<'HelmBusy'> | Failure<'HelmStopped'>) => (): void => {
          const at = waiters.indexOf(waiter)
          if (at < 0) return
          waiters.splice(at, 1)
          settle()
          resolve(left(failure))
        }
        const onAbort = leave(HelmStopped('The operation was ended while it waited for its turn.'))
        const { waitSeconds } = limits
        const timer = waitSeconds === undefined ? undefined : setTimeout(leave(HelmBusy('Too many operations of helm run at this moment. Try again later.', { retryAfterSeconds: 5 })), waitSeconds * 1000)
        const settle = (): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', onAbort)
        }
        const waiter: Waiter = {
          tenantId,
          admit() {
            settle()
            resolve(right(occupy(tenantId)))
          },
        }
        signal.addEventListener('abort', onAbort)
        waiters.push(waiter)
      })
    },
  }
}

/** What helm processes may cost. */
export interface HelmLimits {
  /** Renderings end by themselves in well under a second; a template may loop for ever. */
  readonly renderSeconds: number
  /** Between SIGTERM and SIGKILL of a rendering, which ignores the first while it renders. */
  readonly renderGraceSeconds: number
  /** Between SIGTERM and SIGKILL of a change, which records its failure meanwhile. */
  readonly changeGraceSeconds: number
  /** How long a rollback or removal still works after it was cancelled: neither takes SIGTERM well. */
  readonly finishSeconds: number
  /** Helm's own default for waiting. */
  readonly defaultTimeoutSeconds: number
  readonly outputBytes: number
  /** Address space, MiB; about a gigabyte of it is reserved, never used. */
  readonly renderMemoryMiB: number
  readonly changeMemoryMiB: number
  readonly renderings: SlotLimits
  readonly changes: SlotLimits
}

export const usualLimits = (cores: number): HelmLimits => ({
  renderSeconds: 30,
  renderGraceSeconds: 2,
  changeGraceSeconds: 6,
  finishSeconds: 10,
  defaultTimeoutSeconds: 300,
  outputBytes: 32 * 1024 * 1024,
  renderMemoryMiB: 2048,
  changeMemoryMiB: 3072,
  renderings: { inAll: Math.max(2, cores), perTenant: Math.max(1, Math.ceil(cores / 2)), waitingPerTenant: 16, waitSeconds: 20 },
  // They wait for the cluster most of their time. A task waits for its turn for as long as it lives.
  changes: { inAll: 16, perTenant: 4, waitingPerTenant: 64 },
})

/** A longer timer would ring at once. */
const longestTimerSeconds = 2_147_000

/** `--timeout` bounds each single wait, and hooks wait one after the other; this bounds the whole. */
export const wallSecondsOf = (timeoutSeconds: number | undefined, { defaultTimeoutSeconds }: Pick<HelmLimits, 'defaultTimeoutSeconds'>): number => {
  const each = timeoutSeconds !== undefined && timeoutSeconds > 0 ? timeoutSeconds : defaultTimeoutSeconds
  return Math.min(each * 4 + 60, longestTimerSeconds)
}
