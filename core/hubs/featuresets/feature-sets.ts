import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub, HubChangeFailure, HubObject, HubReadFailure, Hubs } from '../../clusters/hubs/ports.ts'
import { HubConflict, managedClusterKind } from '../../clusters/hubs/ports.ts'
import { distribution, manifestWorkKind } from '../../clusters/hub-types.ts'
import { atATime } from '../../kernel/concurrency.ts'
import { defineFailure, type Failure, type Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import { defineAudit, recordChange, recordPart } from '../../kernel/unit-of-work.ts'
import type { FeatureSetState, InstalledFeatures } from './catalogue.ts'
import { installedIn, readCatalogue, statesOf } from './catalogue.ts'
import { includes, otherFeaturedSets } from '../clustersets/types.ts'
import type { ClusterSetRef, OpenedSet, SetReadFailure } from './cluster-set.ts'
import { listMembers, openSet } from './cluster-set.ts'
import type { FeatureContents } from './rules.ts'
import { parseModel, refused, planInstall, planRemoval, removeOperations, writeOperations } from './rules.ts'
import type { SupplyDeps, UnservedCluster } from './unserved.ts'
import { makeSupplySet } from './unserved.ts'

/** Objects that are changed at the same time. */
const width = 8

const { setProfile, profileBinding } = distribution.kinds

const auditOf = defineAudit(
  'cluster',
  ['cluster.featureset_installed', 'cluster.featureset_disabled', 'cluster.featureset_updated'],
  ({ id, ownerId, name }: Hub) => ({ objectId: id, objectName: name, tenantId: ownerId }),
)

/** The spoke of the path does not exist on the hub. */
export const SpokeMissing = defineFailure('SpokeMissing', 'NotFound', 'The hub does not have this spoke.')

/** Returns the feature sets of a hub with what is installed of each on a cluster set. */
export const makeListFeatureSets =
  ({ hubs }: { readonly hubs: Hubs }) =>
  async (call: SignedInCall<never>, ref: ClusterSetRef): Outcome<SetReadFailure, readonly FeatureSetState[]> => {
    const opened = await openSet(hubs, call, ref)
    if (isLeft(opened)) return opened
    const { hub, set } = opened.right
    const [catalogue, profile] = await Promise.all([readCatalogue(hub), hub.get(setProfile, { name: set.name })])
    if (isLeft(catalogue)) return catalogue
    return isLeft(profile) ? profile : right(statesOf(catalogue.right, installedIn(profile.right)))
  }

interface ChangeDeps {
  readonly hubs: Hubs
  readonly unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>
}
type SetChangeFailure = HubChangeFailure | SetReadFailure | Failure<'FeaturesRefused'>

type Plan = (installed: InstalledFeatures) => Either<Failure<'FeaturesRefused'>, FeatureContents>

/** Judges a change on the profile as it is at that moment, and returns the names of the features that it writes. */
const writeProfile = async (
  hub: Hub,
  name: string,
  plan: Plan,
): Outcome<HubChangeFailure | Failure<'FeaturesRefused'>, readonly string[]> => {
  const key = { name }
  const judge = (profile: Pick<HubObject, 'body'>) => {
    const contents = plan(installedIn(profile))
    return isLeft(contents) ? contents : writeOperations(profile, contents.right)
  }
  // Another request may create the profile before this one, and a deletion may follow.
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    let changed: readonly string[] = []
    const edited = await hub.edit(setProfile, key, (profile) => {
      const judged = judge(profile)
      if (isLeft(judged)) return judged
      changed = judged.right.changed
      return right(changed.length === 0 ? undefined : { operations: judged.right.operations })
    })
    if (isLeft(edited)) return edited
    if (edited.right !== 'missing') return right(changed)
    const fresh = { spec: { features: {} } }
    const contents = plan(installedIn({ body: fresh }))
    if (isLeft(contents)) return contents
    const judged = writeOperations({ body: fresh }, contents.right)
    if (isLeft(judged)) return judged
    const created = await hub.create(setProfile, key, { spec: { features: Object.fromEntries(contents.right) } })
    if (isLeft(created)) return created
    if (created.right === 'created') return right(judged.right.changed)
  }
  return left(HubConflict('The profile of the cluster set was changed on the hub by other requests. Try again.'))
}

/**
 * Refuses features on a set with a cluster that is in another set with features, too: a cluster has the features of one
 * set.
 */
