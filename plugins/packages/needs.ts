import { ClusterTasksToken } from '../../core/cluster-tasks/ports.ts'
import { ClusterStoreToken, MemberClustersToken } from '../../core/clusters/ports.ts'
import { CachesToken } from '../../core/kernel/cache.ts'
import { ClockToken, PauseToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { ChartSourceToken, ChartTextsToken, ChartToolsToken } from '../../core/packages/charts/ports.ts'
import { AppReleasesToken, EditorCatalogToken } from '../../core/packages/editors/ports.ts'
import { HelmRunnerToken, RecordSizesToken, TextDiffToken } from '../../core/packages/releases/ports.ts'
import {
  DriverConfigurationStoreToken,
  JsonPatchesToken,
  ReleaseStoreToken,
  StorageDriverOfToken,
  DriverUnitOfWorkToken,
  NamePatternsToken,
} from '../../core/packages/ports.ts'
import type { Given } from '../kit/plugin.ts'

/** The ports of the plugin's routes and tasks, by the names under which its groups receive them. */
export const packagesNeeds = {
  appReleases: AppReleasesToken,
  caches: CachesToken,
  chartSource: ChartSourceToken,
  chartTexts: ChartTextsToken,
  chartTools: ChartToolsToken,
  clock: ClockToken,
  clusterRecords: ClusterStoreToken,
  clusterTasks: ClusterTasksToken,
  driverOf: StorageDriverOfToken,
  drivers: DriverConfigurationStoreToken,
  driverUnitOfWork: DriverUnitOfWorkToken,
  entropy: EntropyToken,
  editorCatalog: EditorCatalogToken,
  helm: HelmRunnerToken,
  memberClusters: MemberClustersToken,
  patches: JsonPatchesToken,
  patterns: NamePatternsToken,
  pause: PauseToken,
  recordSizes: RecordSizesToken,
  releases: ReleaseStoreToken,
  textDiff: TextDiffToken,
}
export type PackagesGiven = Given<typeof packagesNeeds>
