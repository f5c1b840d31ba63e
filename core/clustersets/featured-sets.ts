import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubObject, HubReadFailure } from '../clusters/hubs/ports.ts'
import { clusterSetKind } from '../clusters/hubs/ports.ts'
import { distribution } from '../clusters/hubs/types.ts'
import type { Outcome } from '../kernel/failure.ts'
import { at, isObject } from '../kernel/json.ts'
import { includes, selectsByLabels } from './types.ts'

/** Reports whether features are installed on a cluster set. A hub without the controllers of features has none. */
export const hasFeatures = async (hub: Hub, set: string): Outcome<HubReadFailure, boolean> => {
  const profile = await hub.get(distribution.kinds.setProfile, { name: set })
  if (isLeft(profile)) return profile.left.tag === 'NotAHub' ? right(false) : profile
  const features = at(profile.right?.body, 'spec', 'features')
  return right(isObject(features) && Object.keys(features).length > 0)
}

const keepFeatured = async (hub: Hub, sets: readonly HubObject[]): Outcome<HubReadFailure, readonly HubObject[]> => {
  const found: HubObject[] = []
  for (const set of sets) {
    const featured = await hasFeatures(hub, set.name)
    if (isLeft(featured)) return featured
    if (featured.right) found.push(set)
  }
  return right(found)
}

/**
 * Returns the other cluster sets with features that have one of these clusters. A spoke has one binding to a profile: the controllers of
 * the hub would move that of a cluster in two such sets from one to the other and back.
 */
export const otherFeaturedSets = async (hub: Hub, name: string, members: readonly HubObject[]): Outcome<HubReadFailure, readonly HubObject[]> => {
  if (members.length === 0) return right([])
  const sets = await hub.list(clusterSetKind)
  return isLeft(sets) ? sets : keepFeatured(hub, sets.right.filter((set) => set.name !== name && members.some((member) => includes(set, member))))
}

/** Returns the cluster sets with features that select by labels, if this set has features: they may have a cluster that is added to it. */
export const rivalSets = async (hub: Hub, name: string): Outcome<HubReadFailure, readonly HubObject[]> => {
  const featured = await hasFeatures(hub, name)
  if (isLeft(featured)) return featured
  const sets = featured.right ? await hub.list(clusterSetKind) : right([])
  return isLeft(sets) ? sets : keepFeatured(hub, sets.right.filter((set) => set.name !== name && selectsByLabels(set)))
}
