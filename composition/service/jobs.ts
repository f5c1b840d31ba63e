import { setTimeout as delay } from 'node:timers/promises'
import type { Lease, LeaseStore } from '../../core/kernel/instances.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Job } from '../../plugins/kit/job.ts'

export interface JobsDeps {
  readonly jobs: readonly Job[]
  readonly leases: LeaseStore
  /** Identifies this process. */
  readonly holder: string
  readonly log: Log
  /** Called before each run. Returns a signal that aborts when the clock becomes doubtful, or undefined while no run may start. */
  readonly trusted: () => Promise<AbortSignal | undefined>
  readonly onRun?: (job: string, outcome: 'done' | 'failed', seconds: number) => void
  /** Waits. Rejects when aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

export interface RunningJobs {
  /** Aborts running jobs and waits for them. Their leases are released, so that another instance takes over immediately. */
  stop(): Promise<void>
}

/** The job of a dead holder is taken over after this time. */
const runningLeaseSeconds = 30
const longestPollSeconds = 30

/**
 * Runs each job on the instance that gets its lease. Between two runs the lease is kept until the next run is due. So several
 * instances run the job once per period, and a crash loop does not run it more often.
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
    // Instances that started together must not poll together forever.
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

/** Renews a lease. A database that does not answer does not prove that the lease is lost: only a clear refusal aborts the work. */
const keep = async (leases: LeaseStore, lease: Lease, lost: AbortController): Promise<void> => {
  try {
    if (!(await leases.renew(lease, runningLeaseSeconds))) lost.abort()
  } catch {
    // The next renewal retries. If none succeeds in time, the lease expires and the next renewal reports it.
  }
}
