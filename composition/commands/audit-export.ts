import { makeSqlAuditLog } from '../../adapters/sql/audit/audit-log.ts'
import type { AuditFilter } from '../../core/audit/types.ts'
import type { CommandContext, CommonOptions, ExitCode } from '../command-context.ts'
import { configOf } from '../command-context.ts'
import { openFoundation } from '../foundation.ts'

export interface AuditExportOptions extends CommonOptions {
  readonly after?: string
  readonly since?: string
}

const pieceRows = 500

/** Prints the audit log as JSON lines, oldest first, as long as there are rows. 2 when an option cannot be read. */
export const auditExport = async (context: CommandContext, options: AuditExportOptions): Promise<ExitCode> => {
  const since = options.since === undefined ? undefined : new Date(options.since)
  if (since !== undefined && Number.isNaN(since.getTime())) return misused(context, '--since takes a date, as 2026-11-01 or 2026-11-01T08:00:00Z.')
  const after = options.after ?? '0'
  if (!/^\d{1,15}$/.test(after)) return misused(context, '--after takes the id of a row.')
  const filter: AuditFilter = since === undefined ? {} : { since }
  const { settings } = await configOf(context, options)
  const { database } = await openFoundation(settings)
  try {
    const log = makeSqlAuditLog(database)
    let last = Number(after)
    for (;;) {
      const events = await log.listAfter(filter, last, pieceRows)
      for (const { at, changes, ...event } of events) {
        context.print(JSON.stringify({ ...event, at: at.toISOString(), changes: JSON.parse(changes) as unknown }))
        last = event.id
      }
      if (events.length < pieceRows) return 0
    }
  } finally {
    await database.close()
  }
}

const misused = (context: CommandContext, why: string): ExitCode => {
  context.say(why)
  return 2
}
