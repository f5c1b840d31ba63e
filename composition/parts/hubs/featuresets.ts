import { isInRange } from '../../../adapters/charts/versions.ts'
import { makeTimeSlices } from '../../../adapters/helm/records/time-slices.ts'
import { ProfileJudgeToken } from '../../../core/hubs/clustersets/ports.ts'
import { makeFeatureClaims } from '../../../core/hubs/featuresets/claims.ts'
import { makeProfileJudge } from '../../../core/hubs/featuresets/profiles.ts'
import { FeatureClaimsToken, SpokeSlicesToken, VersionInRangeToken } from '../../../core/hubs/featuresets/ports.ts'
import { CachesToken } from '../../../core/kernel/cache.ts'
import { YamlTextToken } from '../../../core/packages/ports.ts'
import { featureSetsPlugin } from '../../../plugins/hubs/featuresets/plugin.ts'
import { bind } from '../../part/binding.ts'
import { definePart } from '../../part/part.ts'

/** The longest time to compare spokes with their cluster set before other work gets a turn. */
const comparingSliceMilliseconds = 4

/** Feature sets of cluster sets and spokes. */
export const part = definePart({
  plugin: featureSetsPlugin,
  provide: () => [
    bind(VersionInRangeToken, {}, () => isInRange),
    bind(SpokeSlicesToken, {}, () => makeTimeSlices(comparingSliceMilliseconds)),
    bind(FeatureClaimsToken, { yaml: YamlTextToken, caches: CachesToken }, makeFeatureClaims),
    bind(ProfileJudgeToken, { claims: FeatureClaimsToken, slices: SpokeSlicesToken }, makeProfileJudge),
  ],
})
