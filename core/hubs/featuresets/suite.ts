import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubObject, HubReadFailure, Hubs } from '../../clusters/hubs/ports.ts'
import { distribution } from '../../clusters/hub-types.ts'
import { atATime } from '../../kernel/concurrency.ts'
import { defineFailure, type Failure, type Outcome } from '../../kernel/failure.ts'
import { at, listAt, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import { defineAudit, recordChange } from '../../kernel/unit-of-work.ts'
import { installedIn, componentLabel, helmReleaseKind } from './catalogue.ts'
import type { ClusterSetRef, OpenedSet, SetReadFailure } from './cluster-set.ts'
import { listMembers, openSet } from './cluster-set.ts'
import { listWorks, whyNotApplied, whySilent } from './sync-status.ts'

const { coreFeatureSet, suiteFeature, pinnedVersion, observedVersion } = distribution
const { setProfile, profileBinding, feature: featureKind } = distribution.kinds

const auditOf = defineAudit('cluster', ['cluster.auto_update_started'], ({ id, ownerId, name }: Hub) => ({
  objectId: id,
  objectName: name,
  tenantId: ownerId,
}))

/** Not all spokes of the set have the latest version of the suite, or the version is not known. */
export const AutoUpdateImpossible = defineFailure(
  'AutoUpdateImpossible',
  'Invalid',
  'Automatic updates are not possible; the message says why.',
)

/** The version of the suite on a spoke. */
export interface SpokeVersion {
  readonly name: string
  /** Empty: not known. */
  readonly version: string
  /** Why it is not known; undefined if the spoke has none. */
  readonly reason: string | undefined
}

export interface SuiteVersions {
  /** The version that is installed on the set. Empty: none. */
  readonly clusterSetVersion: string
  /** Sorted by name. */
  readonly clusters: readonly SpokeVersion[]
}

const isOwnBinding = ({ namespace, name }: HubObject): boolean => namespace === name

/** The version in a binding is the one that the hub has sent. The spoke has it once it has applied the work with it. */
const observedVersions = (
  members: readonly HubObject[],
  bindings: readonly HubObject[],
  works: readonly HubObject[],
): readonly SpokeVersion[] => {
  const observed = new Map(
    bindings.filter(isOwnBinding).map(({ name, body }) => [name, textAt(body, 'status', observedVersion)]),
  )
  const unapplied = new Map(works.map((work) => [work.namespace, whyNotApplied(work)]))
  return members.map((member) => {
    const { name } = member
    const reason = whySilent(member) ?? unapplied.get(name)
    return { name, version: reason === undefined ? (observed.get(name) ?? '') : '', reason }
  })
}

/** Reads the version of the suite on each spoke of a set with three lists. */
const readSpokeVersions = async (opened: OpenedSet): Outcome<HubReadFailure, readonly SpokeVersion[]> => {
  const { hub, set } = opened
  const [members, bindings, works] = await Promise.all([
    listMembers(opened),
    hub.list(profileBinding),
    listWorks(hub, set.name, coreFeatureSet),
  ])
  if (isLeft(members)) return members
  if (isLeft(bindings)) return bindings
  return isLeft(works) ? works : right(observedVersions(members.right, bindings.right, works.right))
}

/** Returns the version of the suite that is installed on a cluster set, and that on each of its spokes. */
export const makeGetSuiteVersions =
  ({ hubs }: { readonly hubs: Hubs }) =>
  async (call: SignedInCall<never>, ref: ClusterSetRef): Outcome<SetReadFailure, SuiteVersions> => {
    const opened = await openSet(hubs, call, ref)
    if (isLeft(opened)) return opened
    const { hub, set } = opened.right
    const [clusters, profile] = await Promise.all([
      readSpokeVersions(opened.right),
      hub.get(setProfile, { name: set.name }),
    ])
    if (isLeft(clusters)) return clusters
    if (isLeft(profile)) return profile
    return right({
      clusterSetVersion: installedIn(profile.right).get(suiteFeature)?.version ?? '',
      clusters: clusters.right,
    })
  }

/** The version that a release has deployed last, or else the one that it asks for. */
const releasedVersion = (release: HubObject | undefined): string =>
  textAt(listAt(release?.body, 'status', 'history')[0], 'chartVersion') ||
  textAt(release?.body, 'spec', 'chart', 'spec', 'version')

/**
 * Returns the version of the suite on the hub itself, which is the latest that its spokes can have. Empty: not known.
 */
const latestVersion = async (hub: Hub): Outcome<HubReadFailure, string> => {
  const [releases, feature] = await Promise.all([
    hub.list(helmReleaseKind, { labelSelector: `${componentLabel}=${suiteFeature}` }),
    hub.get(featureKind, { name: suiteFeature }),
  ])
  // A hub whose suite was installed by other means need not serve releases.
  if (isLeft(releases) && releases.left.tag !== 'NotAHub') return releases
  if (isLeft(feature)) return feature
  const released = isLeft(releases) ? '' : releasedVersion(releases.right[0])
  return right(released || textAt(feature.right?.body, 'spec', 'chart', 'version'))
}

const plainVersion = (version: string): string => version.replace(/^v(?=\d)/, '')

/** Reports whether two versions are the same. A leading `v` does not count. @internal */
export const isSameVersion = (a: string, b: string): boolean => plainVersion(a) === plainVersion(b)

/** Returns why a set cannot be updated automatically, or undefined if it can. @internal */
export const autoUpdateRefusal = (latest: string, spokes: readonly SpokeVersion[]): string | undefined => {
  if (spokes.length === 0) return 'The cluster set has no spokes.'
  if (latest === '') return 'The hub does not report which version of the suite it has.'
  const behind = spokes.filter(({ version }) => !isSameVersion(version, latest))
  if (behind.length === 0) return undefined
  const names = behind.map(({ name }) => name)
  const shown = `${names.slice(0, 20).join(', ')}${names.length > 20 ? ` and ${names.length - 20} more` : ''}`
  const why = behind.find(({ reason }) => reason !== undefined)
  return (
    `These spokes are not on the latest version ${latest} of the suite: ` +
    `${shown}.${why === undefined ? '' : ` ${why.name}: ${why.reason ?? ''}`}`
  )
}

interface AutoUpdateState {
  readonly latest: string
  readonly spokes: readonly SpokeVersion[]
  readonly refusal: string | undefined
}

const readState = async (opened: OpenedSet): Outcome<HubReadFailure, AutoUpdateState> => {
  const [spokes, latest] = await Promise.all([readSpokeVersions(opened), latestVersion(opened.hub)])
  if (isLeft(spokes)) return spokes
  if (isLeft(latest)) return latest
  return right({ latest: latest.right, spokes: spokes.right, refusal: autoUpdateRefusal(latest.right, spokes.right) })
}

/**
 * Returns whether the spokes of a set can follow the version of the suite on the set, and otherwise why not: all must
 * have the latest one.
 */
export const makeCheckAutoUpdate =
  ({ hubs }: { readonly hubs: Hubs }) =>
  async (
    call: SignedInCall<never>,
    ref: ClusterSetRef,
  ): Outcome<SetReadFailure, { readonly possible: boolean; readonly reason: string | undefined }> => {
    const opened = await openSet(hubs, call, ref)
    if (isLeft(opened)) return opened
    const state = await readState(opened.right)
    return isLeft(state) ? state : right({ possible: state.right.refusal === undefined, reason: state.right.refusal })
  }

/** Spokes that are changed at the same time. */
const width = 8

/** Makes a spoke follow the version of its set. Returns whether it did not before. */
const follow = async (hub: Hub, name: string): Outcome<HubChangeFailure, boolean> => {
  const edited = await hub.edit(profileBinding, { namespace: name, name }, ({ body }) =>
    right(textAt(body, 'spec', pinnedVersion) === '' ? undefined : { merge: { spec: { [pinnedVersion]: '' } } }),
  )
  return isLeft(edited) ? edited : right(edited.right === 'changed')
}

const notInstalled = AutoUpdateImpossible(`The feature ${suiteFeature} is not installed on the cluster set.`)

/** Sets the version of the suite on a set. Returns whether it had another one. */
const moveSet = async (
  hub: Hub,
  name: string,
  latest: string,
): Outcome<HubChangeFailure | Failure<'AutoUpdateImpossible'>, boolean> => {
  const path = `/spec/features/${suiteFeature}/chart/version`
  const edited = await hub.edit(setProfile, { name }, ({ body }) => {
    const chart = at(body, 'spec', 'features', suiteFeature, 'chart')
    if (chart === undefined) return left(notInstalled)
    return right(textAt(chart, 'version') === latest ? undefined : { operations: [{ op: 'add', path, value: latest }] })
  })
  if (isLeft(edited)) return edited
  return edited.right === 'missing' ? left(notInstalled) : right(edited.right === 'changed')
}

/**
 * Makes the spokes of a set follow the version of the suite on the set, which becomes the latest one. The set is
 * changed first: a spoke that follows an older version would be moved back.
 */
export const makeStartAutoUpdate =
  ({ hubs, unitOfWork }: { readonly hubs: Hubs; readonly unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }> }) =>
  async (
    call: SignedInCall,
    ref: ClusterSetRef,
  ): Outcome<HubChangeFailure | SetReadFailure | Failure<'AutoUpdateImpossible'>, void> => {
    const opened = await openSet(hubs, call, ref)
    if (isLeft(opened)) return opened
    const { hub, set } = opened.right
    const state = await readState(opened.right)
    if (isLeft(state)) return state
    const { refusal, latest, spokes } = state.right
    if (refusal !== undefined) return left(AutoUpdateImpossible(refusal))
    const moved = await moveSet(hub, set.name, latest)
    if (isLeft(moved)) return moved
    const followed = await atATime(spokes, width, ({ name }) => follow(hub, name))
    if (isLeft(followed)) return followed
    const isChanged = moved.right || followed.right.includes(true)
    return recordChange(
      unitOfWork,
      call,
      isChanged ? auditOf(hub, 'cluster.auto_update_started', { clusterSet: set.name, version: latest }) : undefined,
    )
  }
