import { usageMigrations } from '../../../adapters/sql/usage/migrations.ts'
import { makeSqlDatabaseInventory } from '../../../adapters/sql/usage/database-inventory.ts'
import { makeSqlUsageReportStore } from '../../../adapters/sql/usage/report-store.ts'
import { makeSqlUsageViewStore } from '../../../adapters/sql/usage/view-store.ts'
import { UsageReportStorePort } from '../../../core/usage/reports/ports.ts'
import { DatabaseInventoryPort, UsageViewStorePort } from '../../../core/usage/views/ports.ts'
import { usageEvents } from '../../../core/usage/events/types.ts'
import { UsageEventCountersPort, UsageIntakePort } from '../../../core/usage/events/reports.ts'
import { usagePlugin } from '../../../plugins/usage/plugin.ts'
import { bind, using } from '../../part/binding.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { defineGauges } from '../../part/gauges.ts'
import { ownPage } from '../../part/pages/web-page.ts'
import { definePart } from '../../part/part.ts'
import { eventBindings } from './events.ts'
import { monthBindings } from './months.ts'
import { usageSettings } from './settings.ts'

/**
 * Usage: its events, months, views and reports. Views and reports of months are written where months are closed.
 */
export const part = definePart({
  plugin: usagePlugin,
  helperPrograms: ['closing'],
  demo: async (world) => (await import('./demo.ts')).seedUsage(world),
  migrations: usageMigrations,
  settings: usageSettings,
  subjects: [usageEvents],
  pages: [ownPage('usage-intake', 'Usage events')],
  tags: [
    {
      name: 'Billing Dashboard',
      description: 'Usage summaries and billing reports, on billing-enabled deployments.',
      after: 'Licensing & Contracts',
    },
  ],
  provide(boot) {
    const { database } = boot
    return [
      ...eventBindings(boot),
      ...monthBindings(boot),
      bind(UsageViewStorePort, {}, () => makeSqlUsageViewStore(database)(database)),
      bind(UsageReportStorePort, {}, () => makeSqlUsageReportStore(database)(database)),
      bind(DatabaseInventoryPort, {}, () => makeSqlDatabaseInventory(database)(database)),
    ]
  },
  metrics: [
    defineGauges(
      {
        moorage_usage_events_total: {
          type: 'counter',
          help:
            'Usage events since the start, by what became of them; terminated counts messages of the bus that are ' +
            'not tried again.',
          label: 'outcome',
          ofProcesses: 'sum',
        },
        moorage_usage_intake_pending_messages: {
          help: 'Messages of the bus with usage events that are not handled yet; absent without a bus.',
        },
      },
      { counters: UsageEventCountersPort, intake: UsageIntakePort },
      ({ counters, intake }) =>
        async () => ({
          moorage_usage_events_total: { ...counters },
          ...definedFields({ moorage_usage_intake_pending_messages: await intake.lag() }),
        }),
    ),
  ],
  start: using({ intake: UsageIntakePort }, ({ intake }) => intake.start()),
})
