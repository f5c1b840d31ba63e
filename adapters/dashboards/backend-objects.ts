import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterApi, ClusterConnections, ClusterRequest, ClusterStore } from '../../core/clusters/ports.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import { toWireJson } from '../../core/kernel/json.ts'
import type { MetricsBackends, MetricsConfig } from '../../core/metrics-proxy/ports.ts'
import { dashboardFailed } from './dashboard-http.ts'

/** For a proxy that reads its backends from this service's database, or has one upstream for all tenants. */
export const databaseOnly: MetricsBackends = {
  put: async () => right(undefined),
  remove: async () => right(undefined),
}

export interface BackendObjectsDeps {
  readonly clusters: Pick<ClusterStore, 'find'>
  readonly connections: ClusterConnections
  readonly api: Pick<ClusterApi, 'request'>
  /** Returns the id of the account of that name. */
  readonly accountId: (name: string) => Promise<AccountId | undefined>
}

/** Where the objects are: a cluster that an account of this service has imported. */
export interface BackendPlace {
  readonly owner: string
  readonly cluster: string
  readonly namespace: string
  /** The value of the label by which an instance of the proxy selects its backends. */
  readonly instance: string
}

const backendApi = 'trickstercache.org/v1alpha1'
const manager = 'moorage'

/** The files of the Secret, by their names; the backend names those that exist. */
const secretFiles = ({ basicAuth, bearerToken, tls }: MetricsConfig): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries({
      username: basicAuth?.username,
      password: basicAuth?.password,
      token: bearerToken,
      'ca.crt': tls?.ca,
      'tls.crt': tls?.cert,
      'tls.key': tls?.key,
    }).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value] as const])),
  )

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64')

const metadataOf = (backend: string, { namespace, instance }: BackendPlace): FreeObject => ({
  name: backend,
  namespace,
  labels: { 'trickstercache.org/metadata.name': instance, 'app.kubernetes.io/managed-by': manager },
})

const secretObject = (backend: string, metrics: MetricsConfig, place: BackendPlace): FreeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: metadataOf(backend, place),
  type: 'Opaque',
  data: Object.fromEntries(Object.entries(secretFiles(metrics)).map(([name, value]) => [name, base64(value)])),
})

const backendObject = (backend: string, metrics: MetricsConfig, place: BackendPlace): FreeObject => {
  const files = Object.keys(secretFiles(metrics))
  return {
    apiVersion: backendApi,
    kind: 'TricksterBackend',
    metadata: metadataOf(backend, place),
    spec: {
      provider: 'prometheus',
      origin_url: metrics.url,
      tls: { insecure_skip_verify: metrics.tls?.insecureSkipTLSVerify === true },
      secret: { name: backend, items: files.map((key) => ({ key, path: `${backend}/${key}` })) },
    },
  }
}

/**
 * MetricsBackends as objects of a cluster: a TricksterBackend and the Secret with its credentials, in one namespace,
 * both by server-side apply. The credential of the cluster's record needs get, patch and delete on both kinds there.
 */
export const makeBackendObjects = (place: BackendPlace, deps: BackendObjectsDeps): MetricsBackends => {
  const send = async (
    request: ClusterRequest,
    expected: readonly number[],
    signal: AbortSignal,
  ): Outcome<Failure<'DashboardFailed'>, void> => {
    const ownerId = await deps.accountId(place.owner)
    const cluster = ownerId === undefined ? undefined : await deps.clusters.find(ownerId, place.cluster)
    if (cluster === undefined)
      return left(dashboardFailed(`the cluster of the metrics proxy, ${place.owner}/${place.cluster}, does not exist`))
    const connection = await deps.connections.open(cluster.id)
    if (isLeft(connection)) return left(dashboardFailed(connection.left.message))
    const answer = await deps.api.request(connection.right, request, signal)
    if (isLeft(answer)) return left(dashboardFailed(answer.left.reason ?? answer.left.message))
    const { status } = answer.right
    const what = `${request.method} ${request.target.split('?', 1)[0]}`
    return expected.includes(status) ? right(undefined) : left(dashboardFailed(`${what} was answered ${status}`))
  }
  const root = (kind: 'secrets' | 'tricksterbackends', name: string): string =>
    kind === 'secrets'
      ? `/api/v1/namespaces/${place.namespace}/secrets/${name}`
      : `/apis/${backendApi}/namespaces/${place.namespace}/tricksterbackends/${name}`
  const apply = (kind: 'secrets' | 'tricksterbackends', name: string, object: FreeObject, signal: AbortSignal) =>
    send(
      {
        method: 'PATCH',
        target: `${root(kind, name)}?fieldManager=${manager}&force=true`,
        headers: [['content-type', 'application/apply-patch+yaml']],
        body: new TextEncoder().encode(toWireJson(object)),
        isReduced: true,
      },
      [200, 201],
      signal,
    )
  const erase = (kind: 'secrets' | 'tricksterbackends', name: string, signal: AbortSignal) =>
    send({ method: 'DELETE', target: root(kind, name), isReduced: true }, [200, 202, 404], signal)
  return {
    async put(backend, metrics, signal) {
      const kept = await apply('secrets', backend, secretObject(backend, metrics, place), signal)
      return isLeft(kept) ? kept : apply('tricksterbackends', backend, backendObject(backend, metrics, place), signal)
    },
    async remove(backend, signal) {
      const gone = await erase('tricksterbackends', backend, signal)
      return isLeft(gone) ? gone : erase('secrets', backend, signal)
    },
  }
}
