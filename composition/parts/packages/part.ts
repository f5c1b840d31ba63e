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
import { makeTimeSlices } from '../../../adapters/helm/records/time-slices.ts'
import { makeEgressAllowance, makeUserUrlPolicy } from '../../../adapters/outbound/egress-policy.ts'
import type { GuardedFetch } from '../../../adapters/outbound/guarded-fetch.ts'
import { makeGuardedFetch } from '../../../adapters/outbound/guarded-fetch.ts'
import { makeSqlAuditTrail } from '../../../adapters/sql/audit/audit-trail.ts'
import { makeSqlDriverConfigurationStore } from '../../../adapters/sql/packages/driver-configuration-store.ts'
import { makeSqlUnitOfWork } from '../../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken } from '../../../core/audit/ports.ts'
import { NamedRepositoriesToken, RepositoryReaderToken } from '../../../core/packages/repositories/ports.ts'
import { ClockToken } from '../../../core/kernel/clock.ts'
import {
  ChartSourceToken,
  ChartTextsToken,
  ChartToolsToken,
  EmbeddedChartsToken,
} from '../../../core/packages/charts/ports.ts'
import { makeStorageDriverOf } from '../../../core/packages/releases/storage-drivers.ts'
import { AppReleasesToken, EditorCatalogToken } from '../../../core/packages/editors/ports.ts'
import {
  DriverConfigurationStoreToken,
  JsonPatchesToken,
  ReleaseStoreToken,
  StorageDriverOfToken,
  DriverUnitOfWorkToken,
  NamePatternsToken,
  YamlTextToken,
} from '../../../core/packages/ports.ts'
import { RecordSizesToken, TextDiffToken } from '../../../core/packages/releases/ports.ts'
import { token } from '../../../core/kernel/token.ts'
import { packagesPlugin } from '../../../plugins/packages/plugin.ts'
import type { Boot } from '../../part/boot.ts'
import type { Binding } from '../../part/binding.ts'
import { bind, lazily, using } from '../../part/binding.ts'
import { definePart } from '../../part/part.ts'
import { spansOf } from '../../part/spans.ts'
import { HelmRunnerToken } from '../../../core/packages/releases/ports.ts'
import { HelmFinderToken, HelmSupplyToken, helmBindings, helmSettings } from './helm.ts'

/** The longest time to read short texts before other work gets a turn. */
const readingSliceMilliseconds = 4
/** The longest time to match names before other work gets a turn. */
const matchingSliceMilliseconds = 4

const ChartThreadsToken = token<ReturnType<typeof makeChartThreads>>('packages.ChartThreads')
/** What requests the URLs of charts that users entered. */
const ChartFetchToken = token<{ readonly fetch: GuardedFetch }>('packages.ChartFetch')
const ChartSlicesToken = token<ReturnType<typeof makeTimeSlices>>('packages.ChartSlices')
const OpenRepositoryToken = token<ReturnType<typeof makeOpenRepository>>('packages.OpenRepository')

/** Charts: their sources, the checks of their contents, and their texts. */
const chartBindings = ({ settings, readings, resolver, pools }: Boot): readonly Binding[] => {
  const account = () => readings.account()
  const ofTexts = { threads: ChartThreadsToken, slices: ChartSlicesToken }
  return [
    bind(
      ChartThreadsToken,
      {},
      () => {
        const threads = makeChartThreads({ account, requestSignal: () => readings.signal() })
        pools.watch('charts', threads.load)
        return threads
      },
      (threads) => threads.close(),
    ),
    bind(ChartSlicesToken, {}, () => makeTimeSlices(readingSliceMilliseconds)),
    bind(ChartFetchToken, {}, () => {
      const reached = makeUserUrlPolicy(makeEgressAllowance(settings.egressAllow), resolver.lookup)
      return { fetch: makeGuardedFetch(reached, readings) }
    }),
    bind(OpenRepositoryToken, { threads: ChartThreadsToken, from: ChartFetchToken }, ({ threads, from }) =>
      makeOpenRepository({
        fetch: from.fetch,
        threads,
        account,
        watchPool: (load) => pools.watch('chart-indexes', load),
      }),
    ),
    bind(ChartTextsToken, ofTexts, ({ threads, slices }) => makeChartTexts(threads, slices)),
    bind(TextDiffToken, ofTexts, ({ threads, slices }) => makeTextDiff(threads, slices)),
    bind(JsonPatchesToken, {}, () => fastJsonPatches),
    bind(YamlTextToken, {}, () => kubernetesYamlText),
    bind(EmbeddedChartsToken, {}, () => new Map([[embedSource.name, embeddedEditorCharts]])),
    bind(ChartToolsToken, { threads: ChartThreadsToken }, ({ threads }) => makeChartTools(threads)),
    bind(RepositoryReaderToken, { open: OpenRepositoryToken }, ({ open }) => makeRepositoryReader(open)),
    bind(
      ChartSourceToken,
      {
        open: OpenRepositoryToken,
        threads: ChartThreadsToken,
        named: NamedRepositoriesToken,
        embedded: EmbeddedChartsToken,
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
    spansOf(HelmRunnerToken, {
      template: { name: 'helm template' },
      checkValues: { name: 'helm check values' },
      install: { name: 'helm install' },
      upgrade: { name: 'helm upgrade' },
      rollback: { name: 'helm rollback' },
      uninstall: { name: 'helm uninstall' },
    }),
    spansOf(ChartSourceToken, { fetch: { name: 'fetch chart' } }),
    spansOf(ChartToolsToken, { pack: { name: 'queue charts: pack' }, packSchemas: { name: 'queue charts: schemas' } }),
    spansOf(ChartFetchToken, {
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
      bind(NamePatternsToken, {}, () => makeRe2NamePatterns(makeTimeSlices(matchingSliceMilliseconds))),
      bind(
        ReleaseStoreToken,
        { clock: ClockToken },
        ({ clock }) => {
          const releases = makeHelmReleaseStore({ clock, account: () => readings.account() })
          boot.pools.watch('helm-records', releases.load)
          return releases
        },
        (releases) => releases.close(),
      ),
      bind(DriverConfigurationStoreToken, {}, () => store()(database)),
      bind(StorageDriverOfToken, { drivers: DriverConfigurationStoreToken }, makeStorageDriverOf),
      bind(DriverUnitOfWorkToken, { auditChain: AuditChainToken }, ({ auditChain }) =>
        makeSqlUnitOfWork(
          database,
          (tx, audit) => ({ drivers: store()(tx), audit }),
          makeSqlAuditTrail(database, auditChain),
        ),
      ),

      bind(RecordSizesToken, {}, () => gzipRecordSizes),
      bind(EditorCatalogToken, {}, () => makeClusterEditorCatalog(builtInEditors)),
      bind(AppReleasesToken, {}, () => clusterAppReleases),
    ]
  },
  // Packages can be read without helm.
  checks: using({ finder: HelmFinderToken }, ({ finder }) => [
    { name: 'helm', isInformative: true, check: async () => (await finder.find()).found !== undefined },
  ]),
  doctor: async (settings) => [await (await import('./helm.ts')).checkHelm(settings)],
  ready: using({ supply: HelmSupplyToken }, ({ supply }) => ({ isTold: supply.start() })),
})