const checkAlone = async (opened: OpenedSet): Outcome<HubReadFailure | Failure<'FeaturesRefused'>, void> => {
  const members = await listMembers(opened, { isMetadataOnly: true })
  if (isLeft(members)) return members
  const others = await otherFeaturedSets(opened.hub, opened.set.name, members.right)
  if (isLeft(others)) return others
  const reasons = others.right.map((other) => {
    const shared = members.right.filter((member) => includes(other, member)).map(({ name }) => name)
    const more = shared.length > 3 ? ` and ${shared.length - 3} more clusters` : ''
    const names = `${shared.slice(0, 3).join(', ')}${more} ${shared.length === 1 ? 'is' : 'are'}`
    return (
      `${names} in the set ${other.name} too, which has features. A cluster has those of one set: disable ` +
      'them there first.'
    )
  })
  return reasons.length > 0 ? left(refused(reasons)) : right(undefined)
}

/** A model is the values of the editor of a feature set. */
export interface FeatureSetValues extends ClusterSetRef {
  readonly model: FreeObject
}

/**
 * Installs features of a feature set on a cluster set, with what they need. An installed feature gets the new values as
 * a whole. Returns the spokes of the set to which the hub does not give the feature set.
 */
export const makeInstallFeatureSet = ({ hubs, unitOfWork, ...deps }: ChangeDeps & SupplyDeps) => {
  const supplySet = makeSupplySet(deps)
  return async (
    call: SignedInCall<readonly UnservedCluster[]>,
    { model, ...ref }: FeatureSetValues,
  ): Outcome<SetChangeFailure, readonly UnservedCluster[]> => {
    const parsed = parseModel(model)
    if (isLeft(parsed)) return parsed
    const opened = await openSet(hubs, call, ref)
    if (isLeft(opened)) return opened
    const { hub, set } = opened.right
    const catalogue = await readCatalogue(hub)
    if (isLeft(catalogue)) return catalogue
    const alone = await checkAlone(opened.right)
    if (isLeft(alone)) return alone
    let present: readonly string[] = []
    const changed = await writeProfile(hub, set.name, (installed) => {
      const contents = planInstall(catalogue.right, installed, parsed.right)
      if (!isLeft(contents)) present = [...installed.keys(), ...contents.right.keys()]
      return contents
    })
    if (isLeft(changed)) return changed
    const { featureSet } = parsed.right
    const changes = { clusterSet: set.name, featureSet, features: changed.right }
    const unserved = await supplySet(call, opened.right, { featureSet, present })
    return unitOfWork.run<never, readonly UnservedCluster[]>(call, async ({ audit }) => {
      if (changed.right.length > 0) await audit.record(auditOf(hub, 'cluster.featureset_installed', changes))
      return right(unserved)
    })
  }
}

export interface DisableFeatures extends ClusterSetRef {
  /** The cluster set that the body names. */
  readonly namedSet: string
  readonly featureSet: string
  /** Empty: all that are installed. */
  readonly features: readonly string[]
}

/** The controllers of the hub delete works of feature sets that still have a feature only. */
const removeWorks = async (hub: Hub, clusterSet: string, featureSet: string): Outcome<HubChangeFailure, void> => {
  const bindings = await hub.list(profileBinding)
  if (isLeft(bindings)) return bindings
  const hasOwn = (binding: HubObject): boolean =>
    [...installedIn(binding).values()].some((feature) => feature.featureSet === featureSet)
  const own = new Set(bindings.right.filter(hasOwn).map(({ namespace }) => namespace))
  const works = await hub.list(manifestWorkKind, {
    labelSelector: `${distribution.profileLabel}=${clusterSet}`,
    fieldSelector: `metadata.name=${featureSet}`,
    isMetadataOnly: true,
  })
  if (isLeft(works)) return works
  const done = await atATime(
    works.right.filter(({ namespace }) => !own.has(namespace)),
    width,
    (work) => hub.remove(manifestWorkKind, work),
  )
  return isLeft(done) ? done : right(undefined)
}

/**
 * Completes a removal on the hub. Without any feature the profile goes, and with it the bindings and works of its
 * spokes: the controllers do nothing for a profile without the core features. Without the features of one feature set
 * its works go.
 */
const completeRemoval = async (hub: Hub, clusterSet: string, featureSet: string): Outcome<HubChangeFailure, void> => {
  const profile = await hub.get(setProfile, { name: clusterSet })
  if (isLeft(profile) || profile.right === undefined) return isLeft(profile) ? profile : right(undefined)
  const left = [...installedIn(profile.right).values()]
  const removed = left.length === 0 ? await hub.remove(setProfile, profile.right, { asRead: true }) : right(false)
  if (isLeft(removed)) return removed
  return left.some((feature) => feature.featureSet === featureSet)
    ? right(undefined)
    : removeWorks(hub, clusterSet, featureSet)
}

