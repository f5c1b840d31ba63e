import type { Log } from '../../core/kernel/log.ts'
import type { DeliverMail, OutboxNotifier } from '../../core/mail/ports.ts'

export interface StoppableBell extends OutboxNotifier {
  /** Starts no further delivery and waits for the one in progress. */
  stop(): Promise<void>
}

/** Runs `deliver` in this process, one run at a time. Rings during a run cause one more run. */
export const makeOutboxNotifier = (deliver: DeliverMail, log: Log): StoppableBell => {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let rangMeanwhile = false
  const round = async (): Promise<void> => {
    // The current response is sent first.
    await new Promise((resume) => setImmediate(resume))
    do {
      rangMeanwhile = false
      try {
        if (!stopping.signal.aborted) await deliver(stopping.signal)
      } catch (error) {
        log.warn({ reason: error instanceof Error ? error.name : 'unknown' }, 'mail could not be sent right away; it is tried again')
      }
    } while (rangMeanwhile)
  }
  return {
    ring() {
      if (stopping.signal.aborted) return
      if (running !== undefined) rangMeanwhile = true
      else running = round().finally(() => (running = undefined))
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
