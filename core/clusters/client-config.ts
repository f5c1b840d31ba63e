import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterTokens } from '../identity/tokens/ports.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { ClusterId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { ClusterStore, PublicAddress } from './ports.ts'
import { ClusterMissing } from './ports.ts'
import type { Cluster } from './types.ts'
import { toWireJson } from '../kernel/json.ts'

/** Placeholder for an access token of this platform. */
const tokenPlaceholder = 'PUT-YOUR-ACCESS-TOKEN-HERE'

/** The name of the kubeconfig extension that contains the token's expiry. */
const expiryExtension = 'moorage.token'

/** The address of this service for Kubernetes clients. */
export interface KubernetesAddress {
  /** Without a trailing slash. */
  readonly url: string
  /** The certificate to trust, if it is not signed by a public authority. */
  readonly caPem: string | undefined
}

/** The token that a kubeconfig contains. */
export interface CarriedToken {
  readonly token: string
  readonly expiresAt: Date
}

/** Returns a YAML scalar; JSON strings are valid YAML. */
const quoted = (text: string): string => toWireJson(text)

/** Returns the base64 of ASCII text; kubeconfigs contain certificates in this form. */
const base64 = (ascii: string): string => btoa(ascii)

const remark = (carried: CarriedToken | undefined): string =>
  carried === undefined
    ? `# Put an access token of your own in the place of ${tokenPlaceholder}, or: kubectl config set-credentials moorage --token=...`
    : `# The token is for this cluster alone and expires at ${carried.expiresAt.toISOString()}.`

/**
 * Returns a kubeconfig that connects to the cluster through this service, with a token of the platform or a
 * placeholder; never with the stored credential. kubectl does not send tokens over plain http, so the address is the
 * https one.
 *
 * @internal
 */
export const clientConfig = (
  address: KubernetesAddress,
  cluster: Pick<Cluster, 'ownerName' | 'name'>,
  carried?: CarriedToken,
): string => {
  const context = quoted(`${cluster.name}.${cluster.ownerName}`)
  const server = `${address.url}/api/v1/clusters/${encodeURIComponent(cluster.ownerName)}/${encodeURIComponent(cluster.name)}/proxy`
  return [
    remark(carried),
    'apiVersion: v1',
    'kind: Config',
    `current-context: ${context}`,
    'clusters:',
    `- name: ${context}`,
    '  cluster:',
    `    server: ${quoted(server)}`,
    ...(address.caPem === undefined ? [] : [`    certificate-authority-data: ${base64(address.caPem)}`]),
    'contexts:',
    `- name: ${context}`,
    '  context:',
    `    cluster: ${context}`,
    '    user: moorage',
    ...(carried === undefined
      ? []
      : [
          '    extensions:',
          `    - name: ${expiryExtension}`,
          '      extension:',
          `        expirationTimestamp: ${quoted(carried.expiresAt.toISOString())}`,
        ]),
    'users:',
    '- name: moorage',
    '  user:',
    `    token: ${quoted(carried?.token ?? tokenPlaceholder)}`,
    '',
  ].join('\n')
}

export interface GetClientConfigInput {
  readonly id: ClusterId
  /** Whether a token is created for the kubeconfig; otherwise it has a placeholder. */
  readonly makesToken: boolean
  /** The maximum token lifetime that the owner of the cluster accepts, in days; 0 means no limit. */
  readonly maxTokenLifeDays: number
  /** Shortens the configured lifetime of the token. */
  readonly lifeSeconds: number | undefined
}

/** Returns the kubeconfig of a cluster, with a new token of the caller if one is requested. */
export const makeGetClientConfig =
  (deps: {
    readonly clusters: Pick<ClusterStore, 'get'>
    readonly clusterTokens: ClusterTokens
    readonly address: PublicAddress
  }) =>
  async (
    call: SignedInCall,
    { id, makesToken, maxTokenLifeDays, lifeSeconds }: GetClientConfigInput,
  ): Outcome<Failure<'ClusterMissing' | 'NotAuthenticated' | 'NotPermitted'>, string> => {
    const found = await deps.clusters.get(id)
    if (found === undefined) return left(ClusterMissing('The cluster does not exist.'))
    const address = deps.address.kubernetesUrl(call)
    if (!makesToken) return right(clientConfig(address, found))
    const made = await deps.clusterTokens.issue(call, { ...found, maxTokenLifeDays }, lifeSeconds)
    if (isLeft(made)) return made
    const { value, expiresAt } = made.right
    return right(clientConfig(address, found, { token: value.reveal(), expiresAt }))
  }
