import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { ClusterTasks } from '../cluster-tasks/ports.ts'
import { wordsOf } from '../cluster-tasks/types.ts'
import { claimedUid, statedUrl, uidClaim, distribution } from '../clusters/hubs/types.ts'
import type { ClusterInfoReader, Hub, HubObject, Hubs, SpokeHubs } from '../clusters/hubs/ports.ts'
import { clusterSetKind, clusterSetLabel, managedClusterKind } from '../clusters/hubs/ports.ts'
import type { ClusterConnections, ClusterStore, ClusterSurveyor, ClusterUnitOfWork } from '../clusters/ports.ts'
import { ClusterMissing } from '../clusters/ports.ts'
import type { Cluster, ClusterFacts, ClusterStatus } from '../clusters/types.ts'
import type { Clock, Pause } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { at, definedFields, textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { TaskEnd, TaskHandler, TaskStep } from '../tasks/ports.ts'
import type { Acceptance } from './acceptance.ts'
import { checkNoOtherAgents, makeInstallAgents, openOwnSpoke } from './agents.ts'
import type { SpokeTaskInput } from './imports.ts'
import { addComponents, importSpokeKind, SpokeRefused } from './imports.ts'
import { bootstrapAccess } from './join-command.ts'
import { isTrue, joined } from './conversion.ts'
import { clusterClaimKind, managedByLabel, managedByValue } from './ports.ts'
import type { AgentImages } from './ports.ts'
import { changeRecord, lifeAuditOf, recordOfSpoke } from './spoke-records.ts'
import type { HubWork, SpokeStep } from './spoke-steps.ts'
import { notYet, onHub, over, pollUntil, runSteps, SpokeStuck } from './spoke-steps.ts'

const available = 'ManagedClusterConditionAvailable'

/** From the acceptance of the task: how long agents that the task installs may take to join, and a person to run the command. */
const installedPatienceMs = 10 * 60_000
const commandPatienceMs = 30 * 60_000

/** Accepts clusters on a hub. */
export type AcceptSpokes = (call: SignedInCall, acceptance: Acceptance) => Outcome<Failure, void>

export interface ImportSpokeTaskDeps {
  readonly acceptSpokes: AcceptSpokes
  readonly authorizer: Authorizer
  readonly clock: Clock
  readonly clusterInfo: ClusterInfoReader
  readonly clusters: ClusterStore
  readonly clusterTasks: ClusterTasks
  readonly connections: ClusterConnections
  readonly hubs: Hubs
  readonly images: AgentImages
  readonly pause: Pause
  readonly spokeHubs: SpokeHubs
  readonly surveyor: ClusterSurveyor
  readonly unitOfWork: ClusterUnitOfWork
}

/** The work of one task. */
interface Import extends HubWork, SpokeTaskInput {}

const findRecord = async (deps: ImportSpokeTaskDeps, { cluster, name }: Import): Outcome<Failure, Cluster> => {
  const record = await recordOfSpoke(deps.clusters, { ownerId: cluster.ownerId, hubUid: cluster.uid, name })
  return record === undefined ? left(ClusterMissing('The record of the cluster was removed during the import.')) : right(record)
}

const importing = (hub: Hub): ClusterStatus => ({ phase: 'Registered', reason: 'MissingComponent', message: `The cluster is being imported into the hub ${hub.name}.` })

/** Surveys the cluster, and makes sure that it is the one that is meant and that no other record has it. */
const identify = async (deps: ImportSpokeTaskDeps, work: Import): Outcome<Failure, string> => {
  const record = await findRecord(deps, work)
  if (isLeft(record)) return record
  if (!record.right.hasCredential) return right('No access config was given: the cluster joins by the command of spoke-command.')
  const facts = await deps.surveyor.survey(record.right.id, work.run.signal)
  if (isLeft(facts)) return facts
  const { uid } = facts.right
  if (work.claimedUid !== undefined && work.claimedUid !== uid) return left(SpokeRefused('basicInfo.clusterUID is not the UID of the cluster that the access config leads to.'))
  const other = await deps.clusters.findByUid(record.right.ownerId, uid)
  if (other !== undefined && other.id !== record.right.id) return left(SpokeRefused(`This cluster is already imported as ${other.name}. It becomes a spoke by convert/spoke.`))
  const saved = await changeRecord(deps.unitOfWork, work.call, record.right.id, (cluster) =>
    cluster.uid === uid ? undefined : { change: { uid }, entry: lifeAuditOf(work.hub, 'cluster.spoke_identified', { spoke: work.name, uid }) },
  )
  if (isLeft(saved)) return saved
  await deps.clusters.observe(record.right.id, importing(work.hub), facts.right, deps.clock.now())
  return right(`The cluster has the UID ${uid} and runs Kubernetes ${facts.right.kubernetesVersion}.`)
}

const unopened = ClusterMissing('The cluster cannot be opened: its record or its access config was removed.')

const register = async (deps: ImportSpokeTaskDeps, work: Import): Outcome<Failure, string> => {
  const { hub, name } = work
  const record = await findRecord(deps, work)
  if (isLeft(record)) return record
  const known = await hub.get(managedClusterKind, { name })
  if (isLeft(known)) return known
  if (known.right?.isDeleting === true) return left(SpokeStuck(`The hub is removing an earlier cluster ${name}.`))
  if (known.right !== undefined) {
    const uid = claimedUid(known.right)
    const url = statedUrl(known.right)
    const isOther = uid === '' ? url !== '' && record.right.endpoint !== '' && url !== record.right.endpoint : record.right.uid !== '' && uid !== record.right.uid
    // A spoke that registered by itself may have stated another address than that of the record.
    const isProven = isOther && uid === '' && (await deps.spokeHubs.nameByAgents(work.call, record.right, work.cluster.uid)) === name
    return isOther && !isProven ? left(SpokeRefused(`The hub manages another cluster as ${name}.`)) : right('The hub knows the cluster already.')
  }
  if (!work.installsAgents) return right('The cluster registers itself when the command of spoke-command is run on it.')
  const spoke = await openOwnSpoke(deps, work.call, record.right, 'can_view')
  if (spoke === undefined) return left(unopened)
  // Otherwise an accepted cluster without agents would stay on the hub.
  const free = await checkNoOtherAgents(spoke, name)
  if (isLeft(free)) return free
  const connection = await deps.connections.open(record.right.id)
  if (isLeft(connection)) return connection
  const { server, authorityPem } = connection.right.credential
  const config = { url: server, ...(authorityPem === undefined ? {} : { caBundle: btoa(authorityPem) }) }
  const spec = { hubAcceptsClient: true, leaseDurationSeconds: 60, managedClusterClientConfigs: [config] }
  const created = await hub.create(managedClusterKind, { name }, { spec })
  return isLeft(created) ? created : right('The cluster is registered and accepted.')
}

const hasJoined = (managed: HubObject | undefined): boolean => isTrue(managed, joined) && isTrue(managed, available)

const install = async (deps: ImportSpokeTaskDeps, work: Import): Outcome<Failure, string> => {
  const { call, hub, name, run } = work
  if (!work.installsAgents) return right('The command of spoke-command installs the agents.')
  const [record, managed] = await Promise.all([findRecord(deps, work), hub.get(managedClusterKind, { name })])
  if (isLeft(record)) return record
  if (isLeft(managed)) return managed
  if (hasJoined(managed.right)) return right('The agents run already.')
  const spoke = await openOwnSpoke(deps, call, record.right, 'can_view')
  if (spoke === undefined) return left(unopened)
  const installed = await makeInstallAgents(deps)(run, spoke, {
    managedClusterName: name,
    serverUrls: [record.right.endpoint],
    importRef: run.task.ref,
    makeAccess: () => bootstrapAccess(deps, hub),
  })
  return isLeft(installed) ? installed : right('The agents are installed.')
}

/** Approves the requests of the agents as they come, until the cluster has joined and is available. */
const awaitJoin = async (deps: ImportSpokeTaskDeps, work: Import): Outcome<Failure, string> => {
  const { call, grant, hub, name, run } = work
  const patienceMs = work.installsAgents ? installedPatienceMs : commandPatienceMs
  const leftMs = run.task.createdAt.getTime() + patienceMs - deps.clock.now().getTime()
  const arrived = await pollUntil<undefined>(deps, run, leftMs, async () => {
    const record = await findRecord(deps, work)
    if (isLeft(record)) return right(over(undefined))
    const managed = await hub.get(managedClusterKind, { name })
    if (isLeft(managed)) return managed
    if (hasJoined(managed.right)) return right(over(undefined))
    if (managed.right === undefined) return work.installsAgents ? right(over(undefined)) : right(notYet('The command of spoke-command was not run on the cluster.'))
    const accepted = await deps.acceptSpokes(call, { grant, clusters: [name], skipsApproveCheck: false, requesters: [] })
    if (isLeft(accepted)) return right(notYet(wordsOf(accepted.left)))
    return right(notYet(isTrue(managed.right, joined) ? 'The cluster has joined but is not available.' : 'The agents of the cluster have not joined the hub.'))
  })
  if (isLeft(arrived)) return arrived
  const [record, managed] = await Promise.all([findRecord(deps, work), hub.get(managedClusterKind, { name })])
  if (isLeft(record)) return record
  if (isLeft(managed)) return managed
  return managed.right === undefined ? left(SpokeStuck('The cluster was removed from the hub during the import.')) : right('The cluster has joined the hub.')
}

const place = async ({ hub, name, clusterProfile }: Import): Outcome<Failure, string> => {
  if (clusterProfile === undefined) return right('No cluster profile was asked for.')
  const set = `${distribution.profileSetPrefix}${clusterProfile}`
  const created = await hub.create(clusterSetKind, { name: set }, { spec: {} })
  if (isLeft(created)) return created
  const labelled = await hub.edit(managedClusterKind, { name }, ({ body }) =>
    right(at(body, 'metadata', 'labels', clusterSetLabel) === set ? undefined : { merge: { metadata: { labels: { [clusterSetLabel]: set } } } }),
  )
  return isLeft(labelled) ? labelled : right(`The cluster is in the set ${set}.`)
}

/** Returns what the hub knows about a cluster that is not reached in another way. */
const factsFromHub = ({ provider, location, project, nodeCount }: Cluster, managed: HubObject): ClusterFacts => ({
  uid: claimedUid(managed),
  provider,
  location,
  project,
  nodeCount,
  kubernetesVersion: textAt(managed.body, 'status', 'version', 'kubernetes'),
  managers: ['OCMSpoke'],
  isReady: isTrue(managed, available),
})

/**
 * Gives the cluster the claim by which hubs know its UID: the agents copy claims but make none. One that exists stays. An agent
 * without claims, and a credential without the right, do not fail the import: the record has its hub already.
 */
const claimUid = async (deps: ImportSpokeTaskDeps, { call }: Import, record: Cluster, uid: string, step: TaskStep): Promise<void> => {
  const spoke = record.hasCredential && uid !== '' ? await openOwnSpoke(deps, call, record, 'can_view') : undefined
  const content = { metadata: { labels: { [managedByLabel]: managedByValue } }, spec: { value: uid } }
  const claimed = await spoke?.create(clusterClaimKind, { name: uidClaim }, content)
  if (claimed !== undefined && isLeft(claimed) && claimed.left.tag !== 'NotAHub') step.say(`The cluster has no claim ${uidClaim}: ${claimed.left.message}`, { level: 'warning' })
}

const settleRecord = async (deps: ImportSpokeTaskDeps, work: Import, step: TaskStep): Outcome<Failure, string> => {
  const { call, hub, name, run } = work
  const [record, managed] = await Promise.all([findRecord(deps, work), hub.get(managedClusterKind, { name })])
  if (isLeft(record)) return record
  if (isLeft(managed)) return managed
  if (managed.right === undefined) return left(SpokeStuck('The cluster was removed from the hub during the import.'))
  const { id, hasCredential } = record.right
  const surveyed = hasCredential ? await deps.surveyor.survey(id, run.signal) : right(factsFromHub(record.right, managed.right))
  if (isLeft(surveyed)) return surveyed
  const { uid } = surveyed.right
  await claimUid(deps, work, record.right, uid, step)
  const endpoint = record.right.endpoint === '' ? statedUrl(managed.right) : record.right.endpoint
  const saved = await changeRecord(deps.unitOfWork, call, id, () => ({
    change: { endpoint, ...(uid === '' ? {} : { uid }) },
    entry: lifeAuditOf(hub, 'cluster.spoke_imported', { spoke: name, cluster: record.right.name, task: run.task.ref }),
  }))
  if (isLeft(saved)) return saved
  await deps.clusters.observe(id, { phase: 'Active', reason: undefined, message: '' }, surveyed.right, deps.clock.now())
  return right(`The record ${record.right.name} is a spoke of the hub ${hub.name}.`)
}

/** Keeps the reason in the record, where people look for it. */
const tellRecord = async (deps: ImportSpokeTaskDeps, work: Import, { state, message, error }: TaskEnd): Promise<void> => {
  const record = await findRecord(deps, work)
  if (isLeft(record)) return
  const what = state === 'cancelled' ? `The import into the hub was cancelled. ${message}` : `The import into the hub failed. ${error ?? message}`
  await deps.clusters.observe(record.right.id, { phase: 'Registered', reason: 'MissingComponent', message: what }, undefined, deps.clock.now())
}

/** Imports spokes. Each step finds out what is there and does what is missing, so that the task can be continued after any of them. */
export const importSpokeTaskKind = (deps: ImportSpokeTaskDeps): TaskHandler => {
  const steps = (work: Import): readonly SpokeStep[] => [
    { title: 'Connect to the cluster', work: () => identify(deps, work) },
    { title: 'Register the cluster on the hub', work: () => register(deps, work) },
    { title: 'Install the agents', work: () => install(deps, work) },
    { title: 'Wait until the agents have joined', work: () => awaitJoin(deps, work) },
    { title: 'Put the cluster into the set of its profile', work: () => place(work) },
    { title: 'Add the components', work: (step) => addComponents(work.hub, work.name, work.components ?? { gitOpsEngine: false, omitted: [] }, step) },
    { title: 'Update the record', work: (step) => settleRecord(deps, work, step) },
  ]
  return onHub(deps, importSpokeKind, async (opened) => {
    const { run, hub } = opened
    const input = run.input as unknown as SpokeTaskInput
    const { name } = input
    const work: Import = { ...opened, name, claimedUid: input.claimedUid, clusterProfile: input.clusterProfile, installsAgents: input.installsAgents, ...definedFields({ components: input.components }) }
    const end = await runSteps(run, steps(work))
    if (end === undefined) return { state: 'succeeded', message: `${name} is a spoke of the hub ${hub.name}.`, result: { spoke: name, hub: hub.name } }
    await tellRecord(deps, work, end)
    return end
  })
}
