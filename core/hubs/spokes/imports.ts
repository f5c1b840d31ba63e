import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterTasks } from '../../cluster-tasks/ports.ts'
import type { Hub, HubObject, HubReadFailure, Hubs } from '../../clusters/hubs/ports.ts'
import { managedClusterKind } from '../../clusters/hubs/ports.ts'
import { distribution } from '../../clusters/hub-types.ts'
import type {
  ClusterAddresses,
  ClusterStore,
  ClusterTaskUnitOfWork,
  CredentialSealer,
  KubeconfigParser,
  MemberCluster,
  MemberClusters,
} from '../../clusters/ports.ts'
import { ClusterAlreadyImported, ClusterMismatch, ClusterNameTaken } from '../../clusters/ports.ts'
import type { Cluster, ClusterCredential, HostingProvider, NewCluster } from '../../clusters/types.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { definedFields, textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { PreparedTask, SubmitFailure, TaskStep } from '../../tasks/ports.ts'
import { addOnDefinitionKind, addOnKind } from './ports.ts'
import { SpokeRefused } from './spoke-names.ts'
import { isUnfinishedImport, lifeAuditOf } from './spoke-records.ts'
import { SpokeStuck } from './spoke-steps.ts'

/** What the request for an import asks for beside the membership in the hub. */
interface SpokeComponents {
  readonly gitOpsEngine: boolean
  /** What else the request asks for, as it names it. */
  readonly omitted: readonly string[]
}

const addGitOpsEngine = async (hub: Hub, spoke: string, step: TaskStep): Outcome<Failure, string> => {
  const name = distribution.gitOpsAddOn
  const found = await hub.get(addOnDefinitionKind, { name })
  if (isLeft(found) && found.left.tag !== 'NotAHub') return found
  const definition = isLeft(found) ? undefined : found.right
  if (definition === undefined) {
    step.say(`The hub has no add-on ${name}, which installs the GitOps engine.`, { level: 'warning' })
    return right('The GitOps engine is not installed.')
  }
  if (textAt(definition.body, 'spec', 'installStrategy', 'type') === 'Placements')
    return right(`The hub itself places the add-on ${name}.`)
  const created = await hub.create(addOnKind, { namespace: spoke, name }, { spec: {} })
  if (isLeft(created)) return created
  return created.right === 'unplaced'
    ? left(SpokeStuck(`The namespace ${spoke} of the hub does not exist, or is being deleted.`))
    : right(`The spoke has the add-on ${name}.`)
}

/** Adds what the request asks for, and says which of it is left to other requests. */
export const addComponents = async (
  hub: Hub,
  spoke: string,
  { gitOpsEngine, omitted }: SpokeComponents,
  step: TaskStep,
): Outcome<Failure, string> => {
  const names = omitted.map((name) => `components.${name}`).join(', ')
  if (names !== '')
    step.say(`An import does not act on ${names}. Features are installed on the cluster set, by install-featureset.`, {
      level: 'warning',
    })
  return gitOpsEngine ? addGitOpsEngine(hub, spoke, step) : right('No add-on was asked for.')
}

export const importSpokeKind = 'spokes.import'

/** A cluster to import into a hub. */
export interface SpokeImport {
  readonly grant: AccessGrant
  /** A DNS-1123 label: the name of the record and of the ManagedCluster. */
  readonly name: string
  readonly displayName: string
  readonly provider: HostingProvider | undefined
  /** Without one, the cluster asks to join by the command of `spoke-command`. */
  readonly accessConfig: string | undefined
  readonly externalId: string
  readonly project: string
  readonly location: string
  readonly infraNamespace: string
  readonly impersonatesUsers: boolean
  /** From the body; if given, they must be those of the account, the hub and the cluster. */
  readonly claimedOwnerId: number | undefined
  readonly claimedHubUid: string | undefined
  readonly claimedUid: string | undefined
  /** The cluster joins the set `cp-<profile>`. */
  readonly clusterProfile: string | undefined
  readonly components: SpokeComponents
  readonly responseId: string | undefined
}

/** What the task needs to know; stored in its input. The credential is in the record. */
export interface SpokeTaskInput {
  readonly name: string
  readonly claimedUid: string | undefined
  readonly clusterProfile: string | undefined
  /** Absent in tasks of an earlier version. */
  readonly components?: SpokeComponents
  /** Whether the agents are installed by the task, with the credential of the record. */
  readonly installsAgents: boolean
}

type Opening = ReturnType<MemberClusters['open']> extends Outcome<infer F, unknown> ? F : never
export type ImportSpokeFailure =
  | Opening
  | HubReadFailure
  | SubmitFailure
  | Failure<
      | 'AccessConfigRefused'
      | 'AddressRefused'
      | 'ClusterAlreadyImported'
      | 'ClusterChanged'
      | 'ClusterMismatch'
      | 'ClusterNameTaken'
      | 'SpokeRefused'
    >

/** A hub, opened as the caller. */
export interface OpenedHub {
  readonly hub: Hub
  readonly cluster: MemberCluster
  /** The cluster of that name on the hub. */
  readonly managed: HubObject | undefined
}

