import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { HubReadFailure, Hubs } from '../clusters/hubs/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { FeatureSetState } from './catalogue.ts'
import { installedIn, readCatalogue, statesOf } from './catalogue.ts'
import type { ClusterSetRef } from './cluster-set.ts'
import { openSet } from './cluster-set.ts'
import { distribution } from './vendor.ts'

/** Returns the feature sets of a hub with what is installed of each on a cluster set. */
export const makeListFeatureSets = ({ hubs }: { readonly hubs: Hubs }) =>
  async (call: SignedInCall<never>, ref: ClusterSetRef): Outcome<HubReadFailure | Failure<'FeatureTargetMissing'>, readonly FeatureSetState[]> => {
    const opened = await openSet(hubs, call, ref)
    if (isLeft(opened)) return opened
    const { hub, set } = opened.right
    const [catalogue, profile] = await Promise.all([readCatalogue(hub), hub.get(distribution.kinds.setProfile, { name: set.name })])
    if (isLeft(catalogue)) return catalogue
    return isLeft(profile) ? profile : right(statesOf(catalogue.right, installedIn(profile.right)))
  }
