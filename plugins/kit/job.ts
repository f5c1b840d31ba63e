/** Work on a schedule, run by one instance at a time. */
export interface Job {
  /** `part.verbPhrase`; also the name of its lease. */
  readonly id: string
  readonly summary: string
  readonly everySeconds: number
  /** One run. Must be safe to repeat; a throw is logged and counted. */
  run(signal: AbortSignal): Promise<void>
}
