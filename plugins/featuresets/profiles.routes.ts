import { hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { ClaimUnreadable } from '../../core/featuresets/claims.ts'
import { ProfileMissing } from '../../core/featuresets/profiles.ts'
import { ClusterPath, hubInPath } from '../clusters/codecs.ts'
import { read, requires } from '../kit/access.ts'
import { json } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { ProfileQuery, ProfileValidity } from './codecs.ts'

export const validateProfile = defineRoute({
  id: 'featuresets.validateProfile',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/validate-profile',
  summary: 'Get whether a cluster has the features that a cluster profile requires',
  description:
    'The profile is that of the cluster, or a built-in one; another name is 404. The features are those of the objects of the cluster, or those that a spoke reports to its hub. ' +
    'A feature that is disabled is not missing, nor is one whose exclusion group has an enabled feature. `valid` is the text `true` or `false`.',
  tag: 'Multi-cluster',
  scope: read('cluster'),
  access: requires('can_view', hubInPath),
  params: ClusterPath,
  query: ProfileQuery,
  ok: json(200, ProfileValidity, { valid: 'false', 'recommended-features': ['cert-manager', 'keda'] }),
  failures: [...hubReadFailures, ProfileMissing, ClaimUnreadable],
})
