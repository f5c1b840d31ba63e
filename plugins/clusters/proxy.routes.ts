import {
  ClusterMissing,
  ClusterNotConnected,
  ClusterUnreachable,
  CredentialRefused,
  ImpersonationRefused,
  ProxyBodyRefused,
  ProxyPathRefused,
} from '../../core/clusters/ports.ts'
import { isForeignPath } from '../../core/formats/kubernetes/proxy-path.ts'
import { requires } from '../kit/access.ts'
import type { StreamRoute } from '../kit/route.ts'
import { clusterInPath, ClusterPath } from './codecs.ts'

type ProxyTag =
  | 'ProxyPathRefused'
  | 'ProxyBodyRefused'
  | 'ImpersonationRefused'
  | 'ClusterMissing'
  | 'ClusterNotConnected'
  | 'ClusterUnreachable'
  | 'CredentialRefused'

export const proxyRoute: StreamRoute<ProxyTag> = {
  id: 'clusters.proxy',
  methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  path: '/clusters/{owner}/{cluster}/proxy/*',
  params: ClusterPath,
  summary: 'Send a request to the Kubernetes API of a cluster',
  description:
    'Any path of the Kubernetes API (`/api/...`, `/apis/...`, `/version`, `/openapi/...`, health checks), ' +
    'streamed both ways and ' +
    'unchanged, watches, logs and upgraded connections (exec, attach, port-forward) included. Also ' +
    '`/{group}/{version}/...` with ' +
    '`core` for the legacy group: there a create returns 200, the response of a GET has an ETag, a PATCH ' +
    'with plain JSON is a merge patch, ' +
    '`convertToTable=true` returns a table, and `events`, `controller`, `horizontalpodautoscalers`, ' +
    '`metrics`, `all-available` ' +
    'and `batch-delete` are computed. Query parameters of the platform (token, access_token, org, sudo) ' +
    'are not passed on. Below ' +
    '`services/{name}/proxy`, `pods/{name}/proxy` and `nodes/{name}/proxy`, the path, the query and the ' +
    'headers belong to what is behind: ' +
    'the query is passed on as it is, and no credential is read from it. Requests as another user ' +
    '(`Impersonate-User`) are 403.',
  tag: 'Kubernetes Proxy',
  access: requires('can_connect', clusterInPath),
  scopeCategory: 'cluster',
  servesClusterTokens: true,
  ownsQuery: isForeignPath,
  failures: [
    ProxyPathRefused,
    ProxyBodyRefused,
    ImpersonationRefused,
    ClusterMissing,
    ClusterNotConnected,
    ClusterUnreachable,
    CredentialRefused,
  ],
}
