import { isInRange } from '../../adapters/charts/versions.ts'
import { makeTimeSlices } from '../../adapters/helm/records/time-slices.ts'
import { ProfileJudgeToken } from '../../core/clustersets/ports.ts'
import { makeFeatureClaims } from '../../core/featuresets/claims.ts'
import { makeProfileJudge } from '../../core/featuresets/profiles.ts'
import { FeatureClaimsToken, SpokeSlicesToken, VersionInRangeToken } from '../../core/featuresets/ports.ts'
import { CachesToken } from '../../core/kernel/cache.ts'
import { YamlTextToken } from '../../core/packages/ports.ts'
import type { Provide } from '../boot.ts'

/** The longest time to compare spokes with their cluster set before other work gets a turn. */
const comparingSliceMilliseconds = 4

/** Provides what feature sets need beside hubs. */
export const provideFeatureSets: Provide = (container) => {
  container.provideValue(VersionInRangeToken, isInRange)
  container.provideValue(SpokeSlicesToken, makeTimeSlices(comparingSliceMilliseconds))
  container.provide(FeatureClaimsToken, (resolve) =>
    makeFeatureClaims({ yaml: resolve(YamlTextToken), caches: resolve(CachesToken) }),
  )
  container.provide(ProfileJudgeToken, (resolve) =>
    makeProfileJudge({ claims: resolve(FeatureClaimsToken), slices: resolve(SpokeSlicesToken) }),
  )
}
