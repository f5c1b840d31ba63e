import { isLeft } from 'fp-ts/lib/Either.js'
import type { ClusterImportWatcher } from '../clusters/ports.ts'
import type { Clock } from '../kernel/clock.ts'
import { recordEvent } from './contract-events.ts'
import { isActive, parseClusterUid, parseDisplayName } from './contract-rules.ts'
import type { ContractStores } from './ports.ts'

/** Under this name the history of a contract shows what was bound without a request. */
const bindsNewClusters = 'contracts.bindNewClusters'

/** Returns the watcher that binds a newly imported cluster to the active contracts of its owner that say so, in the transaction of the import. */
export const makeBindImported =
  (clock: Clock) =>
  (stores: Pick<ContractStores, 'contracts' | 'bindings' | 'events' | 'audit'>): ClusterImportWatcher => ({
    async imported({ ownerId, uid, name, displayName }) {
      const parsed = parseClusterUid(uid)
      if (isLeft(parsed)) return
      const clusterUid = parsed.right
      const at = clock.now()
      const wanting = await stores.contracts.listBindingNew(ownerId, at)
      if (wanting.length === 0) return
      const shown = parseDisplayName(displayName)
      const binding = { clusterUid, displayName: isLeft(shown) ? name : shown.right }
      for (const contract of await stores.contracts.lock(ownerId, wanting.map(({ id }) => id))) {
        const [bound] = await stores.bindings.boundAmong(contract.id, [clusterUid])
        if (bound !== undefined || !contract.bindsNewClusters || !isActive(contract, at)) continue
        await stores.bindings.add(contract, [binding], at)
        await recordEvent(stores, contract, { event: 'cluster.added', by: bindsNewClusters, at, changes: { clusters: [clusterUid] } })
      }
    },
  })