/** Opens the hub of a request, and reads the cluster of a name on it. */
export const openHub = async (
  deps: { readonly hubs: Hubs; readonly memberClusters: MemberClusters },
  call: SignedInCall<never>,
  grant: AccessGrant,
  name: string,
): Outcome<Opening | HubReadFailure | Failure<'SpokeRefused'>, OpenedHub> => {
  const [hub, cluster] = await Promise.all([deps.hubs.open(call, grant), deps.memberClusters.open(call, grant)])
  if (isLeft(hub)) return hub
  if (isLeft(cluster)) return cluster
  const managed = await hub.right.get(managedClusterKind, { name })
  if (isLeft(managed)) return managed
  if (managed.right?.isDeleting === true)
    return left(SpokeRefused(`The cluster ${name} is being removed from the hub. Try again when it is gone.`))
  return right({ hub: hub.right, cluster: cluster.right, managed: managed.right })
}

/**
 * What a request asks for beside the membership in the hub. One that asks for more or less than an unfinished task does
 * not join it.
 */
const extentOf = ({ clusterProfile, components, installsAgents }: SpokeTaskInput): string =>
  [
    ...(installsAgents ? [] : [', by the command of spoke-command']),
    ...(clusterProfile === undefined ? [] : [`, in the set ${distribution.profileSetPrefix}${clusterProfile}`]),
    ...(components?.gitOpsEngine === true ? [', with the GitOps engine'] : []),
  ].join('')

/** Prepares the task that imports a spoke. */
export const prepareSpokeTask = (
  { clusterTasks }: { readonly clusterTasks: Pick<ClusterTasks, 'prepare'> },
  call: SignedInCall<never>,
  { cluster }: Pick<OpenedHub, 'cluster'>,
  {
    verb,
    input,
    responseId,
  }: { readonly verb: 'Import' | 'Convert'; readonly input: SpokeTaskInput; readonly responseId: string | undefined },
): Promise<PreparedTask> =>
  clusterTasks.prepare(call, cluster, {
    kind: importSpokeKind,
    title: `${verb} cluster ${input.name} as a spoke of hub ${cluster.name}${extentOf(input)}`,
    about: { managedCluster: input.name },
    lock: `spoke/${input.name}`,
    joinsSameKind: true,
    right: { type: 'hub', relation: 'can_import_spokes' },
    input: {
      ...definedFields({ claimedUid: input.claimedUid, clusterProfile: input.clusterProfile }),
      name: input.name,
      installsAgents: input.installsAgents,
      components: { ...input.components },
    },
    responseId,
  })

