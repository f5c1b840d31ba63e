/** Scheduled work, run by one instance at a time. */
export interface Job {
  /** `part.verbPhrase`, also the name of the job's lease. */
  readonly id: string
  readonly summary: string
  readonly everySeconds: number
  /** Runs the job once. It must be safe to repeat. A throw is logged and counted. */
  run(signal: AbortSignal): Promise<void>
}
