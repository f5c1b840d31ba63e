import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type {
  ClusterInfoReader,
  Hub,
  HubAddress,
  HubChangeFailure,
  HubObject,
  HubReadFailure,
  Hubs,
} from '../../clusters/hubs/ports.ts'
import { managedClusterKind } from '../../clusters/hubs/ports.ts'
import {
  configMapKind,
  operatorNamespace,
  publicNamespace,
  secretKind,
  serviceAccountKind,
} from '../../clusters/hub-types.ts'
import type { ClusterConnections, ClusterStore } from '../../clusters/ports.ts'
import { ClusterMissing, ClusterUnreachable } from '../../clusters/ports.ts'
import type { Cluster } from '../../clusters/types.ts'
import type { AccessGrant } from '../../kernel/access.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import { decodedText, definedFields, textAt, toWireJson } from '../../kernel/json.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { AuditTrail, UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOf } from './spoke-records.ts'

/** The hub has no account with which clusters can ask to join. */
export const BootstrapMissing = defineFailure(
  'BootstrapMissing',
  'Upstream',
  'The hub has no account with which clusters can ask to join.',
)

/** The accounts with which clusters ask to join, the current name first. */
const bootstrapAccounts = ['agent-registration-bootstrap', 'cluster-bootstrap']

/** How long a cluster may take to be joined. */
const bootstrapTokenSeconds = 3_600

/** Returns `id.secret` of a bootstrap token; undefined if it is malformed. */
const bootstrapTokenOf = ({ body }: HubObject): Secret | undefined => {
  const text = `${decodedText(textAt(body, 'data', 'token-id'))}.${decodedText(textAt(body, 'data', 'token-secret'))}`
  return /^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(text) ? secret(text) : undefined
}

const newestFirst = (a: HubObject, b: HubObject): number =>
  textAt(a.body, 'metadata', 'creationTimestamp') < textAt(b.body, 'metadata', 'creationTimestamp') ? 1 : -1

/**
 * Creates a token with which a cluster may ask to join a hub, and nothing else. A hub of an older version has another
 * account for it, or bootstrap tokens that exist already.
 */
const createBootstrapToken = async (hub: Hub): Outcome<HubChangeFailure | Failure<'BootstrapMissing'>, Secret> => {
  for (const name of bootstrapAccounts) {
    const content = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: bootstrapTokenSeconds },
    }
    const created = await hub.createWithin(serviceAccountKind, { namespace: operatorNamespace, name }, 'token', content)
    if (isLeft(created)) return created
    if (created.right === undefined) continue
    const token = textAt(created.right, 'status', 'token')
    return token === '' ? left(ClusterUnreachable('The hub answered without a token.')) : right(secret(token))
  }
  const listed = await hub.list(secretKind, { namespace: 'kube-system', labelSelector: 'app=cluster-manager' })
  if (isLeft(listed)) return listed
  const found = listed.right
    .filter(({ name }) => name.startsWith('bootstrap-token-'))
    .toSorted(newestFirst)
    .map(bootstrapTokenOf)
  const token = found.find((each) => each !== undefined)
  return token === undefined
    ? left(
        BootstrapMissing(
          'The hub has no account with which clusters can ask to join: its cluster manager is not installed.',
        ),
      )
    : right(token)
}

const certificates = /-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Returns the certificates of a text without anything else; undefined if there are none. */
const certificatesIn = (text: string | undefined): string | undefined => text?.match(certificates)?.join('\n')

const configMapText = async (hub: Hub, name: string, key: string): Outcome<HubReadFailure, string> => {
  const found = await hub.get(configMapKind, { namespace: publicNamespace, name })
  return isLeft(found) ? found : right(textAt(found.right?.body, 'data', key))
}

/**
 * Returns the address of a hub for its spokes: the one that the hub publishes, or that of its record. An address that
 * the hub publishes without certificates is that of its API server, whose authority the hub publishes in another place.
 */
