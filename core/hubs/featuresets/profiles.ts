import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import type { Hub, HubKey, HubKind, HubObject, HubReadFailure, Hubs } from '../../clusters/hubs/ports.ts'
import { managedClusterKind } from '../../clusters/hubs/ports.ts'
import { claimedUid, distribution } from '../../clusters/hub-types.ts'
import type { ClusterStore } from '../../clusters/ports.ts'
import type { Cluster } from '../../clusters/types.ts'
import type { ProfileJudge } from '../clustersets/ports.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { TimeSlices } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import { at, isObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Feature } from './catalogue.ts'
import { readFeature } from './catalogue.ts'
import type { ClaimUnreadable, FeatureClaim, FeatureClaims } from './claims.ts'

/** The features that a cluster profile requires, by feature set. */
type RequiredFeatures = Readonly<Record<string, readonly string[]>>

const databases = ['kubedb', 'kubedb-opscenter', 'kubedb-ui-presets']
const observability = [
  'grafana-operator',
  'kube-prometheus-stack',
  'monitoring-operator',
  'panopticon',
  'prometheus-adapter',
]

/** What the profiles for databases on any cluster have in common. */
const databasePlatform: RequiredFeatures = {
  'capi-core': ['cluster-presets'],
  'opscenter-backup': ['kubestash', 'stash-presets'],
  'opscenter-core': ['license-proxyserver'],
  'opscenter-cost': ['keda', 'keda-add-ons-http'],
  'opscenter-datastore': databases,
  'opscenter-observability': observability,
  'opscenter-security': ['cert-manager', 'cert-manager-csi-driver-cacerts'],
  'opscenter-storage': ['snapshot-controller'],
  'opscenter-tools': ['sidekick', 'supervisor'],
}

/** What the profiles for databases on the clusters of a cloud have in common. */
const cloudDatabases = (provider: string): RequiredFeatures => ({
  'capi-core': ['cluster-presets', 'capi-ops-manager'],
  crossplane: ['crossplane', provider],
  'opscenter-core': ['license-proxyserver'],
  'opscenter-datastore': databases,
  'opscenter-tools': ['sidekick', 'supervisor'],
})

const saas = { 'saas-core': ['catalog-manager', 'service-gateway-presets'] }

/** The profiles of the distribution, for clusters that do not have them as objects. @internal */
export const builtInProfiles: ReadonlyMap<string, RequiredFeatures> = new Map<string, RequiredFeatures>([
  ['generic', { 'opscenter-core': ['license-proxyserver'] }],
  ['dbaas-generic', { ...databasePlatform, ...saas }],
  ['dbaas-client-org', { ...databasePlatform, 'saas-core': ['catalog-manager'] }],
  ['dbaas-aks', cloudDatabases('kubedb-provider-azure')],
  [
    'dbaas-eks',
    {
      ...cloudDatabases('kubedb-provider-aws'),
      'capi-capa': ['cluster-autoscaler', 'aws-credential-manager', 'aws-ebs-csi-driver'],
    },
  ],
  ['dbaas-gke', cloudDatabases('kubedb-provider-gcp')],
  [
    'observability-cluster',
    {
      ...databasePlatform,
      ...saas,
      'opscenter-observability': [...observability, 'prom-label-proxy', 'thanos-operator', 'tenant-operator'],
    },
  ],
])

/** Neither the cluster nor this service has a cluster profile of that name. */
export const ProfileMissing = defineFailure('ProfileMissing', 'NotFound', 'The cluster profile does not exist.')

/** What is known of the features of a cluster. */
export interface ClusterFeatures {
  readonly enabled: ReadonlySet<string>
  /** Need not be enabled. */
  readonly disabled: ReadonlySet<string>
  /** The exclusion group of each feature that has one. */
  readonly groups: ReadonlyMap<string, string>
}

const groupsOf = (features: readonly Feature[]): ReadonlyMap<string, string> =>
  new Map(
    features
      .filter(({ exclusionGroup }) => exclusionGroup !== '')
      .map(({ name, exclusionGroup }) => [name, exclusionGroup]),
  )

