import { left, right } from 'fp-ts/lib/Either.js'
import { makeCloudAMetering } from '../../../adapters/metering/cloud-a-metering.ts'
import { makeMeteringCounters, usageDigests } from '../../../adapters/metering/sending.ts'
import { makeServiceControl } from '../../../adapters/metering/service-control.ts'
import type { EgressClient } from '../../../adapters/outbound/egress-client.ts'
import { makeEgressClient } from '../../../adapters/outbound/egress-client.ts'
import { makeEgressPolicy } from '../../../adapters/outbound/egress-policy.ts'
import { meteringMigrations } from '../../../adapters/sql/marketplace/migrations.ts'
import { makeSqlMeteredHourStore, makeSqlUsedHours } from '../../../adapters/sql/marketplace/metered-hours.ts'
import { makeSqlUsageLedger } from '../../../adapters/sql/marketplace/usage-ledger.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import type { Deployment } from '../../../core/kernel/deployment.ts'
import { LogPort } from '../../../core/kernel/log.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { makeReportCloudA, ReportCloudAPort } from '../../../core/marketplace/metering/cloud-a.ts'
import { makeReportCloudC, ReportCloudCPort } from '../../../core/marketplace/metering/cloud-c.ts'
import type { ReadMeteredMonth } from '../../../core/marketplace/metering/hours/metered-months.ts'
import { makeReadMeteredMonth, ReadMeteredMonthPort } from '../../../core/marketplace/metering/hours/metered-months.ts'
import type { MeteredDimension } from '../../../core/marketplace/metering/hours/ports.ts'
import {
  HourlySettingsPort,
  meteredMeasures,
  MeteredHourStorePort,
  UsedHoursPort,
} from '../../../core/marketplace/metering/hours/ports.ts'
import type { MeteringSettings } from '../../../core/marketplace/metering/ports.ts'
import {
  CloudAMeteringPort,
  MeteredSubscriptionsPort,
  MeteringSettingsPort,
  MeteringCountersPort,
  ServiceControlPort,
  UsageDigestsPort,
  UsageLedgerPort,
} from '../../../core/marketplace/metering/ports.ts'
import { meteringPlugin } from '../../../plugins/marketplace/metering/plugin.ts'
import { bind } from '../../part/binding.ts'
import { absentUnlessSet, withDefault } from '../../part/setting.ts'
import type { SettingType } from '../../part/setting-type.ts'
import { listOf, matching, origin, words, yesNo } from '../../part/setting-type.ts'
import { defineGauges } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'
import { fetchSpan, spansOf } from '../../part/spans.ts'

const ProviderEgressPort = portKey<EgressClient>('metering.ProviderEgress')

const cloudOf = ({ type }: Deployment): MeteringSettings['cloud'] => {
  if (type === 'CloudAMarketplaceDeployment') return 'cloudA'
  return type === 'CloudCMarketplaceDeployment' ? 'cloudC' : undefined
}

const dimensionForm = /^([\w.-]{1,255})=([a-z]+)$/
const dimension: SettingType<MeteredDimension> = {
  schema: { type: 'string', pattern: dimensionForm.source },
  isSecret: false,
  show: ({ name, measure }) => `${name}=${measure}`,
  parse: (raw) => {
    const [, name, word] = (typeof raw === 'string' ? dimensionForm.exec(raw.trim()) : null) ?? []
    const measure = meteredMeasures.find((each) => each === word)
    return name === undefined || measure === undefined
      ? left('a name and a measure (cpu or memory), as core_hours=cpu')
      : right({ name, measure })
  },
}

/** Returns what was lost in the month of an instant and the one before, by dimension. */
const lostUnits = async (now: Date, readMonth: ReadMeteredMonth): Promise<Readonly<Record<string, number>>> => {
  const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1))
  const units: Record<string, number> = {}
  for (const month of [before.toISOString().slice(0, 7), undefined])
    for (const { dimension: name, lost } of await readMonth(month)) units[name] = (units[name] ?? 0) + lost
  return units
}

