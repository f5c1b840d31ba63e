import { makeChartSource, makeOpenRepository, makeRepositoryReader } from '../../adapters/charts/chart-source.ts'
import { makeChartTexts, makeChartThreads, makeChartTools, makeTextDiff } from '../../adapters/charts/chart-threads.ts'
import { fastJsonPatches } from '../../adapters/charts/json-patches.ts'
import { kubernetesYamlText } from '../../adapters/charts/kubernetes-yaml.ts'
import { clusterAppReleases, makeClusterEditorCatalog } from '../../adapters/editors/editor-catalog.ts'
import { embedSource, builtInEditors, embeddedEditorCharts } from '../../adapters/editors/embedded-editors.ts'
import { makeRe2NamePatterns } from '../../adapters/helm/records/name-patterns.ts'
import { gzipRecordSizes } from '../../adapters/helm/records/record-payload.ts'
import { makeHelmReleaseStore } from '../../adapters/helm/records/release-store.ts'
import { makeTimeSlices } from '../../adapters/helm/records/time-slices.ts'
import { makeEgressAllowance, makeUserUrlPolicy } from '../../adapters/outbound/egress-policy.ts'
import { makeGuardedFetch } from '../../adapters/outbound/guarded-fetch.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlDriverConfigurationStore } from '../../adapters/sql/packages/driver-configuration-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { NamedRepositoriesToken, RepositoryReaderToken } from '../../core/chart-repositories/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import {
  ChartSourceToken,
  ChartTextsToken,
  ChartToolsToken,
  EmbeddedChartsToken,
} from '../../core/packages/charts/ports.ts'
import { makeStorageDriverOf } from '../../core/packages/releases/storage-drivers.ts'
import { AppReleasesToken, EditorCatalogToken } from '../../core/packages/editors/ports.ts'
import {
  DriverConfigurationStoreToken,
  JsonPatchesToken,
  ReleaseStoreToken,
  StorageDriverOfToken,
  DriverUnitOfWorkToken,
  NamePatternsToken,
  YamlTextToken,
} from '../../core/packages/ports.ts'
import { RecordSizesToken, TextDiffToken } from '../../core/packages/releases/ports.ts'
import type { Provide } from '../boot.ts'

/** The longest time to read short texts before other work gets a turn. */
const readingSliceMilliseconds = 4

/** Provides charts: their sources, the checks of their contents, and their texts. */
export const provideCharts: Provide = (container, boot) => {
  const account = () => boot.readings.account()
  const threads = makeChartThreads({ account })
  const slices = makeTimeSlices(readingSliceMilliseconds)
  boot.onStop('threads that read charts', () => threads.close())
  const fetch = makeGuardedFetch(
    makeUserUrlPolicy(makeEgressAllowance(boot.settings.egressAllow), boot.resolver.lookup),
    boot.readings,
  )
  const open = makeOpenRepository({ fetch, threads, account })
  container.provideValue(ChartTextsToken, makeChartTexts(threads, slices))
  container.provideValue(TextDiffToken, makeTextDiff(threads, slices))
  container.provideValue(JsonPatchesToken, fastJsonPatches)
  container.provideValue(YamlTextToken, kubernetesYamlText)
  container.provideValue(EmbeddedChartsToken, new Map([[embedSource.name, embeddedEditorCharts]]))
  container.provide(ChartToolsToken, () => makeChartTools(threads))
  container.provide(RepositoryReaderToken, () => makeRepositoryReader(open))
  container.provide(ChartSourceToken, (resolve) =>
    makeChartSource({ open, threads, named: resolve(NamedRepositoriesToken), embedded: resolve(EmbeddedChartsToken) }),
  )
}

/** The longest time to match names before other work gets a turn. */
const matchingSliceMilliseconds = 4

/** Provides reads of Helm releases, and the driver that they use. */
export const providePackages: Provide = (container, { database, onStop, readings }) => {
  const bindStore = makeSqlDriverConfigurationStore(database)
  container.provideValue(NamePatternsToken, makeRe2NamePatterns(makeTimeSlices(matchingSliceMilliseconds)))
  container.provide(ReleaseStoreToken, (resolve) => {
    const store = makeHelmReleaseStore({ clock: resolve(ClockToken), account: () => readings.account() })
    onStop('the threads that read release records', () => store.close())
    return store
  })
  container.provide(DriverConfigurationStoreToken, () => bindStore(database))
  container.provide(StorageDriverOfToken, (resolve) =>
    makeStorageDriverOf({ drivers: resolve(DriverConfigurationStoreToken) }),
  )
  container.provide(DriverUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ drivers: bindStore(tx), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
}

/** Provides what operations on releases use in addition to charts, records and helm. */
export const provideReleaseTasks: Provide = (container) => {
  container.provideValue(RecordSizesToken, gzipRecordSizes)
}

/**
 * Provides editors of resources: those of the clusters, and the built-in ones. `provideCharts` provides their charts.
 */
export const provideEditors: Provide = (container) => {
  container.provideValue(EditorCatalogToken, makeClusterEditorCatalog(builtInEditors))
  container.provideValue(AppReleasesToken, clusterAppReleases)
}
