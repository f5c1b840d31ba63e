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

/** TaskBus for a single instance. Nothing leaves the process. */
export const makeInProcessTaskBus = (): InProcessTaskBus => {
  const wakes = new Set<() => void>()
  const progress = new Map<string, Set<() => void>>()
  const hint = (ref: string): void => callSoon(progress.get(ref) ?? new Set())
  return {
    hint,
    publish: async ({ task }) => hint(task.ref),
    wake: () => callSoon(wakes),
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