/** Returns what the objects of a cluster say of its features. */
const featuresByObjects = (features: readonly Feature[]): ClusterFeatures => ({
  enabled: new Set(features.filter(({ isEnabled }) => isEnabled).map(({ name }) => name)),
  disabled: new Set(features.filter(({ isDisabled }) => isDisabled).map(({ name }) => name)),
  groups: groupsOf(features),
})

/**
 * Returns what the claim of a spoke says of its features, with the catalogue of its hub. Nothing is known without a
 * claim.
 *
 * @internal
 */
export const featuresByClaim = (claim: FeatureClaim | undefined, catalogue: readonly Feature[]): ClusterFeatures => ({
  enabled: new Set([...(claim?.enabled.keys() ?? []), ...(claim?.external ?? [])]),
  disabled: new Set([...(claim?.disabled ?? []), ...featuresByObjects(catalogue).disabled]),
  groups: groupsOf(catalogue),
})

/**
 * Returns the required features that are not enabled, sorted. A disabled feature is not missing, nor is one whose
 * exclusion group has an enabled feature.
 *
 * @internal
 */
export const missingFeatures = (
  required: RequiredFeatures,
  { enabled, disabled, groups }: ClusterFeatures,
): readonly string[] => {
  const served = new Set([...enabled].flatMap((name) => groups.get(name) ?? []))
  const isMissing = (name: string): boolean =>
    !enabled.has(name) && !disabled.has(name) && !served.has(groups.get(name) ?? '')
  return [...new Set(Object.values(required).flat())].filter(isMissing).sort()
}

interface ProfileDeps {
  readonly hubs: Hubs
  readonly claims: FeatureClaims
  readonly clusters: Pick<ClusterStore, 'get' | 'findByUid'>
  readonly authorizer: Pick<Authorizer, 'authorize'>
}

/** Lists objects of a kind that the cluster may not serve. */
const listIfServed = async (hub: Hub, kind: HubKind): Outcome<HubReadFailure, readonly HubObject[] | undefined> => {
  const listed = await hub.list(kind)
  return isLeft(listed) && listed.left.tag === 'NotAHub' ? right(undefined) : listed
}

const getIfServed = async (hub: Hub, kind: HubKind, key: HubKey): Outcome<HubReadFailure, HubObject | undefined> => {
  const found = await hub.get(kind, key)
  return isLeft(found) && found.left.tag === 'NotAHub' ? right(undefined) : found
}

const requiredBy = ({ body }: HubObject): RequiredFeatures => {
  const required = at(body, 'spec', 'requiredFeatureSets')
  const entries = Object.entries(isObject(required) ? required : {})
  return Object.fromEntries(
    entries.map(([featureSet, names]) => [
      featureSet,
      Array.isArray(names) ? names.filter((name): name is string => typeof name === 'string') : [],
    ]),
  )
}

/** Returns the hub of a spoke, or undefined if it is not imported, or the caller may not see it. */
const hubOfSpoke = async (
  { clusters, authorizer, hubs }: ProfileDeps,
  call: SignedInCall<never>,
  ownerId: AccessGrant['ownerId'],
  hubUid: string,
): Outcome<Failure<'ClusterMissing'> | Failure<'ClusterNotConnected'>, Hub | undefined> => {
  const record = await clusters.findByUid(ownerId, hubUid)
  if (record === undefined) return right(undefined)
  const grant = await authorizer.authorize(
    call.principal,
    { type: 'hub', account: record.ownerName, name: record.name },
    'can_view',
  )
  return isLeft(grant) ? right(undefined) : hubs.open(call, grant.right)
}

/**
 * Finds the ManagedCluster of a record: by the name under which the hub manages it, unless that claims to be another
 * cluster, otherwise by its UID. The agent of a plain spoke claims none.
 */
const findManaged = async (
  hub: Hub,
  { managedClusterName: name, uid }: Cluster,
): Outcome<HubReadFailure, HubObject | undefined> => {
  const named = name === '' ? right(undefined) : await getIfServed(hub, managedClusterKind, { name })
  if (isLeft(named) || (named.right !== undefined && ['', uid].includes(claimedUid(named.right)))) return named
  const spokes = uid === '' ? right(undefined) : await listIfServed(hub, managedClusterKind)
  return isLeft(spokes) ? spokes : right(spokes.right?.find((each) => claimedUid(each) === uid))
}

