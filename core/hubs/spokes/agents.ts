import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Authorizer } from '../../authz/ports.ts'
import {
  agentNamespace,
  bootstrapSecret,
  clusterClaimKind,
  clusterRoleKind,
  configMapKind,
  distribution,
  isMadeByUs,
  klusterletKind,
  managedByLabel,
  managedByValue,
  operatorNamespace,
  secretKind,
  serviceAccountKind,
  uidClaim,
  workRoleName,
} from '../../clusters/hub-types.ts'
import type { Hub, HubKey, HubKind, HubObject, Hubs } from '../../clusters/hubs/ports.ts'
import { namespaceKind } from '../../clusters/hubs/ports.ts'
import type { Cluster } from '../../clusters/types.ts'
import type { Pause } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import { textAt } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { TaskRun, TaskStep } from '../../tasks/ports.ts'
import type { AgentImages } from './ports.ts'
import { importAnnotation } from './import-state.ts'
import type { BootstrapAccess } from './join-command.ts'
import { kubeconfigOf } from './join-command.ts'
import { appliedWorkKind, clusterRoleBindingKind, definitionKind, deploymentKind } from './ports.ts'
import { notYet, over } from '../../kernel/concurrency.ts'
import { pollUntil, sentences, SpokeStuck } from './spoke-steps.ts'

const operatorName = 'klusterlet'
const klusterletDefinitionName = 'klusterlets.operator.open-cluster-management.io'

/** How long the operator may take to remove its agents. */
const operatorPatienceMs = 2 * 60_000
const worksPatienceMs = 60_000

const namespaceOfAgents = ({ body }: HubObject): string => textAt(body, 'spec', 'namespace') || agentNamespace
const clusterNameIn = ({ body }: HubObject): string => textAt(body, 'spec', 'clusterName')

/** Lists objects of the spoke. A kind that it does not serve has none. */
const listOn = async (spoke: Hub, kind: HubKind): Outcome<Failure, readonly HubObject[]> => {
  const listed = await spoke.list(kind)
  return isLeft(listed) && listed.left.tag === 'NotAHub' ? right([]) : listed
}

const removeIfThere = async (
  spoke: Hub,
  kind: HubKind,
  key: { readonly namespace?: string; readonly name: string },
  isOurs: (object: HubObject) => boolean,
): Outcome<Failure, void> => {
  const found = await spoke.get(kind, key)
  if (isLeft(found)) return found
  if (found.right === undefined || found.right.isDeleting || !isOurs(found.right)) return right(undefined)
  const removed = await spoke.remove(kind, found.right)
  return isLeft(removed) ? removed : right(undefined)
}

interface Deps {
  readonly authorizer: Authorizer
  readonly hubs: Hubs
  readonly pause: Pause
}

/** Opens a spoke with the credential of its record, if the caller may connect to it. */
export const openOwnSpoke = async (
  deps: Omit<Deps, 'pause'>,
  call: SignedInCall<never>,
  record: Cluster,
  relation = 'can_connect',
): Promise<Hub | undefined> => {
  const grant = await deps.authorizer.authorize(
    call.principal,
    { type: 'cluster', account: record.ownerName, name: record.name },
    relation,
  )
  if (isLeft(grant) || grant.right.objectId !== record.id) return undefined
  const spoke = await deps.hubs.openSpoke(call, grant.right)
  return isLeft(spoke) ? undefined : spoke.right
}

/**
 * Removes the operator of the agents, if an import has installed it, and the rights of the work agent for feature sets.
 */
const removeOperator = async (spoke: Hub): Outcome<Failure, void> => {
  const namespace = operatorNamespace
  for (const [kind, key] of [
    [deploymentKind, { namespace, name: operatorName }],
    [clusterRoleBindingKind, { name: operatorName }],
    [clusterRoleKind, { name: workRoleName }],
    [serviceAccountKind, { namespace, name: operatorName }],
  ] as const) {
    const removed = await removeIfThere(spoke, kind, key, isMadeByUs)
    if (isLeft(removed)) return removed
  }
  return right(undefined)
}

