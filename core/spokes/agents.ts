import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../authz/ports.ts'
import type { Hub, HubKind, HubObject, Hubs } from '../clusters/hubs/ports.ts'
import { namespaceKind } from '../clusters/hubs/ports.ts'
import type { Cluster } from '../clusters/types.ts'
import type { Pause } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { textAt } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { TaskRun, TaskStep } from '../tasks/ports.ts'
import { agentNamespace, appliedWorkKind, clusterRoleBindingKind, deploymentKind, klusterletKind, operatorNamespace, serviceAccountKind } from './kinds.ts'
import { notYet, over, pollUntil } from './spoke-steps.ts'

/** On objects that an import has made on a spoke. */
export const managedByLabel = 'app.kubernetes.io/managed-by'
export const managedByValue = 'moorage'
export const operatorName = 'klusterlet'

/** How long the operator may take to remove its agents. */
const operatorPatienceMs = 2 * 60_000
const worksPatienceMs = 60_000

export const namespaceOfAgents = ({ body }: HubObject): string => textAt(body, 'spec', 'namespace') || agentNamespace
const clusterNameIn = ({ body }: HubObject): string => textAt(body, 'spec', 'clusterName')

/** Lists objects of the spoke. A kind that it does not serve has none. */
const listOn = async (spoke: Hub, kind: HubKind): Outcome<Failure, readonly HubObject[]> => {
  const listed = await spoke.list(kind)
  return isLeft(listed) && listed.left.tag === 'NotAHub' ? right([]) : listed
}

const removeIfThere = async (spoke: Hub, kind: HubKind, key: { readonly namespace?: string; readonly name: string }, isOurs: (object: HubObject) => boolean): Outcome<Failure, void> => {
  const found = await spoke.get(kind, key)
  if (isLeft(found)) return found
  if (found.right === undefined || found.right.isDeleting || !isOurs(found.right)) return right(undefined)
  const removed = await spoke.remove(kind, found.right)
  return isLeft(removed) ? removed : right(undefined)
}

const isMadeByUs = ({ body }: HubObject): boolean => textAt(body, 'metadata', 'labels', managedByLabel) === managedByValue

interface Deps {
  readonly authorizer: Authorizer
  readonly hubs: Hubs
  readonly pause: Pause
}

/** Opens a spoke with the credential of its record, if the caller may connect to it. */
export const openOwnSpoke = async (deps: Omit<Deps, 'pause'>, call: SignedInCall<never>, record: Cluster, relation = 'can_connect'): Promise<Hub | undefined> => {
  const grant = await deps.authorizer.authorize(call.principal, { type: 'cluster', account: record.ownerName, name: record.name }, relation)
  if (isLeft(grant) || grant.right.objectId !== record.id) return undefined
  const spoke = await deps.hubs.openSpoke(call, grant.right)
  return isLeft(spoke) ? undefined : spoke.right
}

/**
 * Removes the agents of one hub from a cluster: the Klusterlet, which its operator ends, the namespace of the agents with their
 * credentials of the hub, and the operator if an import has installed it. Agents of other hubs stay.
 */
export const makeRemoveAgents = (deps: Deps) => {
  const removeKlusterlet = async (run: TaskRun, spoke: Hub, klusterlet: HubObject, step: TaskStep): Outcome<Failure, void> => {
    const cleared = await pollUntil(deps, run, worksPatienceMs, async () => {
      const applied = await listOn(spoke, appliedWorkKind)
      if (isLeft(applied)) return applied
      const left = applied.right.filter(({ body }) => textAt(body, 'spec', 'agentID') === klusterlet.uid).length
      return right(left === 0 ? over(undefined) : notYet(`The agent has not removed what ${left} works applied. It stays on the cluster.`))
    })
    if (isLeft(cleared)) step.say(cleared.left.message, { level: 'warning' })
    const removed = klusterlet.isDeleting ? right(true) : await spoke.remove(klusterletKind, klusterlet)
    if (isLeft(removed)) return removed
    const gone = await pollUntil(deps, run, operatorPatienceMs, async () => {
      const found = await spoke.get(klusterletKind, { name: klusterlet.name })
      if (isLeft(found)) return found
      return right(found.right?.uid === klusterlet.uid ? notYet('The operator of the agents does not remove the Klusterlet: it is not running on the cluster.') : over(undefined))
    })
    if (isLeft(gone)) return gone
    return removeIfThere(spoke, namespaceKind, { name: namespaceOfAgents(klusterlet) }, () => true)
  }

  const removeOperator = async (spoke: Hub): Outcome<Failure, void> => {
    const namespace = operatorNamespace
    for (const [kind, key] of [
      [deploymentKind, { namespace, name: operatorName }],
      [clusterRoleBindingKind, { name: operatorName }],
      [serviceAccountKind, { namespace, name: operatorName }],
    ] as const) {
      const removed = await removeIfThere(spoke, kind, key, isMadeByUs)
      if (isLeft(removed)) return removed
    }
    return right(undefined)
  }

  return async (run: TaskRun, call: SignedInCall, record: Cluster | undefined, managedClusterName: string, step: TaskStep): Outcome<Failure, string> => {
    const byHand = 'Its agents stay there until the Klusterlet is deleted on it.'
    const spoke = record?.hasCredential === true ? await openOwnSpoke(deps, call, record) : undefined
    if (spoke === undefined) {
      step.say(`The account has no credential of the cluster. ${byHand}`, { level: 'warning' })
      return right('The cluster was not contacted.')
    }
    const klusterlets = await listOn(spoke, klusterletKind)
    if (isLeft(klusterlets)) {
      step.say(`${klusterlets.left.message} ${byHand}`, { level: 'warning' })
      return right('The cluster does not respond.')
    }
    const ours = klusterlets.right.filter((each) => clusterNameIn(each) === managedClusterName)
    for (const klusterlet of ours) {
      const removed = await removeKlusterlet(run, spoke, klusterlet, step)
      if (isLeft(removed)) return removed
    }
    if (ours.length < klusterlets.right.length) return right('The agents are removed. The operator stays for those of other hubs.')
    const removed = await removeOperator(spoke)
    return isLeft(removed) ? removed : right('The agents are removed.')
  }
}
