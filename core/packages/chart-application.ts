import type { AccountId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { Chart, ChartTexts, ChartTools } from './chart-ports.ts'
import type { HelmFlags, HelmRunner } from './helm-ports.ts'
import type { ReleaseStore } from './ports.ts'
import type { Redact } from './redact.ts'
import type { Pause, RecordSizes, TextDiff } from './release-task-ports.ts'
import type { Standing } from './standing.ts'
import type { Release, ReleaseKey, StorageDriver } from './types.ts'

/** A chart that is to be a release. */
export interface ChartApplication {
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
  /** Whose share of helm processes it is. */
  readonly tenantId: AccountId
  readonly release: ReleaseKey
  /** `upgrade` with the flag `install` installs where there is none. */
  readonly verb: 'install' | 'upgrade'
  readonly chart: Chart
  /** As helm is given them (see `exactValues`); undefined keeps those of the revision before. */
  readonly values: FreeObject | undefined
  /** With `dryRun`, nothing is changed and the result holds a diff. */
  readonly flags: HelmFlags
  /** Added to Chart.yaml. */
  readonly annotations?: Readonly<Record<string, string>>
}

export interface ApplyChartDeps {
  readonly helm: HelmRunner
  readonly chartTexts: ChartTexts
  readonly chartTools: ChartTools
  readonly releases: ReleaseStore
  readonly textDiff: TextDiff
  readonly recordSizes: RecordSizes
  readonly pause: Pause
  readonly clock: Clock
}

/** An application with what is known before helm is asked. */
export interface PreparedApplication extends ChartApplication {
  readonly before: Standing
  /** What is live; else the newest revision, which an upgrade starts from. */
  readonly former: Release | undefined
  /** Values that the release will have, without the chart's defaults. */
  readonly effective: FreeObject
  readonly archive: Uint8Array
  /** For helm's words, which may quote any value. */
  readonly redactAll: Redact
  /** For what a person is to read. */
  readonly redactSecrets: Redact
}
