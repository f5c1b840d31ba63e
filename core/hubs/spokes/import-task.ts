import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import type { ClusterTasks } from '../../cluster-tasks/ports.ts'
import { wordsOf } from '../../cluster-tasks/types.ts'
import { claimedUid, distribution, isIdentified, statedUrl } from '../../clusters/hub-types.ts'
import type { ClusterInfoReader, Hub, HubObject, Hubs, SpokeHubs, SpokeSupplies } from '../../clusters/hubs/ports.ts'
import { clusterSetKind, clusterSetLabel, managedClusterKind } from '../../clusters/hubs/ports.ts'
import type { ClusterConnections, ClusterStore, ClusterSurveyor, ClusterUnitOfWork } from '../../clusters/ports.ts'
import { ClusterMissing } from '../../clusters/ports.ts'
import type { Cluster, ClusterFacts, ClusterStatus } from '../../clusters/types.ts'
import type { Clock, Pause } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { at, definedFields, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { TaskHandler, TaskStep } from '../../tasks/ports.ts'
import type { Acceptance } from './acceptance.ts'
import { checkNoOtherAgents, makeInstallAgents, openOwnSpoke, takeBackAgents } from './agents.ts'
import {
  available,
  hasJoined,
  importAnnotation,
  inWords,
  isTrue,
  joined,
  neededRights,
  statusOfImport,
  unregister,
} from './import-state.ts'
import type { SpokeTaskInput } from './imports.ts'
import { addComponents, importSpokeKind } from './imports.ts'
import { SpokeRefused } from './spoke-names.ts'
import { bootstrapAccess } from './join-command.ts'
import type { AgentImages } from './ports.ts'
import { changeRecord, lifeAuditOf, recordOfSpoke, tellSpoke } from './spoke-records.ts'
import type { HubWork, SpokeStep } from './spoke-steps.ts'
import { notYet, over } from '../../kernel/concurrency.ts'
import { onHub, openStopped, pollUntil, runSteps, sentences, SpokeStuck } from './spoke-steps.ts'

/**
 * From the acceptance of the task: how long agents that the task installs may take to join, and a person to run the
 * command.
 */
const installedPatienceMs = 10 * 60_000
const commandPatienceMs = 30 * 60_000
/** How long the agents may take to report what the import has written on the cluster. */
const reportPatienceMs = 60_000

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
  readonly supplies: Pick<SpokeSupplies, 'write'>
  readonly surveyor: ClusterSurveyor
  readonly unitOfWork: ClusterUnitOfWork
}

/** The work of one task. */
interface Import extends HubWork, SpokeTaskInput {}

const findRecord = async (deps: ImportSpokeTaskDeps, { cluster, name }: Import): Outcome<Failure, Cluster> => {
  const record = await recordOfSpoke(deps.clusters, { ownerId: cluster.ownerId, hubUid: cluster.uid, name })
  return record === undefined
    ? left(ClusterMissing('The record of the cluster was removed during the import.'))
    : right(record)
}

const importing = (hub: Hub): ClusterStatus => ({
  phase: 'Registered',
  reason: 'MissingComponent',
  message: `The cluster is being imported into the hub ${hub.name}.`,
})

const unopened = ClusterMissing('The cluster cannot be opened: its record or its access config was removed.')

/**
 * Fails with every right that the installation of the agents lacks. It precedes the first use of any of them, which
 * would name that one alone. A cluster that has joined needs none of them.
 */
const checkRights = async (deps: ImportSpokeTaskDeps, work: Import, record: Cluster): Outcome<Failure, void> => {
  if (!work.installsAgents) return right(undefined)
  const managed = await work.hub.get(managedClusterKind, { name: work.name })
  if (isLeft(managed)) return managed
  if (hasJoined(managed.right)) return right(undefined)
  const spoke = await openOwnSpoke(deps, work.call, record, 'can_view')
  if (spoke === undefined) return left(unopened)
  const lacking = await spoke.lacking(neededRights(deps.images))
  if (isLeft(lacking)) return lacking
  return lacking.right.length === 0
    ? right(undefined)
    : left(
        SpokeRefused(
          `The access config of the cluster lacks rights: ${inWords(lacking.right)}. Use that of an administrator.`,
        ),
      )
}

