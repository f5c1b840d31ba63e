import type { Person } from '../clusters/cluster-fixture.ts'
import { needing } from '../support/components/needing.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startFeatureFixture, type FeatureFixture } from './features-fixture.ts'

const test = needing('kubernetes', 'spoke-kubernetes')

/**
 * A service with a hub on a real kube-apiserver with the definitions of OCM. The core features have fixed names on a
 * hub: these tests alone have their hub on the API server of spokes.
 */
export let fixture: FeatureFixture
test.before(async () => {
  fixture = await startFeatureFixture({ hasFixedNames: true })
})
test.after.always(() => fixture?.stop())

export const install = (set: string, model: unknown, person?: Person, at?: string): Promise<ServiceAnswer> =>
  fixture.ofSet('POST', set, '/install-featureset', model, person, at)
export const disable = (
  set: string,
  featureSet: string,
  features?: readonly string[],
  person?: Person,
  at?: string,
): Promise<ServiceAnswer> =>
  fixture.ofSet('POST', set, '/disable-featureset', { clusterSet: set, featureSet, features }, person, at)
