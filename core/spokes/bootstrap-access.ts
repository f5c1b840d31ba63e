import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { configMapKind, operatorNamespace, publicNamespace, secretKind, serviceAccountKind } from '../clusters/hubs/kind-types.ts'
import type { ClusterInfoReader, Hub, HubAddress, HubChangeFailure, HubObject, HubReadFailure } from '../clusters/hubs/ports.ts'
import type { ClusterConnections } from '../clusters/ports.ts'
import { ClusterUnreachable } from '../clusters/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { decodedText, textAt } from '../kernel/json.ts'
import type { Secret } from '../kernel/secret.ts'
import { secret } from '../kernel/secret.ts'

/** The hub has no account with which clusters can ask to join. */
export const BootstrapMissing = defineFailure('BootstrapMissing', 'Upstream')

/** The accounts with which clusters ask to join, the current name first. */
const bootstrapAccounts = ['agent-registration-bootstrap', 'cluster-bootstrap']

/** How long a cluster may take to be joined. */
const bootstrapTokenSeconds = 3_600

/** Returns `id.secret` of a bootstrap token; undefined if it is malformed. */
const bootstrapTokenOf = ({ body }: HubObject): Secret | undefined => {
  const text = `${decodedText(textAt(body, 'data', 'token-id'))}.${decodedText(textAt(body, 'data', 'token-secret'))}`
  return /^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(text) ? secret(text) : undefined
}

const newestFirst = (a: HubObject, b: HubObject): number => (textAt(a.body, 'metadata', 'creationTimestamp') < textAt(b.body, 'metadata', 'creationTimestamp') ? 1 : -1)

/**
 * Creates a token with which a cluster may ask to join a hub, and nothing else. A hub of an older version has another account for it,
 * or bootstrap tokens that exist already.
 */
const createBootstrapToken = async (hub: Hub): Outcome<HubChangeFailure | Failure<'BootstrapMissing'>, Secret> => {
  for (const name of bootstrapAccounts) {
    const content = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: bootstrapTokenSeconds } }
    const created = await hub.createWithin(serviceAccountKind, { namespace: operatorNamespace, name }, 'token', content)
    if (isLeft(created)) return created
    if (created.right === undefined) continue
    const token = textAt(created.right, 'status', 'token')
    return token === '' ? left(ClusterUnreachable('The hub answered without a token.')) : right(secret(token))
  }
  const listed = await hub.list(secretKind, { namespace: 'kube-system', labelSelector: 'app=cluster-manager' })
  if (isLeft(listed)) return listed
  const found = listed.right.filter(({ name }) => name.startsWith('bootstrap-token-')).toSorted(newestFirst).map(bootstrapTokenOf)
  const token = found.find((each) => each !== undefined)
  return token === undefined ? left(BootstrapMissing('The hub has no account with which clusters can ask to join: its cluster manager is not installed.')) : right(token)
}

const certificates = /-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Returns the certificates of a text without anything else; undefined if there are none. */
const certificatesIn = (text: string | undefined): string | undefined => text?.match(certificates)?.join('\n')

const configMapText = async (hub: Hub, name: string, key: string): Outcome<HubReadFailure, string> => {
  const found = await hub.get(configMapKind, { namespace: publicNamespace, name })
  return isLeft(found) ? found : right(textAt(found.right?.body, 'data', key))
}

/**
 * Returns the address of a hub for its spokes: the one that the hub publishes, or that of its record. An address that the hub
 * publishes without certificates is that of its API server, whose authority the hub publishes in another place.
 */
const findHubAddress = async (hub: Hub, record: HubAddress, reader: ClusterInfoReader): Outcome<HubReadFailure, HubAddress> => {
  const published = await configMapText(hub, 'cluster-info', 'kubeconfig')
  if (isLeft(published)) return published
  const stated = reader.addressOf(published.right)
  if (stated === undefined) return right({ ...record, authorityPem: certificatesIn(record.authorityPem) })
  const own = certificatesIn(stated.authorityPem)
  if (own !== undefined) return right({ ...stated, authorityPem: own })
  const authority = await configMapText(hub, 'kube-root-ca.crt', 'ca.crt')
  return isLeft(authority) ? authority : right({ ...stated, authorityPem: certificatesIn(authority.right) ?? certificatesIn(record.authorityPem) })
}

/** What a cluster needs to ask to join a hub. */
export interface BootstrapAccess {
  readonly address: HubAddress
  readonly token: Secret
}

type BootstrapFailure = HubChangeFailure | Failure<'BootstrapMissing'>

/** Returns the address of a hub for its spokes, and a new token with which a cluster may ask to join it and do nothing else. */
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