/** Surveys the cluster, and makes sure that it is the one that is meant and that no other record has it. */
const identify = async (deps: ImportSpokeTaskDeps, work: Import): Outcome<Failure, string> => {
  const record = await findRecord(deps, work)
  if (isLeft(record)) return record
  if (!record.right.hasCredential)
    return right('No access config was given: the cluster joins by the command of spoke-command.')
  const able = await checkRights(deps, work, record.right)
  if (isLeft(able)) return able
  const facts = await deps.surveyor.survey(record.right.id, work.run.signal)
  if (isLeft(facts)) return facts
  const { uid } = facts.right
  if (work.claimedUid !== undefined && work.claimedUid !== uid)
    return left(SpokeRefused('basicInfo.clusterUID is not the UID of the cluster that the access config leads to.'))
  const other = await deps.clusters.findByUid(record.right.ownerId, uid)
  if (other !== undefined && other.id !== record.right.id)
    return left(SpokeRefused(`This cluster is already imported as ${other.name}. It becomes a spoke by convert/spoke.`))
  const saved = await changeRecord(deps.unitOfWork, work.call, record.right.id, (cluster) =>
    cluster.uid === uid
      ? undefined
      : { change: { uid }, entry: lifeAuditOf(work.hub, 'cluster.spoke_identified', { spoke: work.name, uid }) },
  )
  if (isLeft(saved)) return saved
  await deps.clusters.observe(record.right.id, importing(work.hub), facts.right, deps.clock.now())
  return right(`The cluster has the UID ${uid} and runs Kubernetes ${facts.right.kubernetesVersion}.`)
}

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
    const isOther =
      uid === ''
        ? url !== '' && record.right.endpoint !== '' && url !== record.right.endpoint
        : record.right.uid !== '' && uid !== record.right.uid
    // A spoke that registered by itself may have stated another address than that of the record.
    const isProven =
      isOther && uid === '' && (await deps.spokeHubs.nameByAgents(work.call, record.right, work.cluster.uid)) === name
    return isOther && !isProven
      ? left(SpokeRefused(`The hub manages another cluster as ${name}.`))
      : right('The hub knows the cluster already.')
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
  const created = await hub.create(
    managedClusterKind,
    { name },
    { metadata: { annotations: { [importAnnotation]: work.run.task.ref } }, spec },
  )
  return isLeft(created) ? created : right('The cluster is registered and accepted.')
}

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
    if (managed.right === undefined)
      return work.installsAgents
        ? right(over(undefined))
        : right(notYet('The command of spoke-command was not run on the cluster.'))
    const accepted = await deps.acceptSpokes(call, {
      grant,
      clusters: [name],
      skipsApproveCheck: false,
      requesters: [],
    })
    if (isLeft(accepted)) return right(notYet(wordsOf(accepted.left)))
    return right(
      notYet(
        isTrue(managed.right, joined)
          ? 'The cluster has joined but is not available.'
          : 'The agents of the cluster have not joined the hub.',
      ),
    )
  })
  if (isLeft(arrived)) return arrived
  const [record, managed] = await Promise.all([findRecord(deps, work), hub.get(managedClusterKind, { name })])
  if (isLeft(record)) return record
  if (isLeft(managed)) return managed
  return managed.right === undefined
    ? left(SpokeStuck('The cluster was removed from the hub during the import.'))
    : right('The cluster has joined the hub.')
}

