import { HubsToken } from '../../core/clusters/hubs/ports.ts'
import { ClusterUnitOfWorkToken } from '../../core/clusters/ports.ts'
import { makeBindNamespace, makeListBoundNamespaces, makeUnbindNamespace } from '../../core/clustersets/bound-namespaces.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { bindNamespace, listBoundNamespaces, unbindNamespace } from './bound-namespaces.routes.ts'

export const boundNamespaceGroup = defineGroup({
  needs: { hubs: HubsToken, unitOfWork: ClusterUnitOfWorkToken },
  routes: (given) => [
    handle(listBoundNamespaces, makeListBoundNamespaces(given), { input: ({ grant }) => grant }),
    handle(bindNamespace, makeBindNamespace(given), { input: ({ grant, body }) => ({ grant, ...body }) }),
    handle(unbindNamespace, makeUnbindNamespace(given), { input: ({ grant, body }) => ({ grant, ...body }) }),
  ],
})
