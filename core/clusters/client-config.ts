import type { Cluster } from './types.ts'

/** Stands where the caller puts an access token of this platform. */
export const tokenPlaceholder = 'PUT-YOUR-ACCESS-TOKEN-HERE'

/** Where a Kubernetes client reaches this service. */
export interface KubernetesAddress {
  /** Without a trailing slash. */
  readonly url: string
  /** The certificate to trust, where no public authority signed it. */
  readonly caPem: string | undefined
}

/** A YAML scalar; JSON strings are YAML. */
const quoted = (text: string): string => JSON.stringify(text)

/** Base64 of ASCII text, as kubeconfigs carry certificates. */
const base64 = (ascii: string): string => btoa(ascii)

/**
 * A kubeconfig that leads to the cluster through this service. It carries neither the stored credential nor a token:
 * its user authenticates to the platform with an access token of their own. kubectl withholds tokens from a server that
 * is not reached by https, so the address is the https one.
 */
export const clientConfig = (address: KubernetesAddress, cluster: Pick<Cluster, 'ownerName' | 'name'>): string => {
  const context = quoted(`${cluster.name}.${cluster.ownerName}`)
  const server = `${address.url}/api/v1/clusters/${encodeURIComponent(cluster.ownerName)}/${encodeURIComponent(cluster.name)}/proxy`
  return [
    `# Put an access token of your own in the place of ${tokenPlaceholder}, or: kubectl config set-credentials moorage --token=...`,
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
    'users:',
    '- name: moorage',
    '  user:',
    `    token: ${quoted(tokenPlaceholder)}`,
    '',
  ].join('\n')
}