const place = async ({ hub, name, clusterProfile }: Import): Outcome<Failure, string> => {
  if (clusterProfile === undefined) return right('No cluster profile was asked for.')
  const set = `${distribution.profileSetPrefix}${clusterProfile}`
  const created = await hub.create(clusterSetKind, { name: set }, { spec: {} })
  if (isLeft(created)) return created
  const labelled = await hub.edit(managedClusterKind, { name }, ({ body }) =>
    right(
      at(body, 'metadata', 'labels', clusterSetLabel) === set
        ? undefined
        : { merge: { metadata: { labels: { [clusterSetLabel]: set } } } },
    ),
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

/** The identity of the cluster as its hub is to know it. */
const identityOf = (record: Cluster, { name }: Import) => ({ uid: record.uid, name, managers: record.managers })

const claimByHand = `Write the ClusterClaim ${distribution.infoClaim} on it as docs/clusters.md shows: without it the hub gives it no features.`

/**
 * Writes the claims and the rights that the controllers of the hub need on the cluster, and waits until its agents have
 * reported them: the cluster is put into a set after that, since one without them keeps the others of the set from
 * their features. A failure does not end the import: the cluster is a spoke all the same.
 */
const introduce = async (deps: ImportSpokeTaskDeps, work: Import, step: TaskStep): Outcome<Failure, string> => {
  const { call, hub, name, run } = work
  const record = await findRecord(deps, work)
  if (isLeft(record)) return record
  const spoke =
    record.right.hasCredential && record.right.uid !== ''
      ? await openOwnSpoke(deps, call, record.right, 'can_view')
      : undefined
  const written = spoke === undefined ? undefined : await deps.supplies.write(spoke, identityOf(record.right, work))
  if (written !== undefined && isLeft(written))
    step.say(`Not everything could be written on the cluster: ${written.left.message}`, { level: 'warning' })
  const reported = await pollUntil<boolean>(deps, run, spoke === undefined ? 0 : reportPatienceMs, async () => {
    const managed = await hub.get(managedClusterKind, { name })
    if (isLeft(managed)) return managed
    if (managed.right === undefined || isIdentified(managed.right)) return right(over(managed.right !== undefined))
    return right(notYet(`The agents have not reported the claim ${distribution.infoClaim}.`))
  })
  if (!isLeft(reported))
    return right(reported.right ? 'The hub knows the identity of the cluster.' : 'The hub does not have the cluster.')
  if (run.signal.aborted) return reported
  step.say(`${reported.left.message} ${claimByHand}`, { level: 'warning' })
  return right('The hub does not know the identity of the cluster.')
}

/** Fails if another record has the UID of the cluster. */
const checkOwnUid = async ({ clusters }: ImportSpokeTaskDeps, record: Cluster, uid: string): Outcome<Failure, void> => {
  const other = uid === '' ? undefined : await clusters.findByUid(record.ownerId, uid)
  return other === undefined || other.id === record.id
    ? right(undefined)
    : left(
        SpokeRefused(
          `This cluster is already imported as ${other.name}. Remove the record ${record.name}; ` +
            `${other.name} becomes a spoke by convert/spoke.`,
        ),
      )
}

const reconcileRecord = async (deps: ImportSpokeTaskDeps, work: Import): Outcome<Failure, string> => {
  const { call, hub, name, run } = work
  const [record, managed] = await Promise.all([findRecord(deps, work), hub.get(managedClusterKind, { name })])
  if (isLeft(record)) return record
  if (isLeft(managed)) return managed
  if (managed.right === undefined) return left(SpokeStuck('The cluster was removed from the hub during the import.'))
  const { id, hasCredential } = record.right
  const surveyed = hasCredential
    ? await deps.surveyor.survey(id, run.signal)
    : right(factsFromHub(record.right, managed.right))
  if (isLeft(surveyed)) return surveyed
  const { uid } = surveyed.right
  const own = await checkOwnUid(deps, record.right, uid)
  if (isLeft(own)) return own
  const endpoint = record.right.endpoint === '' ? statedUrl(managed.right) : record.right.endpoint
  const saved = await changeRecord(deps.unitOfWork, call, id, () => ({
    change: { endpoint, ...(uid === '' ? {} : { uid }) },
    entry: lifeAuditOf(hub, 'cluster.spoke_imported', { spoke: name, cluster: record.right.name, task: run.task.ref }),
  }))
  if (isLeft(saved)) return saved
  await deps.clusters.observe(id, { phase: 'Active', reason: undefined, message: '' }, surveyed.right, deps.clock.now())
  await deps.clusters.observeSet(id, textAt(managed.right.body, 'metadata', 'labels', clusterSetLabel))
  return right(`The record ${record.right.name} is a spoke of the hub ${hub.name}.`)
}

/**
 * Takes the hub from the record of an import that has ended before the hub had the cluster. The name stays in it, by
 * which the same request finds the record again. A record without a credential keeps its hub: the command can still be
 * run on the cluster.
 */
const unlink = async (deps: ImportSpokeTaskDeps, opened: HubWork, name: string): Promise<void> => {
  if (opened.run.signal.reason === 'lease-lost') return
  const hub = await openStopped(deps, opened)
  const managed = await hub?.get(managedClusterKind, { name })
  if (managed === undefined || isLeft(managed) || managed.right !== undefined) return
  const { ownerId, uid: hubUid } = opened.cluster
  const record = await recordOfSpoke(deps.clusters, { ownerId, hubUid, name })
  if (record?.hasCredential !== true) return
  await changeRecord(deps.unitOfWork, opened.call, record.id, () => ({
    change: { hubClusterUid: '' },
    entry: lifeAuditOf(opened.hub, 'cluster.spoke_unlinked', { spoke: name, cluster: record.name }),
  }))
}

/** Takes back what a failed installation has left on the hub and on the cluster. */
const takeBack = async (deps: ImportSpokeTaskDeps, work: Import): Promise<string> => {
  const gone = await unregister(work.hub, work.name)
  const record = await findRecord(deps, work)
  const spoke =
    gone === '' || isLeft(record) ? undefined : await openOwnSpoke(deps, work.call, record.right, 'can_view')
  return sentences(gone, spoke === undefined ? '' : await takeBackAgents(spoke))
}

/**
 * Imports spokes. Each step finds out what is there and does what is missing, so that the task can be continued after
 * any of them.
 */
export const importSpokeTaskKind = (deps: ImportSpokeTaskDeps): TaskHandler => {
  const steps = (work: Import): readonly SpokeStep[] => [
    { title: 'Connect to the cluster', work: () => identify(deps, work) },
    { title: 'Register the cluster on the hub', work: () => register(deps, work) },
    { title: 'Install the agents', work: () => install(deps, work), undo: () => takeBack(deps, work) },
    { title: 'Wait until the agents have joined', work: () => awaitJoin(deps, work) },
    { title: 'Report the cluster to the hub', work: (step) => introduce(deps, work, step) },
    { title: 'Put the cluster into the set of its profile', work: () => place(work) },
    {
      title: 'Add the components',
      work: (step) => addComponents(work.hub, work.name, work.components ?? { gitOpsEngine: false, omitted: [] }, step),
    },
    { title: 'Update the record', work: () => reconcileRecord(deps, work) },
  ]
  return onHub(
    deps,
    importSpokeKind,
    async (opened) => {
      const { run, hub } = opened
      const input = run.input as unknown as SpokeTaskInput
      const { name } = input
      const work: Import = {
        ...opened,
        name,
        claimedUid: input.claimedUid,
        clusterProfile: input.clusterProfile,
        installsAgents: input.installsAgents,
        ...definedFields({ components: input.components }),
      }
      const end = await runSteps(run, steps(work), async () => statusOfImport(await openStopped(deps, opened), name))
      if (end !== undefined) await unlink(deps, opened, name)
      return (
        end ?? {
          state: 'succeeded',
          message: `${name} is a spoke of the hub ${hub.name}.`,
          result: { spoke: name, hub: hub.name },
        }
      )
    },
    (run, end) => tellSpoke(deps, run, 'import into', end),
  )
}
