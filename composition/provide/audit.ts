import { makeSqlAuditLog } from '../../adapters/sql/audit/audit-log.ts'
import { makeSqlDenialWriter } from '../../adapters/sql/audit/denial-writer.ts'
import { makeHmacDigest } from '../../adapters/sql/audit/hmac-digest.ts'
import { makeAuditChain } from '../../core/audit/audit-chain.ts'
import { AuditChainToken, AuditDenialsToken, AuditLogToken } from '../../core/audit/ports.ts'
import { makeAuditDenials } from '../../core/audit/record-denial.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { LogToken } from '../../core/kernel/log.ts'
import type { Provide } from '../boot.ts'

export const provideAudit: Provide = (container, boot) => {
  container.provide(AuditChainToken, () => makeAuditChain(makeHmacDigest(boot.keys.audit.reveal())))
  container.provide(AuditLogToken, () => makeSqlAuditLog(boot.database))
  container.provide(AuditDenialsToken, (resolve) => {
    const denials = makeAuditDenials({
      writer: makeSqlDenialWriter(boot.database, resolve(AuditChainToken)),
      clock: resolve(ClockToken),
      log: resolve(LogToken),
    })
    boot.onStop('audit denials', () => denials.flush())
    return denials
  })
}
