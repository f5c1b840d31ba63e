import * as t from 'io-ts'
import { installers } from '../../core/spokes/join-command.ts'
import { maxSpokeName } from '../../core/spokes/spoke-names.ts'
import { basicInfoProps, ComponentOptions, ProviderOptions } from '../clusters/codecs.ts'
import { answer, DnsLabel, freeText, Instant, listOf, oneOf, optional, patternText, request, SafeInteger } from '../kit/codecs.ts'

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
    unknownCounts: optional(t.readonlyArray(oneOf('spokeClusters', 'addOns', 'clusterNode'))),
  },
  'HubCluster',
)

/** A spoke of a hub, or a cluster that asks to become one. */
export const ManagedClusterInfo = answer({ name: t.string, clusterURL: t.string, clusterUID: t.string, clusterSet: optional(t.string) }, 'ManagedClusterInfo')

/** The name of a cluster that is to become a spoke; agents with a longer one cannot join. */
const SpokeName = patternText(/^[a-z0-9](?:[a-z0-9-]{0,55}[a-z0-9])?$/, maxSpokeName, `a DNS label of at most ${maxSpokeName} characters: agents with a longer name cannot join`)

/** A request may name each cluster once; several are dealt with as one. */
const maxClusters = 500

export const AcceptOptions = request(
  {
    clusters: listOf(DnsLabel, maxClusters, 1),
    skipApproveCheck: optional(t.boolean),
    requesters: optional(listOf(freeText(255, 1), maxClusters)),
  },
  'AcceptOptions',
)

const Uid = patternText(/^[A-Za-z0-9-]*$/, 64, 'a UID: at most 64 letters, digits and -')
/** Clients send an empty text for a cluster that they do not state. */
const StatedName = patternText(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)?$/, 63, 'empty, or a DNS label')

export const ClusterOptions = request(
  {
    clusterName: SpokeName,
    hostClusterName: optional(StatedName),
    hostClusterUID: optional(Uid),
    hostClusterOwnerID: optional(SafeInteger),
    hubClusterName: optional(StatedName),
    hubClusterUID: optional(Uid),
    hubClusterOwnerID: optional(SafeInteger),
  },
  'ClusterOptions',
)
export const InstallerQuery = request({ installer: optional(oneOf(...installers)) }, 'InstallerQuery')
export const SpokeCommand = answer({ spoke: t.string }, 'SpokeCommand')

export const RemoveClusterOptions = request({ clusterName: DnsLabel, force: optional(t.boolean) }, 'RemoveClusterOptions')

/** ImportOptions with a name that is also that of the ManagedCluster. */
export const SpokeImportOptions = request(
  {
    basicInfo: request({ ...basicInfoProps, name: SpokeName }, 'SpokeBasicInfo'),
    provider: optional(ProviderOptions),
    components: optional(ComponentOptions),
  },
  'SpokeImportOptions',
)
