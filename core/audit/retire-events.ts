import type { Clock } from '../kernel/clock.ts'
import { laterByDays } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { sealOfBase } from './audit-chain.ts'
import type { AuditRetention, AuditSettings, KeyedDigest } from './ports.ts'

export interface RetireEventsDeps {
  readonly retention: AuditRetention
  readonly settings: AuditSettings
  readonly key: KeyedDigest
  readonly clock: Clock
  readonly log: Log
}

/** Rows removed in one transaction: short enough that those who append wait for a moment only. */
const pieceRows = 500

/** Removes audit rows that are older than the operator keeps them, piece by piece; does nothing when all are kept. */
export const makeRetireEvents = ({ retention, settings, key, clock, log }: RetireEventsDeps) =>
  async (signal: AbortSignal): Promise<void> => {
    if (settings.retentionDays === 0) return
    const before = laterByDays(clock.now(), -settings.retentionDays)
    let removed = 0
    for (let isDone = false; !isDone && !signal.aborted; ) {
      const piece = await retention.removeOldest(before, pieceRows, (tenantId, hash) => sealOfBase(key, tenantId, hash))
      removed += piece.removed
      isDone = piece.isDone
    }
    if (removed > 0) log.info({ removed, before: before.toISOString() }, 'old rows of the audit log were removed')
  }