/** The objects of other programs in a namespace, as far as their kinds say that something is used there. */
const kindsInUse = [deploymentKind, serviceAccountKind, configMapKind, secretKind]
/** What the control plane writes into every namespace. */
const ofEveryNamespace = ['default', 'kube-root-ca.crt']

/** Removes the namespace of the operator, if an import has made it and nothing else is in it. Returns why it stays. */
const removeOperatorNamespace = async (spoke: Hub): Outcome<Failure, string> => {
  const key = { name: operatorNamespace }
  const found = await spoke.get(namespaceKind, key)
  if (isLeft(found)) return found
  if (found.right === undefined || found.right.isDeleting) return right('')
  if (!isMadeByUs(found.right)) return right(`The namespace ${operatorNamespace} stays: no import has made it.`)
  for (const kind of kindsInUse) {
    const listed = await spoke.list(kind, { namespace: operatorNamespace, isMetadataOnly: true })
    if (isLeft(listed)) return listed
    const other = listed.right.find(({ name, isDeleting }) => !isDeleting && !ofEveryNamespace.includes(name))
    if (other !== undefined)
      return right(`The namespace ${operatorNamespace} stays: it has the ${kind.kind} ${other.name}.`)
  }
  const removed = await spoke.remove(namespaceKind, found.right)
  return isLeft(removed) ? removed : right('')
}

/**
 * Removes what only a spoke needs, after its last Klusterlet: the claims, the definition of Klusterlets and the
 * namespace of the operator, each if this service has made it. Returns what stays, for people.
 */
const removeRemains = async (spoke: Hub): Outcome<Failure, string> => {
  const stays: string[] = []
  for (const [kind, name] of [
    [clusterClaimKind, uidClaim],
    [clusterClaimKind, distribution.infoClaim],
    [clusterClaimKind, distribution.featuresClaim],
    [definitionKind, klusterletDefinitionName],
  ] as const) {
    const found = await spoke.get(kind, { name })
    if (isLeft(found) && found.left.tag === 'NotAHub') continue
    if (isLeft(found)) return found
    if (found.right === undefined || found.right.isDeleting) continue
    if (!isMadeByUs(found.right)) {
      stays.push(`${kind.kind} ${name}`)
      continue
    }
    const removed = await spoke.remove(kind, found.right)
    if (isLeft(removed)) return removed
  }
  const namespace = await removeOperatorNamespace(spoke)
  if (isLeft(namespace)) return namespace
  const others = stays.length === 0 ? '' : `No import has made these, which stay: ${stays.join(', ')}.`
  return right(sentences(others, namespace.right))
}

/**
 * Removes what a failed import has installed, unless the cluster has a Klusterlet. Returns what remains, for people.
 */
export const takeBackAgents = async (spoke: Hub): Promise<string> => {
  const klusterlets = await listOn(spoke, klusterletKind)
  if (!isLeft(klusterlets) && klusterlets.right.length > 0) return ''
  const removed = isLeft(klusterlets) ? klusterlets : await removeOperator(spoke)
  const credential = await removeIfThere(
    spoke,
    secretKind,
    { namespace: agentNamespace, name: bootstrapSecret },
    isMadeByUs,
  )
  const failure = isLeft(removed) ? removed : credential
  return isLeft(failure) ? `Parts of the agents remain on the cluster: ${failure.left.message}` : ''
}

/**
 * Removes the agents of one hub from a cluster: the Klusterlet, which its operator ends, the namespace of the agents
 * with their credentials of the hub, and what an import has brought for them. Agents of other hubs stay.
 */