/** Returns what the hub of a cluster knows of its features. A hub may manage itself. */
const readByClaim = async (
  deps: ProfileDeps,
  call: SignedInCall<never>,
  cluster: Hub,
): Outcome<HubReadFailure | ReturnType<typeof ClaimUnreadable>, ClusterFeatures> => {
  const nothing = right(featuresByClaim(undefined, []))
  const record = await deps.clusters.get(cluster.id)
  if (record === undefined) return nothing
  const hub =
    record.hubClusterUid === '' || record.hubClusterUid === record.uid
      ? right(cluster)
      : await hubOfSpoke(deps, call, record.ownerId, record.hubClusterUid)
  if (isLeft(hub)) return hub
  if (hub.right === undefined) return nothing
  const [spoke, catalogue] = await Promise.all([
    findManaged(hub.right, record),
    listIfServed(hub.right, distribution.kinds.feature),
  ])
  if (isLeft(spoke)) return spoke
  if (isLeft(catalogue)) return catalogue
  const claim = spoke.right === undefined ? right(undefined) : deps.claims.read(spoke.right)
  return isLeft(claim) ? claim : right(featuresByClaim(claim.right, (catalogue.right ?? []).map(readFeature)))
}

/** Judges the spokes of a hub by the claims that they report. */
export const makeProfileJudge = ({
  claims,
  slices,
}: Pick<ProfileDeps, 'claims'> & { readonly slices: TimeSlices }): ProfileJudge => ({
  async satisfying(hub, clusters, name) {
    if (clusters.length === 0) return right([])
    const [profile, catalogue] = await Promise.all([
      getIfServed(hub, distribution.kinds.clusterProfile, { name }),
      listIfServed(hub, distribution.kinds.feature),
    ])
    if (isLeft(profile)) return profile
    if (isLeft(catalogue)) return catalogue
    const required = profile.right === undefined ? builtInProfiles.get(name) : requiredBy(profile.right)
    const known = (catalogue.right ?? []).map(readFeature)
    const satisfies = (cluster: HubObject): boolean => {
      const claim = claims.of(cluster)
      return (
        claim !== undefined &&
        required !== undefined &&
        missingFeatures(required, featuresByClaim(claim, known)).length === 0
      )
    }
    const satisfying = await Promise.all(
      clusters.map((cluster) => slices.run(() => (satisfies(cluster) ? [cluster] : []))),
    )
    return right(satisfying.flat())
  },
})

export interface ProfileCheck {
  /** The cluster of the route. */
  readonly grant: AccessGrant
  /** The name of a cluster profile. */
  readonly profile: string
}

type ProfileFailure = HubReadFailure | Failure<'ProfileMissing'> | Failure<'ClaimUnreadable'>

/**
 * Returns the features that a cluster profile requires and that the cluster does not have, sorted. The profile is that
 * of the cluster, or the built-in one of its name. The features are those of the cluster's own objects; for a cluster
 * without such objects, those that it reports to its hub.
 */
export const makeValidateProfile =
  (deps: ProfileDeps) =>
  async (
    call: SignedInCall<never>,
    { grant, profile: name }: ProfileCheck,
  ): Outcome<ProfileFailure, readonly string[]> => {
    const opened = await deps.hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const cluster = opened.right
    const [profile, features] = await Promise.all([
      getIfServed(cluster, distribution.kinds.clusterProfile, { name }),
      listIfServed(cluster, distribution.kinds.feature),
    ])
    if (isLeft(profile)) return profile
    if (isLeft(features)) return features
    const required = profile.right === undefined ? builtInProfiles.get(name) : requiredBy(profile.right)
    if (required === undefined) return left(ProfileMissing(`There is no cluster profile ${name}.`))
    const state =
      features.right === undefined
        ? await readByClaim(deps, call, cluster)
        : right(featuresByObjects(features.right.map(readFeature)))
    return isLeft(state) ? state : right(missingFeatures(required, state.right))
  }
