import { AsyncLocalStorage } from 'node:async_hooks'
import { isMainThread } from 'node:worker_threads'
import { programUrl } from '../../../system/processes.ts'
import { makeThreads } from '../../../system/threads.ts'
import type { OpenedFile } from './checkpoint-thread.ts'
import type { SqliteConnection } from '../sqlite-connection.ts'
import { takePlace, type WaitQueue } from '../wait-queue.ts'

/**
 * SQLite copies its WAL into the file during a commit, and waits for the disk: 10 to 30 ms in which the process answers
 * nothing, for one change in a hundred. Here a thread does it.
 */
export interface Checkpoints {
  /** To be called after each commit, by the holder of the turn of changes. */
  committed(): void
  /** Ends the thread. */
  close(): Promise<void>
}

export interface CheckpointOptions {
  /** The pages of the WAL from which it is copied. */
  readonly pages?: number
  /** The pages from which a commit copies it. */
  readonly netPages?: number
  /** The module of the thread. */
  readonly program?: URL
}

/** 16 MiB. The more is copied at once, the less is copied twice, and the fewer times the disk is waited for. */
const usualPages = 4000
/** A commit copies from so many pages while the thread fails. It is what SQLite does by itself. */
const pagesWithoutThread = 1000
/** The number of commits after which the size of the WAL is read. */
const commitsBetween = 8
/** After a copy. As long as a connection reads an older state, there is little to copy. */
const pauseMilliseconds = 250
const pauseAfterFailureMilliseconds = 10_000
/** A thread that takes longer is ended: changes wait for it. */
const longestCopyMilliseconds = 10_000
const idleMilliseconds = 60_000

const ownProgram = programUrl('./checkpoint-thread', import.meta.url)

export const noCheckpoints: Checkpoints = { committed: () => undefined, close: async () => undefined }

/**
 * The thread copies twice: once beside changes, and then, in the turn of changes, what was committed during that. They
 * wait for it, but the event loop and reads do not. So the next change finds all of the WAL copied and writes it from
 * its start, and it does not grow. If the thread fails, commits copy as SQLite does by itself, and the thread is tried
 * again later. On a thread that is not the main one, commits copy.
 */
export const makeCheckpoints = (
  writer: SqliteConnection,
  turn: WaitQueue,
  file: OpenedFile,
  { pages = usualPages, netPages = 4 * pages, program = ownProgram }: CheckpointOptions = {},
): Checkpoints => {
  if (!isMainThread) return noCheckpoints
  const { raw } = writer
  const commitsCopyFrom = (count: number): void => void raw.pragma(`wal_autocheckpoint = ${count}`)
  const sizes = raw.prepare('pragma wal_checkpoint(NOOP)').raw()
  const look = (): { readonly written: number; readonly copied: number } => {
    try {
      const [, written = 0, copied = 0] = sizes.get() as number[]
      return { written, copied }
    } catch {
      // The change before it is committed and must not fail.
      return { written: 0, copied: 0 }
    }
  }
  // A copy belongs to no request.
  const apart = AsyncLocalStorage.snapshot()
  const thread = makeThreads({ program, idleMilliseconds, heapMegabytes: 32, youngMegabytes: 2 })
  let [commits, notBefore] = [0, 0]
  let [isCopying, isClosed] = [false, false]

  const copy = async (): Promise<void> => {
    await thread.run('copyIntoFile', file, { signal: AbortSignal.timeout(longestCopyMilliseconds) })
  }
  const copyAll = async (): Promise<void> => {
    await copy()
    const account = await takePlace(turn)
    try {
      const { written, copied } = look()
      if (written > copied && !isClosed) await copy()
    } finally {
      turn.release(account)
    }
  }
  const start = async (): Promise<void> => {
    isCopying = true
    try {
      await copyAll()
      if (isClosed) return
      commitsCopyFrom(netPages)
      notBefore = performance.now() + pauseMilliseconds
    } catch {
      if (isClosed) return
      commitsCopyFrom(Math.min(pages, pagesWithoutThread))
      notBefore = performance.now() + pauseAfterFailureMilliseconds
    } finally {
      isCopying = false
    }
  }
  commitsCopyFrom(netPages)
  return {
    committed: () => {
      commits += 1
      if (commits % commitsBetween !== 0 || isCopying || isClosed || performance.now() < notBefore) return
      if (look().written >= pages) void apart(start)
    },
    close: async () => {
      isClosed = true
      await thread.close()
    },
  }
}