export const makeRemoveAgents = (deps: Deps) => {
  const removeKlusterlet = async (
    run: TaskRun,
    spoke: Hub,
    klusterlet: HubObject,
    step: TaskStep,
  ): Outcome<Failure, void> => {
    const cleared = await pollUntil(deps, run, worksPatienceMs, async () => {
      const applied = await listOn(spoke, appliedWorkKind)
      if (isLeft(applied)) return applied
      const left = applied.right.filter(({ body }) => textAt(body, 'spec', 'agentID') === klusterlet.uid).length
      return right(
        left === 0
          ? over(undefined)
          : notYet(`The agent has not removed what ${left} works applied. It stays on the cluster.`),
      )
    })
    if (isLeft(cleared)) step.say(cleared.left.message, { level: 'warning' })
    const removed = klusterlet.isDeleting ? right(true) : await spoke.remove(klusterletKind, klusterlet)
    if (isLeft(removed)) return removed
    const gone = await pollUntil(deps, run, operatorPatienceMs, async () => {
      const found = await spoke.get(klusterletKind, { name: klusterlet.name })
      if (isLeft(found)) return found
      return right(
        found.right?.uid === klusterlet.uid
          ? notYet('The operator of the agents does not remove the Klusterlet: it is not running on the cluster.')
          : over(undefined),
      )
    })
    if (isLeft(gone)) return gone
    return removeIfThere(spoke, namespaceKind, { name: namespaceOfAgents(klusterlet) }, () => true)
  }

  return async (
    run: TaskRun,
    call: SignedInCall,
    record: Cluster | undefined,
    managedClusterName: string,
    step: TaskStep,
  ): Outcome<Failure, string> => {
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
    if (ours.length < klusterlets.right.length)
      return right('The agents are removed. The operator stays for those of other hubs.')
    const removed = await removeOperator(spoke)
    if (isLeft(removed)) return removed
    const remains = await removeRemains(spoke)
    return isLeft(remains) ? remains : right(sentences('The agents are removed.', remains.right))
  }
}

/** Fails if the cluster has the agents of another ManagedCluster: their credential must not be replaced. */
export const checkNoOtherAgents = async (spoke: Hub, managedClusterName: string): Outcome<Failure, void> => {
  const klusterlets = await listOn(spoke, klusterletKind)
  if (isLeft(klusterlets)) return klusterlets
  const known = klusterlets.right.find(({ name }) => name === operatorName)
  if (known?.isDeleting === true)
    return left(SpokeStuck('The agents of the cluster are being removed. Try again when they are gone.'))
  return known === undefined || clusterNameIn(known) === managedClusterName
    ? right(undefined)
    : left(
        SpokeStuck(
          `The cluster is a spoke already, under the name ${clusterNameIn(known)}. Remove it from its hub first.`,
        ),
      )
}

/** Everything that the operator of the agents needs, and the credential with which they ask to join. */
export interface AgentInstallation {
  readonly managedClusterName: string
  /** The addresses of the spoke for the hub. */
  readonly serverUrls: readonly string[]
  /** Of the import: a repetition of its work keeps the credential that it has made. */
  readonly importRef: string
  /** Makes a new credential with which the agents ask to join. */
  readonly makeAccess: () => Outcome<Failure, BootstrapAccess>
}

const ours = { labels: { [managedByLabel]: managedByValue } }

/** The definition of Klusterlets, as far as this service uses it. The operator does not bring one. */
const klusterletDefinition = {
  metadata: ours,
  spec: {
    group: 'operator.open-cluster-management.io',
    names: { kind: 'Klusterlet', listKind: 'KlusterletList', plural: 'klusterlets', singular: 'klusterlet' },
    scope: 'Cluster',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
}

const operatorDeployment = (image: string): FreeObject => ({
  metadata: ours,
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: operatorName } },
    template: {
      metadata: { labels: { app: operatorName } },
      spec: {
        serviceAccountName: operatorName,
        containers: [
          {
            name: operatorName,
            image,
            args: ['/registration-operator', 'klusterlet'],
            env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
            resources: { requests: { cpu: '2m', memory: '16Mi' } },
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, runAsNonRoot: true },
          },
        ],
      },
    },
  },
})

/** The operator creates roles for the agents, so it must hold every right that a work may need. */
const operatorRights = {
  metadata: ours,
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'ServiceAccount', name: operatorName, namespace: operatorNamespace }],
}

const klusterletOf = (
  { registry, version }: AgentImages,
  { managedClusterName, serverUrls }: AgentInstallation,
): FreeObject => ({
  metadata: ours,
  spec: {
    clusterName: managedClusterName,
    namespace: agentNamespace,
    deployOption: { mode: 'Singleton' },
    externalServerURLs: serverUrls.map((url) => ({ url })),
    ...(version === undefined
      ? {}
      : {
          registrationImagePullSpec: `${registry}/registration:${version}`,
          workImagePullSpec: `${registry}/work:${version}`,
          imagePullSpec: `${registry}/registration-operator:${version}`,
        }),
  },
})

