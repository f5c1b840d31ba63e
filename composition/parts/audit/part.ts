import { auditMigrations } from '../../../adapters/sql/audit/migrations.ts'
import { makeSqlAuditLog, makeSqlAuditRetention } from '../../../adapters/sql/audit/audit-log.ts'
import { makeSqlDenialWriter } from '../../../adapters/sql/audit/audit-trail.ts'
import { makeHmacDigest } from '../../../adapters/security/digests.ts'
import { makeSqlUpkeepTimes } from '../../../adapters/sql/kernel/upkeep-times.ts'
import { steadyClock } from '../../../adapters/system/system-clock.ts'
import { makeAuditChain } from '../../../core/audit/audit-chain.ts'
import {
  AuditChainPort,
  AuditDenialsPort,
  AuditLogPort,
  AuditRetentionPort,
  AuditSettingsPort,
  KeyedDigestPort,
} from '../../../core/audit/ports.ts'
import { makeAuditDenials } from '../../../core/audit/denials.ts'
import { LogPort } from '../../../core/kernel/log.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { auditPlugin } from '../../../plugins/audit/plugin.ts'
import { withDefault } from '../../part/setting.ts'
import { wholeNumber } from '../../part/setting-type.ts'
import { bind } from '../../part/binding.ts'
import { defineGauges } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'

const UpkeepTimesPort = portKey<ReturnType<typeof makeSqlUpkeepTimes>>('audit.UpkeepTimes')

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
    bind(UpkeepTimesPort, {}, () => makeSqlUpkeepTimes(boot.database)),
    bind(KeyedDigestPort, {}, () => makeHmacDigest(boot.keys.audit.reveal())),
    bind(AuditChainPort, { keyedDigest: KeyedDigestPort }, ({ keyedDigest }) => makeAuditChain(keyedDigest)),
    bind(AuditRetentionPort, {}, () => makeSqlAuditRetention(boot.database)),
    bind(AuditSettingsPort, {}, () => ({ retentionDays: boot.settings.auditRetentionDays })),
    bind(AuditLogPort, {}, () => makeSqlAuditLog(boot.database)),
    bind(
      AuditDenialsPort,
      { log: LogPort, auditChain: AuditChainPort },
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
      { times: UpkeepTimesPort },
      ({ times }) =>
        async () => ({ moorage_upkeep_last_success_timestamp_seconds: await times.lastSeconds() }),
    ),
  ],
})
