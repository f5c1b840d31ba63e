import type { SlotLimits } from './slots.ts'

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
