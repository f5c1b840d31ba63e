import type { Cluster } from './types.ts'

/** Stands where the caller puts an access token of this platform. */
export const tokenPlaceholder = 'PUT-YOUR-ACCESS-TOKEN-HERE'

/** The name under which the expiry of the token stands in the kubeconfig. */
export const expiryExtension = 'moorage.token'

/** Where a Kubernetes client reaches this service. */
export interface KubernetesAddress {
  /** Without a trailing slash. */
  readonly url: string
  /** The certificate to trust, where no public authority signed it. */
  readonly caPem: string | undefined
}

/** The token that a kubeconfig carries. */
export interface CarriedToken {
  readonly token: string
  readonly expiresAt: Date
}

/** A YAML scalar; JSON strings are YAML. */
const quoted = (text: string): string => JSON.stringify(text)

/** Base64 of ASCII text, as kubeconfigs carry certificates. */
const base64 = (ascii: string): string => btoa(ascii)

const remark = (carried: CarriedToken | undefined): string =>
  carried === undefined
    ? `# Put an access token of your own in the place of ${tokenPlaceholder}, or: kubectl config set-credentials moorage --token=...`
    : `# The token is for this cluster alone and expires at ${carried.expiresAt.toISOString()}.`

/**
 * A kubeconfig that leads to the cluster through this service, with a token of the platform or a place for one; never the
 * stored credential. kubectl withholds tokens from a server that is not reached by https, so the address is the https one.
 */
export const clientConfig = (address: KubernetesAddress, cluster: Pick<Cluster, 'ownerName' | 'name'>, carried?: CarriedToken): string => {
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
      : ['    extensions:', `    - name: ${expiryExtension}`, '      extension:', `        expirationTimestamp: ${quoted(carried.expiresAt.toISOString())}`]),
    'users:',
    '- name: moorage',
    '  user:',
    `    token: ${quoted(carried?.token ?? tokenPlaceholder)}`,
    '',
  ].join('\n')
}
