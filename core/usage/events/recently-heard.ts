import type { Caches } from '../../kernel/cache.ts'
import { dayOf } from '../month.ts'
import type { UnixSeconds, UsageClusterId } from '../types.ts'
import type { ObjectState } from './plan.ts'
import type { HeardHours } from './presence.ts'
import { hoursOf, includesHours, unionOfHours } from './presence.ts'
import type { ObjectIdentity, UsageEvent } from './types.ts'

/**
 * What this process has written of clusters and objects that were heard, so that hearing them again costs no statement.
 * Nothing depends on an entry: without it, the same is written again.
 */
export interface RecentlyHeard {
  /** Reports whether the hours of all instants are written. */
  includes(clusterId: UsageClusterId, heard: readonly UnixSeconds[]): boolean
  /** Reports whether an event would change nothing. */
  changesNothing(clusterId: UsageClusterId, event: UsageEvent): boolean
  /** Notes what was committed. */
  note(clusterId: UsageClusterId, heard: readonly UnixSeconds[], objects: ReadonlyMap<string, ObjectState>): void
  /** Reports whether the objects of a cluster whose creation is reported are likely to be new ones. */
  reportsNewObjects(clusterId: UsageClusterId): boolean
  /** Notes whether they were when they were last looked up. */
  noteCreations(clusterId: UsageClusterId, wereNew: boolean): void
}

/** A cluster takes about 300 bytes, an object 400. */
const maxClusters = 20_000
const maxObjects = 100_000

interface HeardObject {
  readonly identity: string
  readonly lastHeardDay: number
}

const identityOf = ({ product, group, kind, namespace, namespaceUid, name, createdAt }: ObjectIdentity): string =>
  [product, group, kind, namespace, namespaceUid, createdAt, name].join('/')

export const makeRecentlyHeard = (caches: Caches): RecentlyHeard => {
  const clusters = caches.make<UsageClusterId, ReadonlyMap<number, HeardHours>>({ maxEntries: maxClusters })
  const objects = caches.make<string, HeardObject>({ maxEntries: maxObjects })
  const repeating = caches.make<UsageClusterId, object>({ maxEntries: maxClusters })
  const includes = (clusterId: UsageClusterId, heard: readonly UnixSeconds[]): boolean => {
    const known = clusters.get(clusterId)
    if (known === undefined) return heard.length === 0
    return [...hoursOf(heard)].every(([month, hours]) => {
      const all = known.get(month)
      return all !== undefined && includesHours(all, hours)
    })
  }
  return {
    includes,
    changesNothing: (clusterId, event) => {
      if (event.kind !== 'cluster-heard' && event.kind !== 'object-heard') return false
      if (!includes(clusterId, [event.at])) return false
      if (event.kind === 'cluster-heard') return true
      const known = objects.get(`${clusterId}/${event.object.uid}`)
      return known !== undefined && known.lastHeardDay >= dayOf(event.at) && known.identity === identityOf(event.object)
    },
    note: (clusterId, heard, changed) => {
      const known = new Map(clusters.get(clusterId) ?? [])
      for (const [month, hours] of hoursOf(heard)) {
        const all = known.get(month)
        known.set(month, all === undefined ? hours : unionOfHours(all, hours))
      }
      // Events of at most 35 days are accepted, so that they are of two or three months.
      const kept = [...known].sort(([a], [b]) => b - a).slice(0, 3)
      clusters.set(clusterId, new Map(kept))
      for (const [uid, { identity, lastHeardDay, sendsHeartbeats }] of changed) {
        if (sendsHeartbeats) objects.set(`${clusterId}/${uid}`, { identity: identityOf(identity), lastHeardDay })
      }
    },
    reportsNewObjects: (clusterId) => repeating.get(clusterId) === undefined,
    noteCreations: (clusterId, wereNew) => (wereNew ? repeating.delete(clusterId) : repeating.set(clusterId, {})),
  }
}
