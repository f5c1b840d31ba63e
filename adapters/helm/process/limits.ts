import { left } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../../core/kernel/failure.ts'
import { Busy } from '../../../core/kernel/failure.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { HelmBusy, HelmStopped } from '../../../core/packages/releases/ports.ts'
import type { PoolLoad } from '../../../core/platform/ports.ts'
import { makeAccountLimiter } from '../../outbound/account-limiter.ts'

export interface SlotLimits {
  /** Number of concurrent processes. */
  readonly inAll: number
  readonly perTenant: number
  /** Number of waiting calls for each tenant; more are refused. */
  readonly waitingPerTenant: number
  /** Longest wait. If absent, the wait lasts until the signal is aborted. */
  readonly waitSeconds?: number
}

/** Runs work when the tenant has a process. */
export interface Slots {
  /**
   * Failures: HelmBusy (too many calls of the tenant wait, or the wait took too long), HelmStopped (the signal was
   * aborted before the work began), and those of the work.
   */
  run<F extends Failure, A>(
    tenantId: number,
    signal: AbortSignal,
    work: () => Outcome<F, A>,
  ): Outcome<F | Failure<'HelmBusy'> | Failure<'HelmStopped'>, A>
  load(): PoolLoad
}

/** A bounded number of processes. Tenants that wait get them in turn. @param pool the name of the pool in traces. */
export const makeSlots = ({ inAll, perTenant, waitingPerTenant, waitSeconds }: SlotLimits, pool: string): Slots => {
  const limiter = makeAccountLimiter({
    pool,
    inAll,
    perAccount: perTenant,
    waitingPerAccount: waitingPerTenant,
    ...definedFields({ waitMilliseconds: waitSeconds === undefined ? undefined : waitSeconds * 1000 }),
  })
  return {
    async run(tenantId, signal, work) {
      let hasBegun = false
      try {
        return await limiter.run({ account: tenantId, signal }, () => {
          hasBegun = true
          return work()
        })
      } catch (error) {
        if (hasBegun) throw error
        if (error instanceof Busy) return left(HelmBusy(error.message, { retryAfterSeconds: error.retryAfterSeconds }))
        if (signal.aborted) return left(HelmStopped('The operation was ended before helm was started.'))
        throw error
      }
    },
    load: limiter.load,
  }
}

/** Resource limits of helm processes. */
export interface HelmLimits {
  /** A rendering ends in well under a second, but a template may loop forever. MOORAGE_HELM_RENDER_SECONDS. */
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

export const usualLimits = (cores: number, renderSeconds = 30): HelmLimits => ({
  renderSeconds,
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
