import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import { HelmBusy, HelmStopped } from '../../../core/packages/releases/ports.ts'
import type { PoolLoad } from '../../../core/platform/ports.ts'
import { startWait } from '../../outbound/work-queue.ts'

export interface SlotLimits {
  /** Number of concurrent processes. */
  readonly inAll: number
  readonly perTenant: number
  /** Number of waiting calls for each tenant; more are refused. */
  readonly waitingPerTenant: number
  /** Longest wait. If absent, the wait lasts until the signal is aborted. */
  readonly waitSeconds?: number
}

/** Gives a slot back. Further calls have no effect. */
export type Release = () => void

/** A bounded number of slots, shared among tenants in the order of requests. */
export interface Slots {
  /**
   * Takes a slot. Failures: HelmBusy (too many calls wait, or the wait took too long), HelmStopped (the signal was
   * aborted first).
   */
  take(tenantId: number, signal: AbortSignal): Outcome<Failure<'HelmBusy'> | Failure<'HelmStopped'>, Release>
  load(): PoolLoad
}

interface Waiter {
  readonly tenantId: number
  readonly admit: () => void
}

/** @param pool the name of the pool in traces. */
export const makeSlots = (limits: SlotLimits, pool: string): Slots => {
  const runningOf = new Map<number, number>()
  const waiters: Waiter[] = []
  let running = 0
  let [waits, waitSeconds] = [0, 0]

  const hasRoom = (tenantId: number): boolean =>
    running < limits.inAll && (runningOf.get(tenantId) ?? 0) < limits.perTenant

  const count = (tenantId: number, by: 1 | -1): void => {
    running += by
    const now = (runningOf.get(tenantId) ?? 0) + by
    if (now === 0) runningOf.delete(tenantId)
    else runningOf.set(tenantId, now)
  }

  /** A tenant at its share does not delay those after it. */
  const admitNext = (): void => {
    const next = waiters.findIndex(({ tenantId }) => hasRoom(tenantId))
    if (next >= 0) waiters.splice(next, 1)[0]?.admit()
  }

  const occupy = (tenantId: number, since?: number): Release => {
    count(tenantId, 1)
    waits += 1
    if (since !== undefined) waitSeconds += (performance.now() - since) / 1000
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
      if (waiting >= limits.waitingPerTenant)
        return Promise.resolve(
          left(HelmBusy('Too many operations of helm wait already. Try again later.', { retryAfterSeconds: 10 })),
        )
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
        const timer =
          waitSeconds === undefined
            ? undefined
            : setTimeout(
                leave(
                  HelmBusy('Too many operations of helm run at this moment. Try again later.', {
                    retryAfterSeconds: 5,
                  }),
                ),
                waitSeconds * 1000,
              )
        const settle = (): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', onAbort)
        }
        const since = performance.now()
        const endWait = startWait(pool)
        const waiter: Waiter = {
          tenantId,
          admit() {
            settle()
            endWait()
            resolve(right(occupy(tenantId, since)))
          },
        }
        signal.addEventListener('abort', onAbort)
        waiters.push(waiter)
      })
    },
    load: () => ({ running, waiting: waiters.length, waits, waitSeconds }),
  }
}

/** Resource limits of helm processes. */
export interface HelmLimits {
  /** A rendering ends in well under a second, but a template may loop forever. */
  readonly renderSeconds: number
  /** Between SIGTERM and SIGKILL of a rendering, which ignores SIGTERM while it renders. */
  readonly renderGraceSeconds: number
  /** Between SIGTERM and SIGKILL of a change. Helm records its failure in this time. */
  readonly changeGraceSeconds: number
  /** How long a cancelled rollback or removal may continue: neither handles SIGTERM well. */
  readonly finishSeconds: number
  /** Helm's own default timeout. */
  readonly defaultTimeoutSeconds: number
  readonly outputBytes: number
  /** Address space in MiB. About a gigabyte of it is reserved and never used. */
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
  renderings: {
    inAll: Math.max(2, cores),
    perTenant: Math.max(1, Math.ceil(cores / 2)),
    waitingPerTenant: 16,
    waitSeconds: 20,
  },
  // Tasks spend most of their time waiting for the cluster. A task waits for its turn for as long as it lives.
  changes: { inAll: 16, perTenant: 4, waitingPerTenant: 64 },
})

/** Returns the limits of one process of several. `share` returns its part of a number; each runs one at least. */
export const sharedLimits = (limits: HelmLimits, share: (total: number) => number): HelmLimits => {
  const part = (slots: SlotLimits): SlotLimits => {
    const atLeastOne = (total: number): number => Math.max(1, share(total))
    return {
      ...slots,
      inAll: atLeastOne(slots.inAll),
      perTenant: atLeastOne(slots.perTenant),
      waitingPerTenant: atLeastOne(slots.waitingPerTenant),
    }
  }
  return { ...limits, renderings: part(limits.renderings), changes: part(limits.changes) }
}

/** A longer timer would fire at once. */
const longestTimerSeconds = 2_147_000

/** `--timeout` limits each single wait, and hooks run one after the other. This is the limit for all of it. */
export const wallSecondsOf = (
  timeoutSeconds: number | undefined,
  { defaultTimeoutSeconds }: Pick<HelmLimits, 'defaultTimeoutSeconds'>,
): number => {
  const each = timeoutSeconds !== undefined && timeoutSeconds > 0 ? timeoutSeconds : defaultTimeoutSeconds
  return Math.min(each * 4 + 60, longestTimerSeconds)
}