/** Checks that what the body repeats is true. */
export const checkClaims = (
  { ownerId, uid }: Pick<MemberCluster, 'ownerId' | 'uid'>,
  claims: Pick<SpokeImport, 'claimedOwnerId' | 'claimedHubUid' | 'clusterProfile'>,
): Either<Failure<'ClusterMismatch' | 'SpokeRefused'>, void> => {
  if (claims.claimedOwnerId !== undefined && claims.claimedOwnerId !== ownerId)
    return left(ClusterMismatch('basicInfo.ownerID is not the account in the path.'))
  if (claims.claimedHubUid !== undefined && claims.claimedHubUid !== uid)
    return left(ClusterMismatch('basicInfo.hubClusterID is not the UID of the hub in the path.'))
  if (claims.clusterProfile !== undefined && !/^[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?$/.test(claims.clusterProfile))
    return left(
      SpokeRefused(
        'components.clusterProfile must be 1 to 60 lower-case letters, digits and hyphens, beginning and ' +
          'ending with a letter or digit.',
      ),
    )
  return right(undefined)
}

interface Deps {
  readonly addresses: ClusterAddresses
  readonly clock: Clock
  readonly clusters: Pick<ClusterStore, 'find' | 'findByUid'>
  readonly clusterTasks: ClusterTasks
  readonly hubs: Hubs
  readonly memberClusters: MemberClusters
  readonly parser: KubeconfigParser
  readonly seal: CredentialSealer
  readonly unitOfWork: ClusterTaskUnitOfWork
}

const readCredential = (
  { parser, addresses }: Deps,
  text: string | undefined,
): Either<Failure<'AccessConfigRefused' | 'AddressRefused'>, ClusterCredential | undefined> => {
  if (text === undefined || text.trim() === '') return right(undefined)
  const credential = parser.parse(text)
  if (isLeft(credential)) return credential
  const allowed = addresses.check(credential.right)
  return isLeft(allowed) ? allowed : credential
}

/** Returns the record of an earlier, unfinished import of the same spoke; undefined if there is none. */
const findEarlier = async (
  { clusters }: Deps,
  { ownerId, uid }: MemberCluster,
  wanted: SpokeImport,
): Outcome<Failure<'ClusterNameTaken' | 'ClusterAlreadyImported' | 'ClusterMismatch'>, Cluster | undefined> => {
  const { name, claimedUid } = wanted
  const [sameName, sameUid] = await Promise.all([
    clusters.find(ownerId, name),
    claimedUid === undefined ? undefined : clusters.findByUid(ownerId, claimedUid),
  ])
  const isEarlier =
    sameName !== undefined &&
    (isUnfinishedImport(sameName, name) || (sameName.hubClusterUid === uid && sameName.managedClusterName === name))
  if (sameName !== undefined && !isEarlier)
    return left(
      ClusterNameTaken(
        `The cluster name ${name} is already in use. An imported cluster becomes a spoke by convert/spoke.`,
      ),
    )
  if (claimedUid !== undefined && sameName !== undefined && !['', claimedUid].includes(sameName.uid))
    return left(ClusterMismatch(`basicInfo.clusterUID is not the UID of the cluster that is recorded as ${name}.`))
  if (sameUid !== undefined && sameUid.name !== name)
    return left(
      ClusterAlreadyImported(
        `This cluster is already imported as ${sameUid.name}. It becomes a spoke by convert/spoke.`,
      ),
    )
  return right(sameName)
}

/** Returns the record of the cluster, as it is until the task has run. */
const recordOf = (
  deps: Pick<Deps, 'clock'>,
  call: SignedInCall,
  { cluster, hub }: OpenedHub,
  wanted: SpokeImport,
  credential: {
    readonly server: string | undefined
    readonly sealed: Awaited<ReturnType<CredentialSealer>> | undefined
  },
): NewCluster => ({
  ownerId: cluster.ownerId,
  name: wanted.name,
  displayName: wanted.displayName === '' ? wanted.name : wanted.displayName,
  // Known when the cluster was surveyed, or when the hub reports it: the body may name the cluster of another
  // account.
  uid: '',
  externalId: wanted.externalId,
  provider: wanted.provider ?? 'Generic',
  vendor: '',
  endpoint: credential.server ?? '',
  location: wanted.location,
  project: wanted.project,
  kubernetesVersion: '',
  nodeCount: 0,
  managers: [],
  hubClusterUid: cluster.uid,
  managedClusterName: wanted.name,
  infraNamespace: wanted.infraNamespace,
  status: {
    phase: 'Registered',
    reason: 'MissingComponent',
    message: `The import into the hub ${hub.name} has not finished.`,
  },
  impersonatesUsers: wanted.impersonatesUsers,
  createdAt: deps.clock.now(),
  checkedAt: undefined,
  importedBy: call.principal.userId,
  ref: credential.sealed?.ref ?? '',
  sealedCredential: credential.sealed?.box,
})

/**
 * Accepts the import of a cluster into a hub: the record and the task are written in one transaction. The same request
 * after a failure continues the import; while the import is unfinished it joins it. The cluster itself is not contacted
 * before the task runs.
 */
export const makeImportSpoke =
  (deps: Deps) =>
  async (call: SignedInCall, wanted: SpokeImport): Outcome<ImportSpokeFailure, void> => {
    const { name } = wanted
    const credential = readCredential(deps, wanted.accessConfig)
    if (isLeft(credential)) return credential
    const opened = await openHub(deps, call, wanted.grant, name)
    if (isLeft(opened)) return opened
    const { cluster, hub } = opened.right
    const claims = checkClaims(cluster, wanted)
    if (isLeft(claims)) return claims
    const earlier = await findEarlier(deps, cluster, wanted)
    if (isLeft(earlier)) return earlier
    const sealed = credential.right === undefined ? undefined : await deps.seal(cluster.ownerId, credential.right)
    const input: SpokeTaskInput = {
      name,
      claimedUid: wanted.claimedUid,
      clusterProfile: wanted.clusterProfile,
      components: wanted.components,
      installsAgents: sealed !== undefined || earlier.right?.hasCredential === true,
    }
    const task = await prepareSpokeTask(deps, call, opened.right, {
      verb: 'Import',
      input,
      responseId: wanted.responseId,
    })
    const record = recordOf(deps, call, opened.right, wanted, { server: credential.right?.server, sealed })
    const written = await deps.unitOfWork.run<ImportSpokeFailure, void>(call, async ({ clusters, tasks, audit }) => {
      const accepted = await task.acceptIn({ tasks, audit })
      if (isLeft(accepted)) return accepted
      const { isJoined, isRepetition } = accepted.right
      if (isRepetition && !isJoined) return right(undefined)
      // The unfinished task that the request joins continues with the new access config.
      const known = isJoined ? await clusters.find(cluster.ownerId, name) : earlier.right
      if (isJoined && (known === undefined || sealed === undefined)) return right(undefined)
      const saved: Either<ImportSpokeFailure, Cluster> =
        known === undefined
          ? await clusters.insert(record)
          : await clusters.change(known.id, known.version, {
              displayName: record.displayName,
              hubClusterUid: cluster.uid,
              managedClusterName: name,
              ...definedFields({ sealed, endpoint: credential.right?.server }),
            })
      if (isLeft(saved)) return saved
      await audit.record(
        lifeAuditOf(hub, 'cluster.spoke_import_requested', { spoke: name, withCredential: input.installsAgents }),
      )
      return right(undefined)
    })
    if (!isLeft(written)) task.announce()
    return written
  }
