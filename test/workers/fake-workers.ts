import type { WorkerProcess } from '../../composition/runtime/service/workers.ts'
import type { FromWorker, ToWorker, WorkerFacts, WorkerLink } from '../../composition/runtime/service/worker-link.ts'
import { openWorkerLink } from '../../composition/runtime/service/worker-link.ts'

/** A process that a test plays: its link is the real one, and messages are copied. */
interface FakeWorker {
  readonly link: Promise<WorkerLink>
  exit(code: number | null, signal?: string): void
  readonly wasKilled: () => boolean
}

export const factsOf = (instanceId: string): WorkerFacts => ({
  baseUrl: 'http://127.0.0.1:3000',
  marketplaceUrl: undefined,
  firstAdmin: undefined,
  plugins: ['platform'],
  routes: 1,
  instanceId,
})

/** Returns a `fork` for tests, and what it has started so far. */
export const fakeFork = () => {
  const workers: FakeWorker[] = []
  const fork = (): WorkerProcess => {
    let toPrimary: (message: FromWorker) => void = () => undefined
    let toWorker: (message: unknown) => void = () => undefined
    let exit: (code: number | null, signal: string | null) => void = () => undefined
    let isKilled = false
    let isOver = false
    const later = <M>(deliver: (message: M) => void, message: M, done: () => void): void => {
      const copy = structuredClone(message)
      setImmediate(() => {
        if (!isOver) deliver(copy)
        done()
      })
    }
    const link = openWorkerLink({
      send: (message, done) => {
        later(
          (copy: FromWorker) => toPrimary(copy),
          message,
          () => done(null),
        )
        return true
      },
      on: (_event, listener) => void (toWorker = listener),
    })
    workers.push({
      link,
      exit: (code, signal) => {
        isOver = true
        exit(code, signal ?? null)
      },
      wasKilled: () => isKilled,
    })
    return {
      pid: 1000 + workers.length,
      send: (message: ToWorker, done) => later((copy: ToWorker) => toWorker(copy), message, done),
      onMessage: (listener) => void (toPrimary = listener),
      onExit: (listener) => void (exit = listener),
      kill: () => void (isKilled = true),
    }
  }
  return { workers, fork }
}
