import { ClockToken, laterByDays, TimeTrustToken } from '../../../core/kernel/clock.ts'
import { LogToken } from '../../../core/kernel/log.ts'
import { ReportCloudAToken } from '../../../core/marketplace/metering/cloud-a.ts'
import { ReportCloudCToken } from '../../../core/marketplace/metering/cloud-c.ts'
import {
  HourlySettingsToken,
  MeteredHourStoreToken,
  UsedHoursToken,
} from '../../../core/marketplace/metering/hours/ports.ts'
import { makeReportHours } from '../../../core/marketplace/metering/hours/report-hours.ts'
import { MeteringSettingsToken, UsageLedgerToken } from '../../../core/marketplace/metering/ports.ts'
import { defineGroup } from '../../kit/group.ts'

/** Longer than any provider takes usage, and than the books of a year are open. */
const keptDays = 800
const slice = 500

/** What keeps the record of reports small. */
export const meteringUpkeepGroup = defineGroup({
  needs: { clock: ClockToken, ledger: UsageLedgerToken },
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
    clock: ClockToken,
    hourly: HourlySettingsToken,
    hours: MeteredHourStoreToken,
    log: LogToken,
    reportCloudA: ReportCloudAToken,
    reportCloudC: ReportCloudCToken,
    settings: MeteringSettingsToken,
    timeTrust: TimeTrustToken,
    used: UsedHoursToken,
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
        ],
})