const findHubAddress = async (
  hub: Hub,
  record: HubAddress,
  reader: ClusterInfoReader,
): Outcome<HubReadFailure, HubAddress> => {
  const published = await configMapText(hub, 'cluster-info', 'kubeconfig')
  if (isLeft(published)) return published
  const stated = reader.addressOf(published.right)
  if (stated === undefined) return right({ ...record, authorityPem: certificatesIn(record.authorityPem) })
  const own = certificatesIn(stated.authorityPem)
  if (own !== undefined) return right({ ...stated, authorityPem: own })
  const authority = await configMapText(hub, 'kube-root-ca.crt', 'ca.crt')
  return isLeft(authority)
    ? authority
    : right({ ...stated, authorityPem: certificatesIn(authority.right) ?? certificatesIn(record.authorityPem) })
}

/** What a cluster needs to ask to join a hub. */
export interface BootstrapAccess {
  readonly address: HubAddress
  readonly token: Secret
}

type BootstrapFailure = HubChangeFailure | Failure<'BootstrapMissing'>

/**
 * Returns the address of a hub for its spokes, and a new token with which a cluster may ask to join it and do nothing
 * else.
 */
export const bootstrapAccess = async (
  { connections, clusterInfo }: { readonly connections: ClusterConnections; readonly clusterInfo: ClusterInfoReader },
  hub: Hub,
): Outcome<BootstrapFailure, BootstrapAccess> => {
  const connection = await connections.open(hub.id)
  if (isLeft(connection)) return connection
  const address = await findHubAddress(hub, connection.right.credential, clusterInfo)
  if (isLeft(address)) return address
  const token = await createBootstrapToken(hub)
  return isLeft(token) ? token : right({ address: address.right, token: token.right })
}

/** The request contradicts the hub in the path, or the cluster is being removed from the hub. */
export const JoinCommandRefused = defineFailure(
  'JoinCommandRefused',
  'Unprocessable',
  'No join command can be made for this cluster name.',
)

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

/** Returns a text as one word of a POSIX shell. @internal */
export const shellWord = (text: string): string =>
  plainWord.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Returns a command whose standard input is a text. No line of the text may be the end mark. */
const withInput = (words: readonly string[], input: string): string =>
  `${words.map(shellWord).join(' ')} <<'END_OF_INPUT'\n${input}\nEND_OF_INPUT\n`

/** Agents copy only annotations with this prefix to the hub. */
const annotationPrefix = 'agent.open-cluster-management.io/'

const clusteradmCommand = ({
  clusterName,
  token,
  address: { server, authorityPem },
  annotations,
}: JoinFacts): string => {
  const joining = [
    'clusteradm',
    'join',
    '--hub-token',
    token.reveal(),
    '--hub-apiserver',
    server,
    '--cluster-name',
    clusterName,
  ]
  const words = [
    ...joining,
    ...Object.entries(annotations).flatMap(([key, value]) => [
      '--klusterlet-annotation',
      `${annotationPrefix}${key}=${value}`,
    ]),
  ]
  // Without it clusteradm would send the token to a server whose certificate it did not verify.
  return authorityPem === undefined
    ? words.map(shellWord).join(' ')
    : withInput([...words, '--ca-file', '/dev/stdin'], authorityPem)
}

/** Returns the kubeconfig with which the agents of a spoke ask to join the hub. */
export const kubeconfigOf = ({ token, address: { server, authorityPem } }: BootstrapAccess): string =>
  toWireJson({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'hub',
        cluster: {
          server,
          ...definedFields({
            'certificate-authority-data': authorityPem === undefined ? undefined : btoa(authorityPem),
          }),
        },
      },
    ],
    users: [{ name: 'bootstrap', user: { token: token.reveal() } }],
    contexts: [{ name: 'bootstrap', context: { cluster: 'hub', user: 'bootstrap', namespace: 'default' } }],
    'current-context': 'bootstrap',
  })

