import { definePlugin } from '../../kit/plugin.ts'
import { meteringGroup, meteringRecordGroup } from './metering.handlers.ts'
import { meteringHoursGroup, meteringUpkeepGroup } from './metering.job.ts'

export const meteringPlugin = definePlugin({
  id: 'metering',
  summary: 'Usage that is reported to the marketplaces of cloud providers',
  listener: 'api',
  gate: 'any-marketplace',
  groups: [meteringGroup, meteringRecordGroup, meteringHoursGroup, meteringUpkeepGroup],
})
