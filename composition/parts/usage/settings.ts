import type { ValuesOf } from '../../part/setting.ts'
import { withDefault } from '../../part/setting.ts'
import { wordOf } from '../../part/setting-type.ts'

/** The settings of usage. */
export const usageSettings = {
  usageReporters: withDefault(
    'MOORAGE_USAGE_REPORTERS',
    wordOf('robots', 'anyone'),
    'robots',
    'Who reports usage, if it has the right to: only robot accounts and the bus, or people too.',
    { after: 'MOORAGE_BILLING_ENABLED' },
  ),
} as const

export type UsageValues = ValuesOf<typeof usageSettings>
