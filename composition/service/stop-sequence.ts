import type { Log } from '../../core/kernel/log.ts'

/** The resources to close when the service stops. */
export interface StopSequence {
  add(name: string, close: () => Promise<void>): void
  /** Adds a resource that is closed after all others. */
  addLast(name: string, close: () => Promise<void>): void
  /** Closes the last added resource first. A failure is logged and does not keep the others open. Reports whether all closed. */
  run(): Promise<boolean>
}

export const makeStopSequence = (log: Log): StopSequence => {
  const steps: { readonly name: string; readonly close: () => Promise<void> }[] = []
  let result: Promise<boolean> | undefined

  const closeAll = async (): Promise<boolean> => {
    let allClosed = true
    for (const { name, close } of steps.reverse()) {
      try {
        await close()
      } catch (error) {
        allClosed = false
        log.error({ step: name, error }, 'could not be closed')
      }
    }
    return allClosed
  }

  return {
    add: (name, close) => void steps.push({ name, close }),
    addLast: (name, close) => void steps.unshift({ name, close }),
    run: () => (result ??= closeAll()),
  }
}
