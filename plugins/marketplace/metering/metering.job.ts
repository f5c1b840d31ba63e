import { ClockPort, laterByDays, TimeTrustPort } from '../../../core/kernel/clock.ts'
import { LogPort } from '../../../core/kernel/log.ts'
import { ReportCloudAPort } from '../../../core/marketplace/metering/cloud-a.ts'
import { ReportCloudCPort } from '../../../core/marketplace/metering/cloud-c.ts'
import {
  HourlySettingsPort,
  MeteredHourStorePort,
  UsedHoursPort,
} from '../../../core/marketplace/metering/hours/ports.ts'
import { makeReportHours } from '../../../core/marketplace/metering/hours/report-hours.ts'
import { makeFindLateUsage, makeMailLosses } from '../../../core/marketplace/metering/hours/late-usage.ts'
import {
  MeteredSubscriptionsPort,
  MeteringSettingsPort,
  UsageLedgerPort,
} from '../../../core/marketplace/metering/ports.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { MarketplaceSettingsPort, MarketplaceUnitOfWorkPort } from '../../../core/marketplace/ports.ts'
import { defineGroup } from '../../kit/group.ts'

/** Longer than any provider takes usage, and than the books of a year are open. */
const keptDays = 800
const slice = 500

/** What keeps the record of reports small. */
export const meteringUpkeepGroup = defineGroup({
  needs: { clock: ClockPort, ledger: UsageLedgerPort },
  jobs: ({ clock, ledger }) => [
    {
      id: 'metering.expire',
      summary: `Remove the record of usage that was reported more than ${keptDays} days ago`,
      everySeconds: 6 * 3600,
      run: async () => void (await ledger.removeBefore(laterByDays(clock.now(), -keptDays), slice)),
    },
  ],
})

/** Reports the usage of each hour, where the deployment is configured for it. */
export const meteringHoursGroup = defineGroup({
  needs: {
    clock: ClockPort,
    entropy: EntropyPort,
    hourly: HourlySettingsPort,
    hours: MeteredHourStorePort,
    log: LogPort,
    marketplace: MarketplaceSettingsPort,
    reportCloudA: ReportCloudAPort,
    reportCloudC: ReportCloudCPort,
    settings: MeteringSettingsPort,
    subscriptions: MeteredSubscriptionsPort,
    timeTrust: TimeTrustPort,
    unitOfWork: MarketplaceUnitOfWorkPort,
    used: UsedHoursPort,
  },
  jobs: ({ settings: { cloud }, hourly, ...given }) =>
    cloud === undefined || hourly.product === undefined
      ? []
      : [
          {
            id: 'metering.reportHours',
            summary: 'Report the usage of hours that have ended to the marketplace',
            everySeconds: 300,
            run: makeReportHours({ ...given, cloud, settings: hourly }),
          },
          {
            id: 'metering.findLateUsage',
            summary: 'Report or record usage that arrived after its hour was reported to the marketplace',
            everySeconds: 3600,
            run: makeFindLateUsage({ ...given, cloud, settings: hourly }),
          },
          {
            id: 'metering.mailLosses',
            summary: 'Send a mail about usage that the marketplace does not take any more',
            everySeconds: 24 * 3600,
            run: makeMailLosses(given),
          },
        ],
})
