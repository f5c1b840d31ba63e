import type { Cluster } from './types.ts'

/** Stands where the caller puts an access token of this platform. */
export const tokenPlaceholder = 'PUT-YOUR-ACCESS-TOKEN-HERE'

/** A YAML scalar; JSON strings are YAML. */
const quoted = (text: string): string => JSON.stringify(text)

/**
 * A kubeconfig that leads to the cluster through this service. It carries neither the stored credential nor a token:
 * its user authenticates to the platform with an access token of their own.
 * @param baseUrl `{base_url}` without a trailing slash.
 */
export const clientConfig = (baseUrl: string, cluster: Pick<Cluster, 'ownerName' | 'name'>): string => {
  const context = `${cluster.name}.${cluster.ownerName}`
  const server = `${baseUrl}/api/v1/clusters/${encodeURIComponent(cluster.ownerName)}/${encodeURIComponent(cluster.name)}/proxy`
  return [
    '# Set your access token: kubectl config set-credentials moorage --token=<token>',
    'apiVersion: v1',
    'kind: Config',
    `current-context: ${quoted(context)}`,
    'clusters:',
    `- name: ${quoted(context)}`,
    '  cluster:',
    `    server: ${quoted(server)}`,
    'contexts:',
    `- name: ${quoted(context)}`,
    '  context:',
    `    cluster: ${quoted(context)}`,
    '    user: moorage',
    'users:',
    '- name: moorage',
    '  user:',
    `    token: ${quoted(tokenPlaceholder)}`,
    '',
  ].join('\n')
}
