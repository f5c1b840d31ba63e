import { isLeft } from 'fp-ts/lib/Either.js'
import type { ClusterConnections } from './ports.ts'

type Opened = Awaited<ReturnType<ClusterConnections['open']>>

/** Shorter than a lease on a task: by then the work has stopped, or another worker has it. */
const graceMs = 25_000

/**
 * For work that goes on while the database is away for a moment: what was opened last serves on for that long. While the
 * database answers, its answer counts, so that a changed or removed credential counts at once.
 */
export const steadyConnections = (connections: ClusterConnections, nowMs: () => number = () => performance.now()): ClusterConnections => {
  let last: { readonly opened: Opened; readonly atMs: number } | undefined
  return {
    async open(id, version) {
      try {
        const opened = await connections.open(id, version)
        last = isLeft(opened) ? undefined : { opened, atMs: nowMs() }
        return opened
      } catch (error) {
        if (last === undefined || nowMs() - last.atMs > graceMs) throw error
        return last.opened
      }
    },
  }
}
