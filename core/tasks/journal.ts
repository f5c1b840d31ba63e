import { toWireJson } from '../kernel/json.ts'
import type { NewTaskEvent } from './store-ports.ts'

export interface JournalDeps {
  /** Stores events, in order; false when the task is another worker's now. */
  readonly store: (events: readonly NewTaskEvent[]) => Promise<boolean>
  readonly onStored: () => void
  readonly onLost: () => void
}

/** Gathers events, so that a handler that says much costs few transactions. */
export interface Journal {
  add(event: NewTaskEvent): void
  /** Stores nothing more by itself; answers what is not stored yet. */
  close(): Promise<readonly NewTaskEvent[]>
}

const flushMs = 100
const retryMs = 1_000
const atOnce = 200
/** Lines of a worker's run beyond either are dropped; steps and ends are kept. */
const maxLines = 2_000
const maxLineCharacters = 1024 * 1024
const charactersOf = ({ msg, data }: NewTaskEvent): number => msg.length + (data === undefined ? 0 : toWireJson(data).length)

export const makeJournal = ({ store, onStored, onLost }: JournalDeps): Journal => {
  let waiting: NewTaskEvent[] = []
  let lines = 0
  let characters = 0
  let isFull = false
  let isClosed = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let flushing: Promise<void> | undefined

  const flush = async (): Promise<void> => {
    const events = waiting.splice(0, atOnce)
    try {
      if (await store(events)) onStored()
      else {
        isClosed = true
        onLost()
      }
    } catch {
      // The database is away: what was not stored stays in front, and is tried again.
      waiting = [...events, ...waiting]
      schedule(retryMs)
    }
  }

  const schedule = (ms: number): void => {
    if (isClosed || timer !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      flushing ??= flush().finally(() => {
        flushing = undefined
        if (waiting.length > 0) schedule(flushMs)
      })
    }, ms)
  }

  const keep = (event: NewTaskEvent): void => {
    waiting.push(event)
    schedule(flushMs)
  }
  const keepLine = (line: NewTaskEvent): void => {
    lines += 1
    characters += charactersOf(line)
    isFull = lines > maxLines || characters > maxLineCharacters
    keep(isFull ? { at: line.at, id: line.id, status: 'Running', level: 'warning', msg: 'Further lines are not kept.' } : line)
  }

  return {
    add: (event) => {
      if (isClosed) return
      if (event.status !== 'Running') keep(event)
      else if (!isFull) keepLine(event)
    },
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await flushing
      return waiting
    },
  }
}
