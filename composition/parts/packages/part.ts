import { packagesMigrations } from '../../../adapters/sql/packages/migrations.ts'
import { makeChartSource, makeOpenRepository, makeRepositoryReader } from '../../../adapters/charts/chart-source.ts'
import {
  makeChartTexts,
  makeChartThreads,
  makeChartTools,
  makeTextDiff,
} from '../../../adapters/charts/chart-threads.ts'
import { fastJsonPatches } from '../../../adapters/charts/json-patches.ts'
import { kubernetesYamlText } from '../../../adapters/charts/kubernetes-yaml.ts'
import { clusterAppReleases, makeClusterEditorCatalog } from '../../../adapters/charts/editors/editor-catalog.ts'
import { embedSource, builtInEditors, embeddedEditorCharts } from '../../../adapters/charts/editors/embedded-editors.ts'
import { makeRe2NamePatterns } from '../../../adapters/helm/records/name-patterns.ts'
import { gzipRecordSizes } from '../../../adapters/helm/records/record-payload.ts'
import { makeHelmReleaseStore } from '../../../adapters/helm/records/release-store.ts'
import { makeTimeSlices } from '../../../adapters/outbound/time-slices.ts'
import { makeEgressAllowance, makeUserUrlPolicy } from '../../../adapters/outbound/egress-policy.ts'
import type { GuardedFetch } from '../../../adapters/outbound/guarded-fetch.ts'
import { makeGuardedFetch } from '../../../adapters/outbound/guarded-fetch.ts'
import { makeSqlDriverConfigurationStore } from '../../../adapters/sql/packages/driver-configuration-store.ts'
import { NamedRepositoriesPort, RepositoryReaderPort } from '../../../core/packages/repositories/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import {
  ChartSourcePort,
  ChartTextsPort,
  ChartToolsPort,
  EmbeddedChartsPort,
} from '../../../core/packages/charts/ports.ts'
import { makeStorageDriverOf } from '../../../core/packages/releases/storage-drivers.ts'
import { AppReleasesPort, EditorCatalogPort } from '../../../core/packages/editors/ports.ts'
import {
  DriverConfigurationStorePort,
  JsonPatchesPort,
  ReleaseStorePort,
  StorageDriverOfPort,
  DriverUnitOfWorkPort,
  NamePatternsPort,
  YamlTextPort,
} from '../../../core/packages/ports.ts'
import { RecordSizesPort, TextDiffPort } from '../../../core/packages/releases/ports.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { packagesPlugin } from '../../../plugins/packages/plugin.ts'
import type { Boot } from '../../part/boot.ts'
import type { Binding } from '../../part/binding.ts'
import { bind, lazily, using } from '../../part/binding.ts'
import { definePart } from '../../part/part.ts'
import { spansOf } from '../../part/spans.ts'
import { HelmRunnerPort } from '../../../core/packages/releases/ports.ts'
import { HelmFinderPort, HelmSupplyPort, helmBindings, helmSettings } from './helm.ts'
import { bindUnitOfWork } from '../units-of-work.ts'

/** The longest time to read short texts before other work gets a turn. */
const readingSliceMilliseconds = 4
/** The longest time to match names before other work gets a turn. */
const matchingSliceMilliseconds = 4

const ChartThreadsPort = portKey<ReturnType<typeof makeChartThreads>>('packages.ChartThreads')
/** What requests the URLs of charts that users entered. */
const ChartFetchPort = portKey<{ readonly fetch: GuardedFetch }>('packages.ChartFetch')
const ChartSlicesPort = portKey<ReturnType<typeof makeTimeSlices>>('packages.ChartSlices')
const OpenRepositoryPort = portKey<ReturnType<typeof makeOpenRepository>>('packages.OpenRepository')

