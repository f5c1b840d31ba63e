import { KubeRefusal } from './kube-client.ts'

/** Work on named things: each name is worked on by one at a time, and again after a failure. */
export interface Reconciler {
  add(key: string): void
  /** No work is started from now on; resolves when what runs has ended. */
  stop(): Promise<void>
}

export interface ReconcilerOptions {
  readonly name: string
  /** Returns the milliseconds after which the same name is due again, if it is. */
  readonly reconcile: (key: string) => Promise<number | undefined | void>
  /** How many names are worked on at a time. */
  readonly concurrency?: number
  readonly onProblem?: (problem: string) => void
}

const [firstPause, longestPause] = [50, 2_000]

export const makeReconciler = ({
  name,
  reconcile,
  concurrency = 8,
  onProblem = () => undefined,
}: ReconcilerOptions): Reconciler => {
  const waiting = new Set<string>()
  const running = new Map<string, Promise<void>>()
  const timers = new Map<string, NodeJS.Timeout>()
  const failures = new Map<string, number>()
  let isStopped = false

  const add = (key: string): void => {
    if (isStopped) return
    clearTimeout(timers.get(key))
    timers.delete(key)
    waiting.add(key)
    startMore()
  }
  const addAfter = (key: string, milliseconds: number): void => {
    if (isStopped || waiting.has(key)) return
    clearTimeout(timers.get(key))
    timers.set(
      key,
      setTimeout(() => add(key), milliseconds),
    )
  }
  const startMore = (): void => {
    for (const key of waiting) {
      if (isStopped || running.size >= concurrency) return
      if (running.has(key)) continue
      waiting.delete(key)
      running.set(key, work(key))
    }
  }
  const work = async (key: string): Promise<void> => {
    try {
      const again = await reconcile(key)
      failures.delete(key)
      if (typeof again === 'number') addAfter(key, again)
    } catch (cause) {
      const failed = (failures.get(key) ?? 0) + 1
      failures.set(key, failed)
      // A conflict is the daily business of controllers: the object is read again.
      if (!isStopped && !(cause instanceof KubeRefusal && cause.status === 409))
        onProblem(`${name} ${key}: ${cause instanceof Error ? cause.message : String(cause)}`)
      addAfter(key, Math.min(firstPause * 2 ** (failed - 1), longestPause))
    } finally {
      running.delete(key)
      startMore()
    }
  }
  return {
    add,
    stop: async () => {
      isStopped = true
      for (const timer of timers.values()) clearTimeout(timer)
      await Promise.allSettled(running.values())
    },
  }
}