/** Disables features of a feature set on a cluster set. Disabling what is not installed succeeds. */
export const makeDisableFeatureSet =
  ({ hubs, unitOfWork }: ChangeDeps) =>
  async (
    call: SignedInCall,
    { namedSet, featureSet, features, ...ref }: DisableFeatures,
  ): Outcome<SetChangeFailure, void> => {
    if (namedSet !== ref.clusterSet)
      return left(refused([`clusterSet is ${namedSet}, and the path names the cluster set ${ref.clusterSet}.`]))
    const opened = await openSet(hubs, call, ref)
    if (isLeft(opened)) return opened
    const { hub, set } = opened.right
    const catalogue = await readCatalogue(hub)
    if (isLeft(catalogue)) return catalogue
    let removed: readonly string[] = []
    const judge = (profile: Pick<HubObject, 'body'>) => {
      const plan = planRemoval(catalogue.right, installedIn(profile), { featureSet, features })
      if (isLeft(plan)) return plan
      removed = plan.right
      return right(removed.length === 0 ? undefined : { operations: removeOperations(removed) })
    }
    const edited = await hub.edit(setProfile, { name: set.name }, judge)
    if (isLeft(edited)) return edited
    if (edited.right === 'missing') {
      const judged = judge({ body: {} })
      if (isLeft(judged)) return judged
    }
    const settled = await completeRemoval(hub, set.name, featureSet)
    const changes = { clusterSet: set.name, featureSet, features: removed }
    if (isLeft(settled)) {
      await recordPart(
        unitOfWork,
        call,
        edited.right === 'changed' ? [auditOf(hub, 'cluster.featureset_disabled', changes)] : [],
      )
      return settled
    }
    return recordChange(
      unitOfWork,
      call,
      edited.right === 'changed' ? auditOf(hub, 'cluster.featureset_disabled', changes) : undefined,
    )
  }

export interface SpokeValues extends FeatureSetValues {
  /** The name of a spoke, a DNS-1123 label. */
  readonly spoke: string
}

/**
 * Sets the values of features on one spoke of a cluster set. They replace those of the set there as a whole. The rules
 * are those of an installation on top of what is installed on the set.
 */
export const makeUpdateFeatureSet =
  ({ hubs, unitOfWork }: ChangeDeps) =>
  async (
    call: SignedInCall,
    { model, spoke, ...ref }: SpokeValues,
  ): Outcome<SetChangeFailure | Failure<'SpokeMissing'>, void> => {
    const parsed = parseModel(model)
    if (isLeft(parsed)) return parsed
    const opened = await openSet(hubs, call, ref)
    if (isLeft(opened)) return opened
    const { hub, set } = opened.right
    const [members, catalogue, profile] = await Promise.all([
      listMembers(opened.right, { only: spoke, isMetadataOnly: true }),
      readCatalogue(hub),
      hub.get(setProfile, { name: set.name }),
    ])
    if (isLeft(members)) return members
    if (isLeft(catalogue)) return catalogue
    if (isLeft(profile)) return profile
    if (members.right.length === 0) return outsideOf(hub, set, spoke)
    let changed: readonly string[] = []
    const edited = await hub.edit(profileBinding, { namespace: spoke, name: spoke }, (binding) => {
      const installed = new Map([...installedIn(profile.right), ...installedIn(binding)])
      const contents = planInstall(catalogue.right, installed, parsed.right)
      if (isLeft(contents)) return contents
      const judged = writeOperations(binding, contents.right)
      if (isLeft(judged)) return judged
      changed = judged.right.changed
      return right(changed.length === 0 ? undefined : { operations: judged.right.operations })
    })
    if (isLeft(edited)) return edited
    if (edited.right === 'missing')
      return left(
        refused([
          `The spoke ${spoke} has no profile yet: the hub creates it after a feature is installed on its cluster set.`,
        ]),
      )
    const changes = { clusterSet: set.name, spoke, featureSet: parsed.right.featureSet, features: changed }
    return recordChange(
      unitOfWork,
      call,
      edited.right === 'changed' ? auditOf(hub, 'cluster.featureset_updated', changes) : undefined,
    )
  }

/** Returns why a spoke is not among the members of a set. */
const outsideOf = async (
  hub: Hub,
  set: HubObject,
  spoke: string,
): Outcome<SetReadFailure | Failure<'SpokeMissing'> | Failure<'FeaturesRefused'>, never> => {
  const found = await hub.get(managedClusterKind, { name: spoke })
  if (isLeft(found)) return found
  return left(
    found.right === undefined
      ? SpokeMissing(`The hub has no spoke ${spoke}.`)
      : refused([`The spoke ${spoke} is not in the cluster set ${set.name}.`]),
  )
}
