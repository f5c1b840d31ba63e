import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterInfoReader, HubChangeFailure, Hubs } from '../clusters/hubs/ports.ts'
import { managedClusterKind } from '../clusters/hubs/ports.ts'
import type { ClusterConnections, ClusterStore } from '../clusters/ports.ts'
import { ClusterMissing } from '../clusters/ports.ts'
import type { Cluster } from '../clusters/types.ts'
import type { AccessGrant } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { definedFields } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import { auditOf } from './audit.ts'
import type { BootstrapAccess, BootstrapMissing } from './bootstrap-access.ts'
import { bootstrapAccess } from './bootstrap-access.ts'

/** The request contradicts the hub in the path, or the cluster is being removed from the hub. */
export const JoinCommandRefused = defineFailure('JoinCommandRefused', 'Unprocessable')

/** The program that joins the cluster. */
export const installers = ['clusteradm', 'helm'] as const
export type Installer = (typeof installers)[number]

/** A cluster as a request states it; undefined fields are not stated. */
export interface StatedCluster {
  readonly name: string | undefined
  readonly uid: string | undefined
  readonly ownerId: number | undefined
}

export interface JoinCommandInput {
  readonly grant: AccessGrant
  /** The name under which the hub is to manage the cluster: a DNS-1123 label. */
  readonly clusterName: string
  readonly installer: Installer
  /** Must be the hub of the grant, as far as it is stated. */
  readonly hub: StatedCluster
  /** The cluster that hosts a virtual cluster. */
  readonly host: StatedCluster
}

/** What a join command consists of. */
export interface JoinFacts extends BootstrapAccess {
  readonly clusterName: string
  /** Annotations of the ManagedCluster. */
  readonly annotations: Readonly<Record<string, string>>
}

const plainWord = /^[\w/:=.,@%+-]+$/

/** Returns a text as one word of a POSIX shell. */
export const shellWord = (text: string): string => (plainWord.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`)

/** Returns a command whose standard input is a text. No line of the text may be the end mark. */
const withInput = (words: readonly string[], input: string): string => `${words.map(shellWord).join(' ')} <<'END_OF_INPUT'\n${input}\nEND_OF_INPUT\n`

/** Agents copy only annotations with this prefix to the hub. */
const annotationPrefix = 'agent.open-cluster-management.io/'

const clusteradmCommand = ({ clusterName, token, address: { server, authorityPem }, annotations }: JoinFacts): string => {
  const joining = ['clusteradm', 'join', '--hub-token', token.reveal(), '--hub-apiserver', server, '--cluster-name', clusterName]
  const words = [...joining, ...Object.entries(annotations).flatMap(([key, value]) => ['--klusterlet-annotation', `${annotationPrefix}${key}=${value}`])]
  // Without it clusteradm would send the token to a server whose certificate it did not verify.
  return authorityPem === undefined ? words.map(shellWord).join(' ') : withInput([...words, '--ca-file', '/dev/stdin'], authorityPem)
}

/** Returns the kubeconfig with which the agents of a spoke ask to join the hub. */
export const kubeconfigOf = ({ token, address: { server, authorityPem } }: BootstrapAccess): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'hub', cluster: { server, ...definedFields({ 'certificate-authority-data': authorityPem === undefined ? undefined : btoa(authorityPem) }) } }],
    users: [{ name: 'bootstrap', user: { token: token.reveal() } }],
    contexts: [{ name: 'bootstrap', context: { cluster: 'hub', user: 'bootstrap', namespace: 'default' } }],
    'current-context': 'bootstrap',
  })

/** The chart of Open Cluster Management that installs the agents. */
const chart = ['klusterlet', '--repo', 'https://open-cluster-management.io/helm-charts', '--namespace', 'open-cluster-management', '--create-namespace']

const helmCommand = (facts: JoinFacts): string => {
  const clusterAnnotations = Object.fromEntries(Object.entries(facts.annotations).map(([key, value]) => [`${annotationPrefix}${key}`, value]))
  const registrationConfiguration = Object.keys(clusterAnnotations).length === 0 ? undefined : { clusterAnnotations }
  const values = { klusterlet: { clusterName: facts.clusterName, ...definedFields({ registrationConfiguration }) }, bootstrapHubKubeConfig: kubeconfigOf(facts) }
  // JSON is YAML, on one line.
  return withInput(['helm', 'upgrade', '--install', 'klusterlet', ...chart, '--values', '-'], JSON.stringify(values))
}

/** Returns the command for a POSIX shell with the cluster as the current context of kubectl. */
export const joinCommand = (installer: Installer, facts: JoinFacts): Secret => secret(installer === 'helm' ? helmCommand(facts) : clusteradmCommand(facts))

const mismatchOf = ({ name, uid, ownerId }: StatedCluster, hub: Cluster): string | undefined => {
  if (name !== undefined && name !== hub.name) return 'hubClusterName is not the name of the hub in the path.'
  if (uid !== undefined && uid !== hub.uid) return 'hubClusterUID is not the UID of the hub in the path.'
  return ownerId !== undefined && ownerId !== hub.ownerId ? 'hubClusterOwnerID is not the owner of the hub in the path.' : undefined
}

const annotationsOf = ({ name, uid, ownerId }: StatedCluster): Readonly<Record<string, string>> =>
  definedFields({ 'host-cluster-name': name, 'host-cluster-uid': uid, 'host-cluster-owner-id': ownerId === undefined ? undefined : String(ownerId) })

type JoinCommandFailure = HubChangeFailure | ReturnType<typeof BootstrapMissing> | Failure<'JoinCommandRefused'>

/**
 * Returns the command with which a cluster asks to join a hub. It contains a new token that is valid for one hour; the audit log has
 * who got a command for which name.
 */
export const makeGetJoinCommand = (deps: {
  readonly hubs: Hubs
  readonly clusters: Pick<ClusterStore, 'get'>
  readonly connections: ClusterConnections
  readonly clusterInfo: ClusterInfoReader
  readonly unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>
}) =>
  async (call: SignedInCall<Secret>, { grant, clusterName, installer, hub: stated, host }: JoinCommandInput): Outcome<JoinCommandFailure, Secret> => {
    const opened = await deps.hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const record = await deps.clusters.get(hub.id)
    if (record === undefined) return left(ClusterMissing('The cluster does not exist.'))
    const mismatch = mismatchOf(stated, record)
    if (mismatch !== undefined) return left(JoinCommandRefused(mismatch))
    const known = await hub.get(managedClusterKind, { name: clusterName })
    if (isLeft(known)) return known
    if (known.right?.isDeleting === true) return left(JoinCommandRefused(`The cluster ${clusterName} is being removed from the hub.`))
    const access = await bootstrapAccess(deps, hub)
    if (isLeft(access)) return access
    const command = joinCommand(installer, { ...access.right, clusterName, annotations: annotationsOf(host) })
    return deps.unitOfWork.run<never, Secret>(call, async ({ audit }) => {
      await audit.record(auditOf(hub, 'cluster.spoke_command_issued', { spoke: clusterName, installer }))
      return right(command)
    })
  }
