import type { MemberCluster } from '../../core/clusters/ports.ts'
import type { ReleaseHeader, ReleaseRecordRef } from '../../core/packages/types.ts'

/** Headers by cluster record, object and resourceVersion: what is found under it can never have changed. */
export interface HeaderCache {
  find(cluster: Pick<MemberCluster, 'id'>, ref: ReleaseRecordRef): ReleaseHeader | undefined
  /** Answers how long the header is, as JSON. */
  keep(cluster: Pick<MemberCluster, 'id'>, ref: ReleaseRecordRef, header: ReleaseHeader): number
}

/**
 * By the record's id, not the cluster's UID: whoever imports a cluster could have it claim another one's UID.
 * @param limitChars of all headers as JSON; those used least recently go first.
 */
export const makeHeaderCache = (limitChars: number): HeaderCache => {
  const kept = new Map<string, { readonly header: ReleaseHeader; readonly chars: number }>()
  let total = 0
  const keyOf = ({ id }: Pick<MemberCluster, 'id'>, ref: ReleaseRecordRef): string => `${id} ${ref.uid} ${ref.resourceVersion}`

  const drop = (key: string): void => {
    total -= kept.get(key)?.chars ?? 0
    kept.delete(key)
  }

  return {
    find(cluster, ref) {
      const key = keyOf(cluster, ref)
      const entry = kept.get(key)
      if (entry === undefined) return undefined
      // Least recently used first: a map keeps the order of insertion.
      kept.delete(key)
      kept.set(key, entry)
      return entry.header
    },
    keep(cluster, ref, header) {
      const key = keyOf(cluster, ref)
      const chars = JSON.stringify(header, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)).length
      if (chars > limitChars) return chars
      drop(key)
      kept.set(key, { header, chars })
      total += chars
      for (const oldest of kept.keys()) {
        if (total <= limitChars) return chars
        drop(oldest)
      }
      return chars
    },
  }
}
