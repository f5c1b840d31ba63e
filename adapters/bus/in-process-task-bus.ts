import { getOrMake } from '../../core/kernel/cache.ts'
import type { TaskBus } from '../../core/tasks/ports.ts'

export interface InProcessTaskBus extends TaskBus {
  /** Notifies the callers that wait for progress of the task. */
  hint(ref: string): void
}

/** A listener that is forgotten before its turn is not called. */
const callSoon = (listeners: ReadonlySet<() => void>): void => {
  for (const listener of listeners)
    setImmediate(() => {
      if (listeners.has(listener)) listener()
    })
}

/** What one process of an instance tells the others: work is queued, or a task has progressed. */
type BusHint = { readonly wake: true } | { readonly ref: string }

/** The messages to the other processes of the instance, and from them. */
export interface BusHints {
  send(hint: BusHint): void
  onMessage(listener: (hint: BusHint) => void): void
}

/** TaskBus for a single instance. Nothing leaves the process, but `hints` to the others of the instance. */
export const makeInProcessTaskBus = (hints?: BusHints): InProcessTaskBus => {
  const wakes = new Set<() => void>()
  const progress = new Map<string, Set<() => void>>()
  const hint = (ref: string): void => callSoon(progress.get(ref) ?? new Set())
  hints?.onMessage((told) => ('ref' in told ? hint(told.ref) : callSoon(wakes)))
  return {
    hint,
    publish: async ({ task: { ref } }) => {
      hint(ref)
      hints?.send({ ref })
    },
    wake: () => {
      callSoon(wakes)
      hints?.send({ wake: true })
    },
    onWake: (listener) => {
      const own = (): void => listener()
      wakes.add(own)
      return () => void wakes.delete(own)
    },
    onProgress: (ref, listener) => {
      const own = (): void => listener()
      const listeners = getOrMake(progress, ref, () => new Set()).add(own)
      return () => {
        listeners.delete(own)
        if (listeners.size === 0 && progress.get(ref) === listeners) progress.delete(ref)
      }
    },
  }
}
