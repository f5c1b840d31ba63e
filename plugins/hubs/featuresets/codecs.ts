import * as t from 'io-ts'
import { inClusterSet } from '../clustersets/codecs.ts'
import { path } from '../../kit/access.ts'
import {
  answer,
  described,
  DnsLabel,
  listOf,
  naming,
  oneOf,
  optional,
  patternText,
  plainValue,
  request,
} from '../../kit/codecs.ts'

/** The name of a feature, a feature set or a cluster profile: a DNS-1123 subdomain. */
export const ObjectName = patternText(
  /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/,
  253,
  "a name: 1 to 253 lower-case letters, digits, '-' and '.', a letter or digit first and last",
)

export const FeaturePath = request(
  {
    ...inClusterSet,
    feature: described(naming(ObjectName, 'feature', 'name'), 'The name of the feature.'),
  },
  'FeaturePath',
)
export const SetMemberPath = request(
  {
    ...inClusterSet,
    managedCluster: described(naming(DnsLabel, 'managedcluster', 'name'), 'The name of the spoke on the hub.'),
  },
  'SetMemberPath',
)

const withinHub = { account: path('owner'), within: { name: path('cluster') } } as const
export const clusterSetInPath = { type: 'clusterset', ...withinHub, name: path('clusterset') } as const
export const managedClusterInPath = { type: 'managedcluster', ...withinHub, name: path('managedCluster') } as const

const FeatureInfo = answer(
  {
    name: described(t.string, 'The name of the feature.'),
    title: described(t.string, 'The title of the feature for people; empty if the catalogue has none.'),
    description: described(t.string, 'What the feature is, for people; empty if the catalogue does not say.'),
    recommended: described(t.boolean, 'Whether the catalogue recommends the feature.'),
    installed: described(t.boolean, 'Whether the profile of the cluster set has the feature.'),
    featureBlock: described(t.string, 'The group under which the feature is shown; empty if it is in none.'),
  },
  'FeatureInfo',
)
export const FeatureSetInfo = answer(
  {
    name: described(t.string, 'The name of the feature set.'),
    title: described(t.string, 'The title of the feature set for people; empty if the catalogue has none.'),
    description: described(t.string, 'What the feature set is, for people; empty if the catalogue does not say.'),
    recommended: described(t.boolean, 'Whether the catalogue recommends the feature set.'),
    installed: described(
      t.boolean,
      'Whether all required features of the set are installed, or any feature if none is required.',
    ),
    requiredFeatures: described(
      t.readonlyArray(t.string),
      'The names of the features without which the set cannot be installed; empty if there are none.',
    ),
    features: described(t.readonlyArray(FeatureInfo), 'The features of the set that are not disabled.'),
  },
  'FeatureSetInfo',
)

export const SyncStatus = answer(
  {
    insyncClusters: described(t.readonlyArray(t.string), 'The names of the spokes that are in sync.'),
    outOfSyncClusters: described(t.readonlyArray(t.string), 'The names of the spokes that are not in sync.'),
    reasons: described(
      optional(t.record(t.string, t.string)),
      'Why clusters are not in sync, by their name, for at most 50 clusters; absent if there is nothing to say.',
    ),
  },
  'SyncStatus',
)
/** The status of each feature, by feature set and feature. */
export const SyncStatuses = t.record(t.string, t.record(t.string, SyncStatus))

const ClusterVersion = answer(
  {
    name: described(t.string, 'The name of the spoke on the hub.'),
    version: described(t.string, 'The version of the suite on the spoke; empty if it is not installed or not known.'),
    reason: described(
      optional(t.string),
      'Why the version is not known; absent if it is known, or if the spoke has none.',
    ),
  },
  'ClusterVersion',
)
export const VersionSync = answer(
  {
    clusterSetVersion: described(
      t.string,
      'The version of the suite that is installed on the cluster set; empty if none is.',
    ),
    clusters: described(t.readonlyArray(ClusterVersion), 'The version of the suite on each spoke of the set, by name.'),
  },
  'VersionSync',
)
export const AutoUpdateCheck = answer(
  {
    possible: described(t.boolean, 'Whether the spokes of the cluster set can follow its version of the suite.'),
    reason: described(optional(t.string), 'Why they cannot; absent if they can.'),
  },
  'AutoUpdateCheck',
)

const UnservedCluster = answer(
  {
    name: described(t.string, 'The name of the spoke on the hub.'),
    reason: described(t.string, 'Why the hub gives it no features yet, for people.'),
  },
  'UnservedCluster',
)
/** What became of an installation: the spokes of the set that the hub does not serve. */
export const FeatureSetInstalled = answer(
  {
    unservedClusters: described(
      t.readonlyArray(UnservedCluster),
      'The spokes of the cluster set to which the hub does not give the feature set, by name; empty if it serves all.',
    ),
  },
  'FeatureSetInstalled',
)

export const EnableFeatureOptions = request(
  {
    clusterSet: described(DnsLabel, 'The name of the cluster set in the path; another name is refused.'),
    featureSet: described(ObjectName, 'The name of the feature set.'),
    features: described(
      optional(listOf(ObjectName, 1000)),
      'The names of the features to disable, at most 1,000; all installed features of the set if it is absent or ' +
        'empty.',
    ),
  },
  'EnableFeatureOptions',
)

export const ProfileQuery = request(
  {
    profile: described(
      optional(plainValue(ObjectName)),
      'The name of the cluster profile; `dbaas-generic` by default.',
    ),
  },
  'ProfileQuery',
)
/** The words `true` and `false`, as text. */
export const ProfileValidity = answer(
  {
    valid: described(
      oneOf('true', 'false'),
      'The text `true` if the cluster has all required features, `false` otherwise.',
    ),
    'recommended-features': described(
      optional(t.readonlyArray(t.string)),
      'The names of the required features that are missing; absent if none is.',
    ),
  },
  'ProfileValidity',
)
