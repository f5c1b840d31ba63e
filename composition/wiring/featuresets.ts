import { isInRange } from '../../adapters/charts/versions.ts'
import { makeTimeSlices } from '../../adapters/helm/records/time-slices.ts'
import { ProfileJudgeToken } from '../../core/clustersets/ports.ts'
import { makeProfileJudge } from '../../core/featuresets/profiles.ts'
import { SpokeSlicesToken, VersionInRangeToken } from '../../core/featuresets/ports.ts'
import { YamlTextToken } from '../../core/packages/ports.ts'
import type { Provide } from '../boot.ts'

/** The longest time to compare spokes with their cluster set before other work gets a turn. */
const comparingSliceMilliseconds = 4

/** Provides what feature sets need beside hubs. */
export const provideFeatureSets: Provide = (container) => {
  container.provideValue(VersionInRangeToken, isInRange)
  container.provideValue(SpokeSlicesToken, makeTimeSlices(comparingSliceMilliseconds))
  container.provide(ProfileJudgeToken, (resolve) => makeProfileJudge({ yaml: resolve(YamlTextToken) }))
}
