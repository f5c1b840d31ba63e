/** Runs short synchronous pieces of work one after the other, and lets the event loop turn in between. */
export interface TimeSlices {
  /** Rejects with what the work throws. */
  run<A>(work: () => A): Promise<A>
}
