import { makeSqlAuditLog } from '../../../adapters/sql/audit/audit-log.ts'
import { makeHmacDigest } from '../../../adapters/security/digests.ts'
import type { AuditFilter } from '../../../core/audit/types.ts'
import type { ChainVerdict } from '../../../core/audit/audit-chain.ts'
import { verifyChain } from '../../../core/audit/audit-chain.ts'
import { changesOf } from '../../../plugins/audit/codecs.ts'
import { recordUpkeep } from '../../part/upkeep.ts'
import { openFoundation } from '../../runtime/service/foundation.ts'
import type { CommonOptions, ExitCode, PartContext } from '../../part/command-context.ts'
import { printJson } from '../../part/command-context.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'

export interface AuditExportOptions extends CommonOptions {
  readonly after?: string
  readonly since?: string
}

const pieceRows = 500

/**
 * Prints the audit log as JSON lines, oldest first, until there are no more rows. Returns 2 when an option is invalid.
 */
export const auditExport = async (context: PartContext, options: AuditExportOptions): Promise<ExitCode> => {
  const since = options.since === undefined ? undefined : new Date(options.since)
  if (since !== undefined && Number.isNaN(since.getTime()))
    return misused(context, '--since takes a date, as 2026-11-01 or 2026-11-01T08:00:00Z.')
  const after = options.after ?? '0'
  if (!/^\d{1,15}$/.test(after)) return misused(context, '--after takes the id of a row.')
  const filter: AuditFilter = definedFields({ since })
  const settings = await context.settings(options)
  const { database } = await openFoundation(settings)
  try {
    const log = makeSqlAuditLog(database)
    let last = Number(after)
    for (;;) {
      const events = await log.listAfter(filter, last, pieceRows)
      for (const { at, changes, ...event } of events) {
        context.print(toWireJson({ ...event, at: at.toISOString(), changes: changesOf(changes) }))
        last = event.id
      }
      if (events.length < pieceRows) return 0
    }
  } finally {
    await database.close()
  }
}

const misused = (context: PartContext, why: string): ExitCode => {
  context.say(why)
  return 2
}

type TenantVerdict = ChainVerdict & { readonly tenantId: number }

/** Verifies the audit log's chain of every account. Returns 1 when a chain was altered or truncated. */
export const auditVerify = async (context: PartContext, options: CommonOptions): Promise<ExitCode> => {
  const settings = await context.settings(options)
  const { database, keyring } = await openFoundation(settings)
  try {
    const key = makeHmacDigest(keyring.auditKey.reveal())
    const verdicts: TenantVerdict[] = []
    for await (const chain of makeSqlAuditLog(database).chains()) {
      verdicts.push({ tenantId: chain.tenantId, ...(await verifyChain(key, chain)) })
    }
    const isWhole = verdicts.every(({ state }) => state === 'whole')
    if (options.json === true) printJson(context, { isWhole, chains: verdicts })
    else for (const verdict of verdicts) context.print(inWords(verdict))
    if (verdicts.length === 0) context.say('The audit log is empty.')
    if (isWhole)
      await recordUpkeep(
        context,
        database,
        'audit_check',
        database.now().then((now) => new Date(now)),
      )
    return isWhole ? 0 : 1
  } finally {
    await database.close()
  }
}

const inWords = (verdict: TenantVerdict): string => {
  const owner = verdict.tenantId === 0 ? 'the site' : `account ${verdict.tenantId}`
  switch (verdict.state) {
    case 'whole':
      return `ok       ${owner}: ${verdict.rows} rows`
    case 'altered':
      return `altered  ${owner}: row ${verdict.brokenAt} does not follow from the row before it`
    case 'base-forged':
      return `altered  ${owner}: the continuation of the chain after its retired rows was not written by this service`
    case 'headless':
      return `cut      ${owner}: the end of its rows is not recorded`
    case 'cut':
      return `cut      ${owner}: rows are missing after the last of ${verdict.rows}`
  }
}