/** Charts: their sources, the checks of their contents, and their texts. */
const chartBindings = ({ settings, readings, resolver, pools }: Boot): readonly Binding[] => {
  const account = () => readings.account()
  const ofTexts = { threads: ChartThreadsPort, slices: ChartSlicesPort }
  return [
    bind(
      ChartThreadsPort,
      {},
      () => {
        const threads = makeChartThreads({ account, requestSignal: () => readings.signal() })
        pools.watch('charts', threads.load)
        return threads
      },
      (threads) => threads.close(),
    ),
    bind(ChartSlicesPort, {}, () => makeTimeSlices(readingSliceMilliseconds)),
    bind(ChartFetchPort, {}, () => {
      const reached = makeUserUrlPolicy(makeEgressAllowance(settings.egressAllow), resolver.lookup)
      return { fetch: makeGuardedFetch(reached, readings) }
    }),
    bind(OpenRepositoryPort, { threads: ChartThreadsPort, from: ChartFetchPort }, ({ threads, from }) =>
      makeOpenRepository({
        fetch: from.fetch,
        threads,
        account,
        watchPool: (load) => pools.watch('chart-indexes', load),
      }),
    ),
    bind(ChartTextsPort, ofTexts, ({ threads, slices }) => makeChartTexts(threads, slices)),
    bind(TextDiffPort, ofTexts, ({ threads, slices }) => makeTextDiff(threads, slices)),
    bind(JsonPatchesPort, {}, () => fastJsonPatches),
    bind(YamlTextPort, {}, () => kubernetesYamlText),
    bind(EmbeddedChartsPort, {}, () => new Map([[embedSource.name, embeddedEditorCharts]])),
    bind(ChartToolsPort, { threads: ChartThreadsPort }, ({ threads }) => makeChartTools(threads)),
    bind(RepositoryReaderPort, { open: OpenRepositoryPort }, ({ open }) => makeRepositoryReader(open)),
    bind(
      ChartSourcePort,
      {
        open: OpenRepositoryPort,
        threads: ChartThreadsPort,
        named: NamedRepositoriesPort,
        embedded: EmbeddedChartsPort,
      },
      makeChartSource,
    ),
  ]
}

/** Packages on member clusters: releases, charts, editors, and the helm program. */
export const part = definePart({
  plugin: packagesPlugin,
  helperPrograms: ['helm'],
  spans: [
    spansOf(HelmRunnerPort, {
      template: { name: 'helm template' },
      checkValues: { name: 'helm check values' },
      install: { name: 'helm install' },
      upgrade: { name: 'helm upgrade' },
      rollback: { name: 'helm rollback' },
      uninstall: { name: 'helm uninstall' },
    }),
    spansOf(ChartSourcePort, { fetch: { name: 'fetch chart' } }),
    spansOf(ChartToolsPort, { pack: { name: 'queue charts: pack' }, packSchemas: { name: 'queue charts: schemas' } }),
    spansOf(ChartFetchPort, {
      fetch: {
        name: 'chart source request',
        kind: 'client',
        attributes: () => ({ 'moorage.upstream': 'chart source' }),
        passOn: ([what, ...rest], headers) => {
          const sent = what as { readonly headers?: Readonly<Record<string, string>> }
          return [{ ...sent, headers: { ...sent.headers, ...headers } }, ...rest]
        },
      },
    }),
  ],
  migrations: packagesMigrations,
  settings: helmSettings,
  tags: [
    {
      name: 'Helm',
      description: 'The package manager on a member cluster: releases, chart views, resource editor.',
      after: 'Billing Dashboard',
    },
  ],
  provide(boot) {
    const { database, readings } = boot
    const store = lazily(() => makeSqlDriverConfigurationStore(database))
    return [
      ...chartBindings(boot),
      ...helmBindings(boot),
      bind(NamePatternsPort, {}, () => makeRe2NamePatterns(makeTimeSlices(matchingSliceMilliseconds))),
      bind(
        ReleaseStorePort,
        { clock: ClockPort },
        ({ clock }) => {
          const releases = makeHelmReleaseStore({ clock, account: () => readings.account() })
          boot.pools.watch('helm-records', releases.load)
          return releases
        },
        (releases) => releases.close(),
      ),
      bind(DriverConfigurationStorePort, {}, () => store()(database)),
      bind(StorageDriverOfPort, { drivers: DriverConfigurationStorePort }, makeStorageDriverOf),
      bindUnitOfWork(database, DriverUnitOfWorkPort, () => (tx) => ({ drivers: store()(tx) })),

      bind(RecordSizesPort, {}, () => gzipRecordSizes),
      bind(EditorCatalogPort, {}, () => makeClusterEditorCatalog(builtInEditors)),
      bind(AppReleasesPort, {}, () => clusterAppReleases),
    ]
  },
  // Packages can be read without helm.
  checks: using({ finder: HelmFinderPort }, ({ finder }) => [
    { name: 'helm', isInformative: true, check: async () => (await finder.find()).found !== undefined },
  ]),
  doctor: async (settings) => [await (await import('./helm.ts')).checkHelm(settings)],
  ready: using({ supply: HelmSupplyPort }, ({ supply }) => ({ isTold: supply.start() })),
})
