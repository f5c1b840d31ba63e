import { hubChangeFailures, hubReadFailures } from '../../core/clusters/hubs/ports.ts'
import { BindingRefused } from '../../core/clustersets/bound-namespaces.ts'
import { ClusterPath, hubInPath } from '../clusters/codecs.ts'
import { requires } from '../kit/access.ts'
import { empty, json } from '../kit/reply.ts'
import { body } from '../kit/route.ts'
import { routesOf } from '../kit/shared-route.ts'
import { BindNamespaceOptions, BoundNamespaces } from './codecs.ts'

const route = routesOf({ tag: 'Multi-cluster', scopeCategory: 'cluster', params: ClusterPath })
const options = body(BindNamespaceOptions, { clusterSet: 'global', namespace: 'shop' })

export const listBoundNamespaces = route({
  id: 'clustersets.listBoundNamespaces',
  method: 'GET',
  path: '/clusters/{owner}/{cluster}/bound-namespaces',
  summary: 'List the namespaces of a hub and the cluster sets bound to each',
  description: 'A namespace without a bound cluster set has an empty list. The namespaces of spokes are omitted. A cluster that is not a hub is 400.',
  access: requires('can_view', hubInPath),
  ok: json(200, BoundNamespaces, { default: [], shop: ['global'] }),
  failures: hubReadFailures,
})

export const bindNamespace = route({
  id: 'clustersets.bindNamespace',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/bound-namespaces/bind',
  summary: 'Bind a cluster set to a namespace of a hub',
  description: 'The namespace and the cluster set must exist and must not be under deletion (422). Binding the same pair again succeeds.',
  access: requires('can_bind_namespaces', hubInPath),
  body: options,
  ok: empty(200),
  failures: [...hubChangeFailures, BindingRefused],
})

export const unbindNamespace = route({
  id: 'clustersets.unbindNamespace',
  method: 'POST',
  path: '/clusters/{owner}/{cluster}/bound-namespaces/unbind',
  summary: 'Unbind a cluster set from a namespace of a hub',
  description: 'Succeeds also if the pair is not bound.',
  access: requires('can_bind_namespaces', hubInPath),
  body: options,
  ok: empty(200),
  failures: hubChangeFailures,
})
