import { setTimeout as delay } from 'node:timers/promises'
import type { Lease, LeaseStore } from '../../core/kernel/instances.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Job } from '../../plugins/kit/job.ts'

export interface JobsDeps {
  readonly jobs: readonly Job[]
  readonly leases: LeaseStore
  /** This process. */
  readonly holder: string
  readonly log: Log
  /** Asked before each run: a signal that ends it when the time comes into doubt, or undefined while none may start. */
  readonly trusted: () => Promise<AbortSignal | undefined>
  readonly onRun?: (job: string, outcome: 'done' | 'failed', seconds: number) => void
  /** Rejects when aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

export interface RunningJobs {
  /** Aborts what runs and waits for it; its lease goes back, so that another instance takes over at once. */
  stop(): Promise<void>
}

/** A dead holder's job is taken over after this long. */
const runningLeaseSeconds = 30
const longestPollSeconds = 30

/**
 * Runs each job on whichever instance gets its lease. Between two runs the lease is kept until the next one is due:
 * that is what makes several instances run it once a period, and a crash loop not more often.
 */
export const startJobs = (deps: JobsDeps): RunningJobs => {
  const stopping = new AbortController()
  const loops = deps.jobs.map((job) => loop(deps, job, stopping.signal))
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
    },
  }
}

const loop = async (deps: JobsDeps, job: Job, stopping: AbortSignal): Promise<void> => {
  const { leases, holder, log, trusted, sleep = (ms, signal) => delay(ms, undefined, { signal, ref: false }) } = deps
  const pollMs = 1000 * Math.min(job.everySeconds, longestPollSeconds)
  while (!stopping.aborted) {
    try {
      const doubt = await trusted()
      const lease = doubt === undefined ? undefined : await leases.acquire(job.id, holder, runningLeaseSeconds)
      if (doubt !== undefined && lease !== undefined) await runOnce(deps, job, lease, AbortSignal.any([stopping, doubt]))
    } catch (error) {
      log.warn({ job: job.id, error }, 'a job could not take or keep its lease')
    }
    if (stopping.aborted) return
    // Instances that started together must not ask together for ever.
    await sleep(pollMs * (0.9 + Math.random() / 5), stopping).catch(() => undefined)
  }
}

const runOnce = async (deps: JobsDeps, job: Job, lease: Lease, ending: AbortSignal): Promise<void> => {
  const { leases, log, onRun } = deps
  const lost = new AbortController()
  const beat = setInterval(() => void keep(leases, lease, lost), (runningLeaseSeconds * 1000) / 3)
  const startedAt = performance.now()
  let outcome: 'done' | 'failed' = 'done'
  try {
    await job.run(AbortSignal.any([ending, lost.signal]))
  } catch (error) {
    outcome = 'failed'
    if (!ending.aborted) log.error({ job: job.id, error }, 'a job failed')
  } finally {
    clearInterval(beat)
  }
  onRun?.(job.id, outcome, (performance.now() - startedAt) / 1000)
  if (ending.aborted) await leases.release(lease)
  else if (!(await leases.renew(lease, job.everySeconds))) log.warn({ job: job.id }, 'a job outlived its lease: another instance may have run it too')
}

/** A database that does not answer is no proof that the lease is gone: only a clear no ends the work. */
const keep = async (leases: LeaseStore, lease: Lease, lost: AbortController): Promise<void> => {
  try {
    if (!(await leases.renew(lease, runningLeaseSeconds))) lost.abort()
  } catch {
    // The next beat tries again; without one in time the lease runs out and the next beat says so.
  }
}
