import * as t from 'io-ts'
import { answer, DnsLabel, Instant, optional, request } from '../kit/codecs.ts'

/** A hub with the counts that it states. */
export const HubCluster = answer(
  {
    name: t.string,
    ownerName: t.string,
    displayName: t.string,
    hubClusterUID: t.string,
    spokeClusters: t.number,
    addOns: t.number,
    clusterNode: t.number,
    provider: t.string,
    hubType: t.string,
    locations: t.string,
    age: t.string,
    createdAt: Instant,
  },
  'HubCluster',
)

/** A spoke of a hub, or a cluster that asks to become one. */
export const ManagedClusterInfo = answer({ name: t.string, clusterURL: t.string, clusterUID: t.string, clusterSet: optional(t.string) }, 'ManagedClusterInfo')

export const RemoveClusterOptions = request({ clusterName: DnsLabel, force: optional(t.boolean) }, 'RemoveClusterOptions')
