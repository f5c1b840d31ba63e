import { makeUndiciClusterApi } from '../../../adapters/kubernetes/cluster-api.ts'
import { makeConnectionPools } from '../../../adapters/kubernetes/connections.ts'
import { makeKubeconfigParser } from '../../../adapters/kubernetes/kubeconfig.ts'
import { makeEgressPolicy } from '../../../adapters/outbound/egress-policy.ts'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import type { AccountId, ClusterId } from '../../../core/kernel/ids.ts'
import type { FakeApi } from '../../support/fake-api.ts'
import { unwrap } from '../../support/outcome.ts'

export interface OpenMember {
  /** The cluster as this user sees it. */
  as(user: string): MemberCluster
  close(): Promise<void>
}

/** A fake cluster over the real client, without a service around it. */
export const memberOf = (fake: Pick<FakeApi, 'kubeconfig' | 'uid'>, id = 1): OpenMember => {
  const egress = makeEgressPolicy(new Set(['loopback']))
  const pools = makeConnectionPools(egress)
  const api = makeUndiciClusterApi(pools, egress)
  const credential = unwrap(makeKubeconfigParser().parse(fake.kubeconfig()))
  const owner = { id: id as ClusterId, ownerId: 1 as AccountId, ownerName: 'acme', name: 'prod' }
  const connection = { link: { ...owner, version: 1, impersonatesUsers: true }, credential }
  return {
    as: (user) => ({
      ...owner,
      uid: fake.uid,
      request: async (request, signal) => {
        const asked = await api.request(
          connection,
          { ...request, headers: [...(request.headers ?? []), ['impersonate-user', user]] },
          signal,
        )
        if (asked._tag === 'Left' && asked.left.tag === 'AddressRefused') throw new Error(asked.left.message)
        return asked as Awaited<ReturnType<MemberCluster['request']>>
      },
      relay: () => Promise.reject(new Error('not part of these tests')),
    }),
    close: () => pools.close(),
  }
}
