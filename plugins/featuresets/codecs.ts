import * as t from 'io-ts'
import { path } from '../kit/access.ts'
import { answer, DnsLabel, listOf, oneOf, optional, PathName, patternText, request } from '../kit/codecs.ts'

/** The name of a feature, a feature set or a cluster profile: a DNS-1123 subdomain. */
export const ObjectName = patternText(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, 253, "a name: 1 to 253 lower-case letters, digits, '-' and '.', a letter or digit first and last")

const inHub = { owner: PathName, cluster: PathName }
export const FeaturePath = request({ ...inHub, clusterset: DnsLabel, feature: ObjectName }, 'FeaturePath')
export const SetMemberPath = request({ ...inHub, clusterset: DnsLabel, managedCluster: DnsLabel }, 'SetMemberPath')

const withinHub = { account: path('owner'), within: { name: path('cluster') } } as const
export const clusterSetInPath = { type: 'clusterset', ...withinHub, name: path('clusterset') } as const
export const managedClusterInPath = { type: 'managedcluster', ...withinHub, name: path('managedCluster') } as const

const FeatureInfo = answer(
  { name: t.string, title: t.string, description: t.string, recommended: t.boolean, installed: t.boolean, featureBlock: t.string },
  'FeatureInfo',
)
export const FeatureSetInfo = answer(
  {
    name: t.string,
    title: t.string,
    description: t.string,
    recommended: t.boolean,
    installed: t.boolean,
    requiredFeatures: t.readonlyArray(t.string),
    features: t.readonlyArray(FeatureInfo),
  },
  'FeatureSetInfo',
)

export const SyncStatus = answer(
  { insyncClusters: t.readonlyArray(t.string), outOfSyncClusters: t.readonlyArray(t.string), reasons: optional(t.record(t.string, t.string)) },
  'SyncStatus',
)
/** The status of each feature, by feature set and feature. */
export const SyncStatuses = t.record(t.string, t.record(t.string, SyncStatus))

export const VersionSync = answer(
  { clusterSetVersion: t.string, clusters: t.readonlyArray(answer({ name: t.string, version: t.string, reason: optional(t.string) }, 'ClusterVersion')) },
  'VersionSync',
)
export const AutoUpdateCheck = answer({ possible: t.boolean, reason: optional(t.string) }, 'AutoUpdateCheck')

/** What became of an installation: the spokes of the set that the hub does not serve. */
export const FeatureSetInstalled = answer({ unservedClusters: t.readonlyArray(answer({ name: t.string, reason: t.string }, 'UnservedCluster')) }, 'FeatureSetInstalled')

export const EnableFeatureOptions = request({ clusterSet: DnsLabel, featureSet: ObjectName, features: optional(listOf(ObjectName, 1000)) }, 'EnableFeatureOptions')

export const ProfileQuery = request({ profile: optional(ObjectName) }, 'ProfileQuery')
/** The words `true` and `false`, as text. */
export const ProfileValidity = answer({ valid: oneOf('true', 'false'), 'recommended-features': optional(t.readonlyArray(t.string)) }, 'ProfileValidity')