const servedPatienceMs = 30_000

/**
 * Installs the agents on a cluster: namespaces, the bootstrap credential, the operator if there is none, and the
 * Klusterlet. Objects that exist stay as they are, except for the credential, which another import than the last
 * replaces.
 */
export const makeInstallAgents = (deps: { readonly pause: Pause; readonly images: AgentImages }) => {
  const { images } = deps
  const create = async (spoke: Hub, kind: HubKind, key: HubKey, content: FreeObject): Outcome<Failure, void> => {
    const made = await spoke.create(kind, key, content)
    if (isLeft(made)) return made
    return made.right === 'unplaced'
      ? left(
          SpokeStuck(
            `The namespace ${key.namespace ?? ''} of the cluster is being deleted. Try again when it is gone.`,
          ),
        )
      : right(undefined)
  }

  // The agents start over when the credential changes. Another import makes a new one, as the last may have expired.
  const storeCredential = async (spoke: Hub, { importRef, makeAccess }: AgentInstallation): Outcome<Failure, void> => {
    const key = { namespace: agentNamespace, name: bootstrapSecret }
    const known = await spoke.get(secretKind, key)
    if (isLeft(known)) return known
    if (textAt(known.right?.body, 'metadata', 'annotations', importAnnotation) === importRef) return right(undefined)
    const access = await makeAccess()
    if (isLeft(access)) return access
    const content = {
      metadata: { ...ours, annotations: { [importAnnotation]: importRef } },
      data: { kubeconfig: btoa(kubeconfigOf(access.right)) },
    }
    const made = await spoke.create(secretKind, key, { ...content, type: 'Opaque' })
    if (isLeft(made)) return made
    if (made.right === 'unplaced')
      return left(
        SpokeStuck(`The namespace ${agentNamespace} of the cluster is being deleted. Try again when it is gone.`),
      )
    const replaced =
      made.right === 'created' ? right('changed') : await spoke.edit(secretKind, key, () => right({ merge: content }))
    return isLeft(replaced) ? replaced : right(undefined)
  }

  const installOperator = async (spoke: Hub): Outcome<Failure, void> => {
    if (images.version === undefined) return right(undefined)
    const namespace = operatorNamespace
    const existing = await spoke.get(deploymentKind, { namespace, name: operatorName })
    if (isLeft(existing) || existing.right !== undefined) return isLeft(existing) ? existing : right(undefined)
    for (const [kind, key, content] of [
      [serviceAccountKind, { namespace, name: operatorName }, { metadata: ours }],
      [clusterRoleBindingKind, { name: operatorName }, operatorRights],
      [
        deploymentKind,
        { namespace, name: operatorName },
        operatorDeployment(`${images.registry}/registration-operator:${images.version}`),
      ],
    ] as const) {
      const made = await create(spoke, kind, key, content)
      if (isLeft(made)) return made
    }
    return right(undefined)
  }

  return async (run: Pick<TaskRun, 'signal'>, spoke: Hub, installation: AgentInstallation): Outcome<Failure, void> => {
    const free = await checkNoOtherAgents(spoke, installation.managedClusterName)
    if (isLeft(free)) return free
    for (const name of [operatorNamespace, agentNamespace]) {
      const made = await create(spoke, namespaceKind, { name }, { metadata: ours })
      if (isLeft(made)) return made
    }
    const defined = await create(spoke, definitionKind, { name: klusterletDefinitionName }, klusterletDefinition)
    if (isLeft(defined)) return defined
    const stored = await storeCredential(spoke, installation)
    if (isLeft(stored)) return stored
    const installed = await installOperator(spoke)
    if (isLeft(installed)) return installed
    const served = await pollUntil<undefined>(deps, run, servedPatienceMs, async () => {
      const known = await spoke.list(klusterletKind)
      return isLeft(known) ? known : right(over(undefined))
    })
    if (isLeft(served)) return served
    const made = await create(spoke, klusterletKind, { name: operatorName }, klusterletOf(images, installation))
    return isLeft(made) ? made : checkNoOtherAgents(spoke, installation.managedClusterName)
  }
}
