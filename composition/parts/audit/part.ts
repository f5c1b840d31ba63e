import { auditMigrations } from '../../../adapters/sql/audit/migrations.ts'
import { makeSqlAuditLog, makeSqlAuditRetention } from '../../../adapters/sql/audit/audit-log.ts'
import { makeSqlDenialWriter } from '../../../adapters/sql/audit/audit-trail.ts'
import { makeHmacDigest } from '../../../adapters/security/digests.ts'
import { makeSqlUpkeepTimes } from '../../../adapters/sql/kernel/upkeep-times.ts'
import { steadyClock } from '../../../adapters/system/system-clock.ts'
import { makeAuditChain } from '../../../core/audit/audit-chain.ts'
import {
  AuditChainToken,
  AuditDenialsToken,
  AuditLogToken,
  AuditRetentionToken,
  AuditSettingsToken,
  KeyedDigestToken,
} from '../../../core/audit/ports.ts'
import { makeAuditDenials } from '../../../core/audit/denials.ts'
import { LogToken } from '../../../core/kernel/log.ts'
import { token } from '../../../core/kernel/token.ts'
import { auditPlugin } from '../../../plugins/audit/plugin.ts'
import { withDefault } from '../../part/setting.ts'
import { wholeNumber } from '../../part/setting-type.ts'
import { bind } from '../../part/binding.ts'
import { defineGauges } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'

const UpkeepTimesToken = token<ReturnType<typeof makeSqlUpkeepTimes>>('audit.UpkeepTimes')

/** The audit log. */
export const part = definePart({
  plugin: auditPlugin,
  migrations: auditMigrations,
  settings: {
    auditRetentionDays: withDefault(
      'MOORAGE_AUDIT_RETENTION_DAYS',
      wholeNumber(0, 36_500),
      '0',
      'Days for which rows of the audit log are kept; 0 keeps all of them.',
      { after: 'MOORAGE_QUERY_TOKENS' },
    ),
  },
  provide: (boot) => [
    bind(UpkeepTimesToken, {}, () => makeSqlUpkeepTimes(boot.database)),
    bind(KeyedDigestToken, {}, () => makeHmacDigest(boot.keys.audit.reveal())),
    bind(AuditChainToken, { keyedDigest: KeyedDigestToken }, ({ keyedDigest }) => makeAuditChain(keyedDigest)),
    bind(AuditRetentionToken, {}, () => makeSqlAuditRetention(boot.database)),
    bind(AuditSettingsToken, {}, () => ({ retentionDays: boot.settings.auditRetentionDays })),
    bind(AuditLogToken, {}, () => makeSqlAuditLog(boot.database)),
    bind(
      AuditDenialsToken,
      { log: LogToken, auditChain: AuditChainToken },
      ({ log, auditChain }) =>
        makeAuditDenials({ writer: makeSqlDenialWriter(boot.database, auditChain), clock: steadyClock, log }),
      (denials) => denials.flush(),
    ),
  ],
  metrics: [
    defineGauges(
      {
        moorage_upkeep_last_success_timestamp_seconds: {
          help:
            'When a backup (`moorage backup create`) and a check of the audit log (`moorage audit verify`) last ' +
            'succeeded, as Unix time; 0 if none ever did.',
          label: 'work',
        },
      },
      { times: UpkeepTimesToken },
      ({ times }) =>
        async () => ({ moorage_upkeep_last_success_timestamp_seconds: await times.lastSeconds() }),
    ),
  ],
})
