import { setTimeout as delay } from 'node:timers/promises'
import type { Lease, LeaseStore } from '../../../core/kernel/instances.ts'
import { whileHeld } from '../../../core/kernel/instances.ts'
import type { Log } from '../../../core/kernel/log.ts'
import type { Tracing } from '../../../core/platform/ports.ts'
import { noTracing } from '../../../core/platform/ports.ts'
import type { Job } from '../../../plugins/kit/group.ts'

export interface JobsDeps {
  readonly jobs: readonly Job[]
  readonly leases: LeaseStore
  /** Identifies this process. */
  readonly holder: string
  readonly log: Log
  /**
   * Called before each run. Returns a signal that aborts when the clock becomes doubtful, or undefined while no run may
   * start.
   */
  readonly trusted: () => Promise<AbortSignal | undefined>
  readonly onStart?: (job: string) => void
  readonly onRun?: (job: string, outcome: 'done' | 'failed', seconds: number) => void
  readonly tracing?: Tracing
  readonly lateMs?: number
  /** Waits. Rejects when aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

export interface RunningJobs {
  /**
   * Aborts running jobs and waits for them. Their leases are released, so that another instance takes over immediately.
   */
  stop(): Promise<void>
}

/** A job that has not ended this long after a stop began is named in the log. */
const lateMs = 5_000

/** The job of a dead holder is taken over after this time. */
const runningLeaseSeconds = 30
const longestPollSeconds = 30

/**
 * Runs each job on the instance that gets its lease. Between two runs the lease is kept until the next run is due. So
 * several instances run the job once per period, and a crash loop does not run it more often.
 */
export const startJobs = (deps: JobsDeps): RunningJobs => {
  const stopping = new AbortController()
  const ended = new Set<string>()
  const loops = deps.jobs.map(async (job) => {
    await loop(deps, job, stopping.signal)
    ended.add(job.id)
  })
  return {
    stop: async () => {
      stopping.abort()
      const late = setTimeout(() => {
        for (const { id } of deps.jobs)
          if (!ended.has(id))
            deps.log.warn({ job: id }, 'a job has not ended since the stop began: it must obey its signal')
      }, deps.lateMs ?? lateMs)
      await Promise.all(loops)
      clearTimeout(late)
    },
  }
}

const loop = async (deps: JobsDeps, job: Job, stopping: AbortSignal): Promise<void> => {
  const { leases, holder, log, trusted, sleep = (ms, signal) => delay(ms, undefined, { signal, ref: false }) } = deps
  const pollMs = 1000 * Math.min(job.everySeconds, longestPollSeconds)
  while (!stopping.aborted) {
    try {
      const doubt = await trusted()
      const lease =
        doubt === undefined ? undefined : await leases.acquire(job.id, holder, runningLeaseSeconds, job.everySeconds)
      if (doubt !== undefined && lease !== undefined)
        await runOnce(deps, job, lease, AbortSignal.any([stopping, doubt]))
    } catch (error) {
      log.warn({ job: job.id, error }, 'a job could not take or keep its lease')
    }
    if (stopping.aborted) return
    // Instances that started together must not poll together forever.
    await sleep(pollMs * (0.9 + Math.random() / 5), stopping).catch(() => undefined)
  }
}

const runOnce = async (deps: JobsDeps, job: Job, lease: Lease, ending: AbortSignal): Promise<void> => {
  const { leases, log, onStart, onRun, tracing = noTracing } = deps
  const startedAt = performance.now()
  onStart?.(job.id)
  let outcome: 'done' | 'failed' = 'done'
  try {
    await tracing.span({ name: `job ${job.id}`, kind: 'consumer', attributes: { 'moorage.job': job.id } }, () =>
      whileHeld(leases, lease, runningLeaseSeconds, ending, (signal) => job.run(signal)),
    )
  } catch (error) {
    outcome = 'failed'
    if (!ending.aborted) log.error({ job: job.id, error }, 'a job failed')
  }
  onRun?.(job.id, outcome, (performance.now() - startedAt) / 1000)
  if (ending.aborted) await leases.release(lease)
  else if (!(await leases.renew(lease, job.everySeconds)))
    log.warn({ job: job.id }, 'a job outlived its lease: another instance may have run it too')
}
