import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import { definedFields, listAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { PreparedTask, SubmitFailure, TaskEnd, TaskHandler, TaskRun, Tasks } from '../tasks/ports.ts'
import type { ReadSetOfSpoke } from './hubs/hub-of-spoke.ts'
import type { SpokeHubs } from './hubs/ports.ts'
import type { ClusterStore, ClusterUnitOfWork } from './ports.ts'
import { ClusterMissing } from './ports.ts'
import type { Cluster } from './types.ts'

/** Returns the audit row of an action on a cluster. */
export const auditOf = defineAudit(
  'cluster',
  ['cluster.imported', 'cluster.changed', 'cluster.connected', 'cluster.linked', 'cluster.removed'],
  ({ id, name, ownerId }: Pick<Cluster, 'id' | 'name' | 'ownerId'>) => ({
    objectId: id,
    objectName: name,
    tenantId: ownerId,
  }),
)

/** The record that a task is about, as stored in its input. */
export interface TaskRecord {
  readonly ownerId: Cluster['ownerId']
  readonly owner: string
  readonly name: string
}

const verbs = { import: 'Import', reconfigure: 'Reconfigure', remove: 'Remove' } as const
type Verb = keyof typeof verbs

const kindOf = (verb: Verb): string => `clusters.${verb}`

/**
 * Prepares the task that reports the rest of a change to a record. It takes no lock: it never conflicts with later
 * requests.
 */
export const prepareRecordTask = (
  { tasks }: { readonly tasks: Pick<Tasks, 'prepare'> },
  call: SignedInCall<never>,
  { ownerId, owner, name }: TaskRecord,
  {
    verb,
    input = {},
    responseId,
  }: { readonly verb: Verb; readonly input?: FreeObject; readonly responseId: string | undefined },
): Promise<PreparedTask> =>
  tasks.prepare(call, {
    kind: kindOf(verb),
    title: `${verbs[verb]} cluster ${name}`,
    tenantId: ownerId,
    about: { cluster: name, owner },
    input: { record: { owner, name }, ...input },
    responseId,
  })

/** Failures of submitting the task of a change to a record. */
export type RecordTaskFailure = SubmitFailure

const recordIn = ({ input }: Pick<TaskRun, 'input'>): Pick<TaskRecord, 'owner' | 'name'> =>
  input.record as unknown as TaskRecord

interface Deps {
  readonly authorizer: Authorizer
  readonly clusters: Pick<ClusterStore, 'get' | 'observeSet'>
  readonly readSetOfSpoke: ReadSetOfSpoke
  readonly unitOfWork: ClusterUnitOfWork
  readonly spokeHubs: SpokeHubs
}

/** Returns the record of a task, if its actor may still see it. */
const openRecord = async (
  { authorizer, clusters }: Deps,
  run: TaskRun,
): Outcome<Failure, { readonly call: SignedInCall; readonly cluster: Cluster }> => {
  const call = await run.callNow()
  if (isLeft(call)) return call
  const { owner, name } = recordIn(run)
  const grant = await authorizer.authorize(call.right.principal, { type: 'cluster', account: owner, name }, 'can_view')
  if (isLeft(grant)) return grant
  const cluster = await clusters.get(grant.right.objectId as Cluster['id'])
  return cluster === undefined ? left(ClusterMissing('The cluster was removed.')) : right({ call: call.right, cluster })
}

/** Looks for the hub of a spoke among the hubs of the account, and records it. */
const linkToHub = async (deps: Deps, run: TaskRun, call: SignedInCall, cluster: Cluster): Promise<Cluster> => {
  const step = run.progress.step('Find the hub of the spoke')
  const found = await deps.spokeHubs.find(call, cluster)
  if (found === undefined) {
    step.done('No hub of this account manages the cluster.')
    return cluster
  }
  const { hub, managedClusterName } = found
  const linked =
    cluster.hubClusterUid === hub.uid && cluster.managedClusterName === managedClusterName
      ? right(cluster)
      : await deps.unitOfWork.run<Failure<'ClusterChanged'>, Cluster>(call, async ({ clusters, audit }) => {
          const changed = await clusters.change(cluster.id, cluster.version, {
            hubClusterUid: hub.uid,
            managedClusterName,
          })
          if (!isLeft(changed))
            await audit.record(
              auditOf(cluster, 'cluster.linked', { hub: hub.name, managedCluster: managedClusterName }),
            )
          return changed
        })
  if (isLeft(linked)) {
    step.failed('The record was changed by another request.')
    return cluster
  }
  const clusterSet = await deps.readSetOfSpoke(call, linked.right)
  if (clusterSet !== undefined) await deps.clusters.observeSet(cluster.id, clusterSet)
  step.done(`The hub ${hub.name} manages it as ${managedClusterName}.`)
  return linked.right
}

const resultOf = (cluster: Cluster): FreeObject => ({
  cluster: cluster.name,
  owner: cluster.ownerName,
  uid: cluster.uid,
  phase: cluster.status.phase,
  clusterManagers: [...cluster.managers],
  ...definedFields({ hub: cluster.hubClusterName === '' ? undefined : cluster.hubClusterName }),
})

/**
 * Says which components were requested and are not installed, so that the end of the task is not taken for more than it
 * is.
 */
const reportComponents = ({ input, progress }: TaskRun): string => {
  const components = listAt(input, 'components').map(String).join(', ')
  if (components === '') return ''
  const message = `Not installed: ${components}.`
  progress
    .step('Install components')
    .failed(`${message} A hub of Open Cluster Management installs feature sets on its spokes.`)
  return ` ${message}`
}

/**
 * Reports a record that the request has written, and finds the hub of a spoke. Each step finds out itself whether it is
 * done.
 */
const recordTask = (verb: 'import' | 'reconfigure', deps: Deps, done: string): TaskHandler => ({
  kind: kindOf(verb),
  run: async (run): Promise<TaskEnd> => {
    const opened = await openRecord(deps, run)
    if (isLeft(opened))
      return { state: 'failed', message: `${run.task.title}: not completed.`, error: opened.left.message }
    const { call, cluster } = opened.right
    run.progress.step('Record the cluster').done(`${cluster.name} is recorded at ${cluster.endpoint}.`)
    if (run.signal.aborted)
      return { state: 'cancelled', message: `${cluster.name} ${done}. Its hub was not looked for.` }
    const missing = reportComponents(run)
    const settled = cluster.managers.includes('OCMSpoke') ? await linkToHub(deps, run, call, cluster) : cluster
    return { state: 'succeeded', message: `${cluster.name} ${done}.${missing}`, result: resultOf(settled) }
  },
  recover: 'run-again',
})

/** The kinds of tasks of changes to records. The record itself was written with the task, in one transaction. */
export const recordTaskKinds = (deps: Deps): readonly TaskHandler[] => [
  recordTask('import', deps, 'is imported'),
  recordTask('reconfigure', deps, 'is reconfigured'),
  {
    kind: kindOf('remove'),
    run: async (run): Promise<TaskEnd> => {
      const { owner, name } = recordIn(run)
      run.progress.step('Delete the record').done('The record, its credential, its grants and its tokens are deleted.')
      return { state: 'succeeded', message: `${name} is removed.`, result: { cluster: name, owner } }
    },
    recover: 'run-again',
  },
]
