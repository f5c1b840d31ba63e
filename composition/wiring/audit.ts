import { makeSqlAuditLog, makeSqlAuditRetention } from '../../adapters/sql/audit/audit-log.ts'
import { makeSqlDenialWriter } from '../../adapters/sql/audit/audit-trail.ts'
import { makeHmacDigest } from '../../adapters/security/digests.ts'
import { steadyClock } from '../../adapters/system/system-clock.ts'
import { makeAuditChain } from '../../core/audit/audit-chain.ts'
import {
  AuditChainToken,
  AuditDenialsToken,
  AuditLogToken,
  AuditRetentionToken,
  AuditSettingsToken,
  KeyedDigestToken,
} from '../../core/audit/ports.ts'
import { makeAuditDenials } from '../../core/audit/denials.ts'
import { LogToken } from '../../core/kernel/log.ts'
import type { Provide } from '../boot.ts'

export const provideAudit: Provide = (container, boot) => {
  container.provide(KeyedDigestToken, () => makeHmacDigest(boot.keys.audit.reveal()))
  container.provide(AuditChainToken, (resolve) => makeAuditChain(resolve(KeyedDigestToken)))
  container.provide(AuditRetentionToken, () => makeSqlAuditRetention(boot.database))
  container.provideValue(AuditSettingsToken, { retentionDays: boot.settings.auditRetentionDays })
  container.provide(AuditLogToken, () => makeSqlAuditLog(boot.database))
  container.provide(AuditDenialsToken, (resolve) => {
    const denials = makeAuditDenials({
      writer: makeSqlDenialWriter(boot.database, resolve(AuditChainToken)),
      clock: steadyClock,
      log: resolve(LogToken),
    })
    boot.onStop('audit denials', () => denials.flush())
    return denials
  })
}
