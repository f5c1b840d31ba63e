import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Call } from '../kernel/principal.ts'
import type { AuditDenials, Denial, DenialWriter } from './ports.ts'

const windowMilliseconds = 60_000
/** Rows that one caller or address can cause within a window; what exceeds them is counted in one row of its own. */
const maxRowsPerSource = 20
/** Windows that are open at once; with all taken, every further refusal is counted in one row. */
const maxWindows = 1_000

/** Repeats of one refusal, counted since its row was written. */
interface Window {
  readonly call: Call
  readonly entry: AuditEntry
  readonly source: string
  readonly openedAt: number
  repeats: number
}

export interface AuditDenialsDeps {
  readonly writer: DenialWriter
  /** For the minutes in memory; rows get the time of their store. */
  readonly clock: Clock
  readonly log: Log
}

/**
 * AuditDenials that writes the first of equal refusals at once and counts the others in memory for a minute. The count
 * is written with the next refusal after that, or at the stop; a crash loses counts, never a first row.
 */
export const makeAuditDenials = ({ writer, clock, log }: AuditDenialsDeps): AuditDenials => {
  // In the order of their opening, so that those which are over come first.
  const windows = new Map<string, Window>()
  const underWay = new Set<Promise<void>>()

  const tracked = (work: Promise<void>): Promise<void> => {
    underWay.add(work)
    return work.finally(() => underWay.delete(work))
  }

  const write = async (call: Call, entry: AuditEntry): Promise<void> => {
    try {
      await writer.write(call, entry)
    } catch (error) {
      log.error({ operation: call.operation, error: error instanceof Error ? error.name : 'unknown' }, 'A refusal could not be recorded in the audit log')
    }
  }

  const close = async (isOver: (window: Window) => boolean): Promise<void> => {
    const over: Window[] = []
    for (const [key, window] of windows) {
      if (!isOver(window)) break
      windows.delete(key)
      if (window.repeats > 0) over.push(window)
    }
    for (const { call, entry, repeats } of over) await write(call, { ...entry, changes: { ...entry.changes, repeats } })
  }

  const record = async (call: Call, denial: Denial): Promise<void> => {
    const openedAt = clock.now().getTime()
    const closing = close((window) => openedAt - window.openedAt >= windowMilliseconds)
    const source = call.principal === undefined ? `ip ${call.sourceIp}` : `user ${call.principal.userId}`
    const key = keyFor(windows, source, call, denial)
    const open = windows.get(key)
    if (open === undefined) {
      const entry = entryOf(denial)
      windows.set(key, { call, entry, source, openedAt, repeats: 0 })
      await write(call, entry)
    } else open.repeats += 1
    await closing
  }

  return {
    recordDenial: (call, denial) => tracked(record(call, denial)),
    async flush() {
      await Promise.all(underWay)
      await close(() => true)
    },
  }
}

/** Equal refusals share a key; those beyond the bounds share one for their source, or for all. */
const keyFor = (windows: ReadonlyMap<string, Window>, source: string, call: Call, denial: Denial): string => {
  const { code, objectType, objectId, objectName } = denial
  const key = JSON.stringify([source, call.operation, code, objectType, objectId, objectName])
  if (windows.has(key)) return key
  if (windows.size >= maxWindows) return 'all'
  const rows = [...windows.values()].filter((window) => window.source === source).length
  return rows >= maxRowsPerSource ? `further ${source}` : key
}

const entryOf = ({ code, action = 'access.denied', ...object }: Denial): AuditEntry => ({ ...object, action, changes: { code } })
