import { isInRange } from '../../../adapters/charts/versions.ts'
import { makeTimeSlices } from '../../../adapters/outbound/time-slices.ts'
import { ProfileJudgePort } from '../../../core/hubs/clustersets/ports.ts'
import { makeFeatureClaims } from '../../../core/hubs/featuresets/claims.ts'
import { makeProfileJudge } from '../../../core/hubs/featuresets/profiles.ts'
import { FeatureClaimsPort, SpokeSlicesPort, VersionInRangePort } from '../../../core/hubs/featuresets/ports.ts'
import { CachesPort } from '../../../core/kernel/cache.ts'
import { YamlTextPort } from '../../../core/packages/ports.ts'
import { featureSetsPlugin } from '../../../plugins/hubs/featuresets/plugin.ts'
import { bind } from '../../part/binding.ts'
import { definePart } from '../../part/part.ts'

/** The longest time to compare spokes with their cluster set before other work gets a turn. */
const comparingSliceMilliseconds = 4

/** Feature sets of cluster sets and spokes. */
export const part = definePart({
  plugin: featureSetsPlugin,
  provide: () => [
    bind(VersionInRangePort, {}, () => isInRange),
    bind(SpokeSlicesPort, {}, () => makeTimeSlices(comparingSliceMilliseconds)),
    bind(FeatureClaimsPort, { yaml: YamlTextPort, caches: CachesPort }, makeFeatureClaims),
    bind(ProfileJudgePort, { claims: FeatureClaimsPort, slices: SpokeSlicesPort }, makeProfileJudge),
  ],
})
