import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Call } from '../kernel/principal.ts'
import type { AuditDenials, Denial, DenialWriter } from './ports.ts'
import { definedFields, toWireJson } from '../kernel/json.ts'

const windowMilliseconds = 60_000
/**
 * The number of rows that one caller or address can cause within a window. Any excess is counted in one separate row.
 */
const maxRowsPerSource = 20
/** The maximum number of open windows. When it is reached, every further refusal is counted in one row. */
const maxWindows = 1_000

/** The repeats of one refusal, counted since its row was written. */
interface Window {
  readonly call: Call
  readonly entry: AuditEntry
  readonly source: string
  readonly openedAt: number
  repeats: number
}

export interface AuditDenialsDeps {
  readonly writer: DenialWriter
  /** The clock of the in-memory windows. A row gets the time of its store. */
  readonly clock: Clock
  readonly log: Log
}

/**
 * Returns an AuditDenials that writes the first of a set of equal refusals at once and counts the others in memory for
 * a minute. The count is written with the next refusal after that minute, or at shutdown. A crash loses counts but
 * never a first row.
 */
export const makeAuditDenials = ({ writer, clock, log }: AuditDenialsDeps): AuditDenials => {
  // In opening order, so that expired windows come first.
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
      log.error(
        { operation: call.operation, error: error instanceof Error ? error.name : 'unknown' },
        'A refusal could not be recorded in the audit log',
      )
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

/** Equal refusals share a key. Refusals beyond the limits share one key per source, or one key for all. */
const keyFor = (windows: ReadonlyMap<string, Window>, source: string, call: Call, denial: Denial): string => {
  const { code, reason, objectType, objectId, objectName } = denial
  const key = toWireJson([source, call.operation, code, reason, objectType, objectId, objectName])
  if (windows.has(key)) return key
  if (windows.size >= maxWindows) return 'all'
  const rows = [...windows.values()].filter((window) => window.source === source).length
  return rows >= maxRowsPerSource ? `further ${source}` : key
}

const entryOf = ({ code, action = 'access.denied', reason, ...object }: Denial): AuditEntry => ({
  ...object,
  action,
  changes: { code, ...definedFields({ reason }) },
})