/** The chart of Open Cluster Management that installs the agents. */
const chart = [
  'klusterlet',
  '--repo',
  'https://open-cluster-management.io/helm-charts',
  '--namespace',
  'open-cluster-management',
  '--create-namespace',
]

const helmCommand = (facts: JoinFacts): string => {
  const clusterAnnotations = Object.fromEntries(
    Object.entries(facts.annotations).map(([key, value]) => [`${annotationPrefix}${key}`, value]),
  )
  const registrationConfiguration = Object.keys(clusterAnnotations).length === 0 ? undefined : { clusterAnnotations }
  const values = {
    klusterlet: { clusterName: facts.clusterName, ...definedFields({ registrationConfiguration }) },
    bootstrapHubKubeConfig: kubeconfigOf(facts),
  }
  // JSON is YAML, on one line.
  return withInput(['helm', 'upgrade', '--install', 'klusterlet', ...chart, '--values', '-'], toWireJson(values))
}

/** Returns the command for a POSIX shell with the cluster as the current context of kubectl. @internal */
export const joinCommand = (installer: Installer, facts: JoinFacts): Secret =>
  secret(installer === 'helm' ? helmCommand(facts) : clusteradmCommand(facts))

const mismatchOf = ({ name, uid, ownerId }: StatedCluster, hub: Cluster): string | undefined => {
  if (name !== undefined && name !== hub.name) return 'hubClusterName is not the name of the hub in the path.'
  if (uid !== undefined && uid !== hub.uid) return 'hubClusterUID is not the UID of the hub in the path.'
  return ownerId !== undefined && ownerId !== hub.ownerId
    ? 'hubClusterOwnerID is not the owner of the hub in the path.'
    : undefined
}

const annotationsOf = ({ name, uid, ownerId }: StatedCluster): Readonly<Record<string, string>> =>
  definedFields({
    'host-cluster-name': name,
    'host-cluster-uid': uid,
    'host-cluster-owner-id': ownerId === undefined ? undefined : String(ownerId),
  })

type JoinCommandFailure = HubChangeFailure | ReturnType<typeof BootstrapMissing> | Failure<'JoinCommandRefused'>

/**
 * Returns the command with which a cluster asks to join a hub. It contains a new token that is valid for one hour; the
 * audit log has who got a command for which name.
 */
export const makeGetJoinCommand =
  (deps: {
    readonly hubs: Hubs
    readonly clusters: Pick<ClusterStore, 'get'>
    readonly connections: ClusterConnections
    readonly clusterInfo: ClusterInfoReader
    readonly unitOfWork: UnitOfWork<{ readonly audit: AuditTrail }>
  }) =>
  async (
    call: SignedInCall<Secret>,
    { grant, clusterName, installer, hub: stated, host }: JoinCommandInput,
  ): Outcome<JoinCommandFailure, Secret> => {
    const opened = await deps.hubs.open(call, grant)
    if (isLeft(opened)) return opened
    const hub = opened.right
    const record = await deps.clusters.get(hub.id)
    if (record === undefined) return left(ClusterMissing('The cluster does not exist.'))
    const mismatch = mismatchOf(stated, record)
    if (mismatch !== undefined) return left(JoinCommandRefused(mismatch))
    const known = await hub.get(managedClusterKind, { name: clusterName })
    if (isLeft(known)) return known
    if (known.right?.isDeleting === true)
      return left(JoinCommandRefused(`The cluster ${clusterName} is being removed from the hub.`))
    const access = await bootstrapAccess(deps, hub)
    if (isLeft(access)) return access
    const command = joinCommand(installer, { ...access.right, clusterName, annotations: annotationsOf(host) })
    return deps.unitOfWork.run<never, Secret>(call, async ({ audit }) => {
      await audit.record(auditOf(hub, 'cluster.spoke_command_issued', { spoke: clusterName, installer }))
      return right(command)
    })
  }
