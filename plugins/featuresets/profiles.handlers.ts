import { AuthorizerToken } from '../../core/authz/ports.ts'
import { HubsToken } from '../../core/clusters/hubs/ports.ts'
import { ClusterStoreToken } from '../../core/clusters/ports.ts'
import { FeatureClaimsToken } from '../../core/featuresets/ports.ts'
import { makeValidateProfile } from '../../core/featuresets/profiles.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { validateProfile } from './profiles.routes.ts'

const usualProfile = 'dbaas-generic'

export const profileGroup = defineGroup({
  needs: { hubs: HubsToken, claims: FeatureClaimsToken, clusters: ClusterStoreToken, authorizer: AuthorizerToken },
  routes: (given) => [
    handle(validateProfile, makeValidateProfile(given), {
      input: ({ grant, query }) => ({ grant, profile: query.profile ?? usualProfile }),
      reply: (missing) => (missing.length === 0 ? { valid: 'true', 'recommended-features': undefined } : { valid: 'false', 'recommended-features': missing }),
    }),
  ],
})
