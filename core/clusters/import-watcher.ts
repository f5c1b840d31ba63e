import { isRight } from 'fp-ts/lib/Either.js'
import type { ClusterImportWatcher, ClusterStore } from './ports.ts'

/** Returns a store that reports a cluster to the watcher when its UID is recorded: with its record, or later for a cluster that was not known yet. */
export const withImportWatcher = (store: ClusterStore, watcher: ClusterImportWatcher): ClusterStore => ({
  ...store,
  async insert(cluster) {
    const inserted = await store.insert(cluster)
    if (isRight(inserted) && inserted.right.uid !== '') await watcher.imported(inserted.right)
    return inserted
  },
  async change(id, version, change) {
    const changed = await store.change(id, version, change)
    if (isRight(changed) && change.uid !== undefined && change.uid !== '') await watcher.imported(changed.right)
    return changed
  },
})