/** Usage that is reported to the marketplaces of cloud providers. */
export const part = definePart({
  plugin: meteringPlugin,
  spans: [
    spansOf(CloudAMeteringPort, { report: { name: 'report usage' } }),
    spansOf(ServiceControlPort, { check: { name: 'check consumer' }, report: { name: 'report usage' } }),
    spansOf(ProviderEgressPort, { fetch: fetchSpan }),
  ],
  migrations: meteringMigrations,
  settings: {
    meteringRegion: absentUnlessSet(
      'MOORAGE_METERING_REGION',
      matching(/^[a-z]{2}(-[a-z]+){1,3}-\d{1,2}$/, 'a region, as us-east-1'),
      'Cloud A: the region in which the service runs, to which usage is reported.',
      { fallbackText: 'that of the environment (`AWS_REGION`)' },
    ),
    meteringKeyFile: absentUnlessSet(
      'MOORAGE_METERING_KEY_FILE',
      words,
      'Cloud C: the key file of the service account that reports usage.',
      { fallbackText: 'the credentials of the workload, or `GOOGLE_APPLICATION_CREDENTIALS`' },
    ),
    meteringConsumer: absentUnlessSet(
      'MOORAGE_METERING_CONSUMER',
      matching(/^[\w.:/-]{1,255}$/, 'the id of a consumer, as project_number:1234567890'),
      'Cloud C: the consumer to whom usage is charged, as the subscription names it.',
    ),
    meteringStrict: withDefault(
      'MOORAGE_METERING_STRICT',
      yesNo,
      'false',
      'Cloud C: answer 500 instead of 200 if the provider lists errors of the report.',
    ),
    meteringEndpoint: absentUnlessSet(
      'MOORAGE_METERING_ENDPOINT',
      origin,
      'Where usage is reported, instead of at the provider; any address, also by http.',
      { fallbackText: 'the provider' },
    ),
    meteringProduct: absentUnlessSet(
      'MOORAGE_METERING_PRODUCT',
      matching(/^[\w.@:/=-]{1,253}$/, 'a product code of cloud A, or the name of a service of cloud C'),
      'Report the usage of each hour by itself, as usage of this product: the product code of cloud A, or ' +
        'the name of the service of cloud C. Requires MOORAGE_BILLING_ENABLED.',
    ),
    meteringDimensions: withDefault(
      'MOORAGE_METERING_DIMENSIONS',
      listOf(dimension),
      '',
      'The dimensions that are reported, each with what is counted: core_hours=cpu, memory_hours=memory. Units are ' +
        'core-hours and GiB-hours.',
    ),
  },
  tags: [
    {
      name: 'Metered Billing',
      description: 'Reports of usage to the marketplaces of cloud providers, on marketplace deployments.',
      after: 'Billing Dashboard',
    },
  ],
  provide({ database, settings, resolver, deployment }) {
    const isOwnEndpoint = settings.meteringEndpoint !== undefined
    return [
      // An endpoint that is configured is intended, at any address.
      bind(
        ProviderEgressPort,
        {},
        () =>
          makeEgressClient(
            makeEgressPolicy(new Set(isOwnEndpoint ? ['public', 'private', 'loopback'] : ['public']), resolver.lookup),
            isOwnEndpoint,
          ),
        (client) => client.close(),
      ),
      bind(CloudAMeteringPort, { egress: ProviderEgressPort }, ({ egress }) =>
        makeCloudAMetering({
          region: settings.meteringRegion,
          endpoint: settings.meteringEndpoint,
          egress,
        }),
      ),
      bind(ServiceControlPort, { egress: ProviderEgressPort }, ({ egress }) =>
        makeServiceControl({
          keyFile: settings.meteringKeyFile,
          endpoint: settings.meteringEndpoint,
          egress,
        }),
      ),
      bind(UsageDigestsPort, {}, () => usageDigests),
      bind(UsageLedgerPort, {}, () => makeSqlUsageLedger(database)),
      bind(MeteredHourStorePort, {}, () => makeSqlMeteredHourStore(database)),
      bind(UsedHoursPort, {}, () => makeSqlUsedHours(database)),
      bind(ReadMeteredMonthPort, { hours: MeteredHourStorePort, clock: ClockPort }, makeReadMeteredMonth),
      // Without billing, no usage is known: zero would be reported.
      bind(HourlySettingsPort, {}, () => ({
        product: deployment.billingEnabled ? settings.meteringProduct : undefined,
        dimensions: settings.meteringDimensions,
      })),
      bind(MeteringCountersPort, {}, makeMeteringCounters),
      bind(MeteringSettingsPort, {}, () => ({
        cloud: cloudOf(deployment),
        consumerId: settings.meteringConsumer,
        isStrict: settings.meteringStrict,
      })),
      bind(
        ReportCloudAPort,
        {
          provider: CloudAMeteringPort,
          digests: UsageDigestsPort,
          ledger: UsageLedgerPort,
          subscriptions: MeteredSubscriptionsPort,
          counters: MeteringCountersPort,
          clock: ClockPort,
          log: LogPort,
        },
        makeReportCloudA,
      ),
      bind(
        ReportCloudCPort,
        {
          provider: ServiceControlPort,
          settings: MeteringSettingsPort,
          digests: UsageDigestsPort,
          ledger: UsageLedgerPort,
          subscriptions: MeteredSubscriptionsPort,
          caches: CachesPort,
          counters: MeteringCountersPort,
          clock: ClockPort,
          log: LogPort,
        },
        ({ caches, ...given }) => makeReportCloudC({ ...given, passed: caches.make({ maxEntries: 1000 }) }),
      ),
    ]
  },
  metrics: [
    defineGauges(
      {
        moorage_metering_reports_total: {
          type: 'counter',
          help:
            'Reports of usage to the provider since the start, by outcome; partial counts those that the provider ' +
            'answered with errors.',
          label: 'outcome',
          ofProcesses: 'sum',
        },
      },
      { counters: MeteringCountersPort },
      ({ counters }) =>
        () => ({ moorage_metering_reports_total: counters.counts() }),
    ),
    defineGauges(
      {
        moorage_metering_unreported_hours: {
          help:
            'Hours whose usage the service could not report, by the reason; those that are sent again included. One ' +
            'for each dimension.',
          label: 'reason',
        },
      },
      { hours: MeteredHourStorePort },
      ({ hours }) =>
        async () => ({ moorage_metering_unreported_hours: await hours.unreported() }),
    ),
    defineGauges(
      {
        moorage_metering_lost_units: {
          help:
            'Core-hours or GiB-hours of the running month and the one before that the provider does not take any ' +
            'more, by dimension; late usage included.',
          label: 'dimension',
        },
      },
      { clock: ClockPort, readMonth: ReadMeteredMonthPort },
      ({ clock, readMonth }) =>
        async () => ({ moorage_metering_lost_units: await lostUnits(clock.now(), readMonth) }),
    ),
  ],
})
