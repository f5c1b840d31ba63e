import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { ClusterId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { ClusterMismatch, ClusterMissing, type ClusterTransport, type ClusterUnitOfWork } from './ports.ts'

/** Forgets a cluster: record, credential, grants and open connections. The cluster itself is not touched. */
export const makeRemoveCluster = (deps: { readonly unitOfWork: ClusterUnitOfWork; readonly transport: Pick<ClusterTransport, 'forget'> }) =>
  async (call: SignedInCall, id: ClusterId, name: string | undefined): Outcome<Failure<'ClusterMissing'> | Failure<'ClusterMismatch'>, void> => {
    const removed = await deps.unitOfWork.run<Failure<'ClusterMissing'> | Failure<'ClusterMismatch'>, void>(call, async ({ clusters, audit }) => {
      const cluster = await clusters.get(id)
      if (cluster === undefined) return left(ClusterMissing('There is no such cluster.'))
      if (name !== undefined && name !== '' && name !== cluster.name)
        return left(ClusterMismatch('The name in the body is not the name in the path.'))
      if (!(await clusters.remove(id))) return left(ClusterMissing('There is no such cluster.'))
      await audit.record({
        action: 'cluster.removed',
        objectType: 'cluster',
        objectId: id,
        objectName: cluster.name,
        tenantId: cluster.ownerId,
        changes: { uid: cluster.uid },
      })
      return right(undefined)
    })
    if (isLeft(removed)) return removed
    await deps.transport.forget(id)
    return removed
  }
