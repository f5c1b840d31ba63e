import { left, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import { ClusterUnreachable } from '../../../core/clusters/ports.ts'
import type { RecordPlace } from '../../../core/packages/releases/release-state.ts'
import { RecordChanged, type ReleaseStore } from '../../../core/packages/ports.ts'
import type { ReleaseRecordRef, ReleaseStatus } from '../../../core/packages/types.ts'

/** A record, by its revision. */
export type Row = readonly [version: number, status: ReleaseStatus]

export const refOf = ([version, status]: Row): ReleaseRecordRef => ({
  namespace: 'shop',
  name: 'web',
  version,
  status,
  objectName: `sh.helm.release.v1.web.v${version}`,
  uid: `u${version}`,
  resourceVersion: `${version}`,
})

/** Records in memory; remembers what was amended. */
export const recordsOf = (rows: readonly Row[], { amends = true, answers = true } = {}) => {
  let refs = rows.map(refOf)
  const amended: unknown[] = []
  const store: Pick<ReleaseStore, 'index' | 'amend'> = {
    index: () => Promise.resolve(answers ? right(refs) : left(ClusterUnreachable('The cluster did not answer.'))),
    amend: (_cluster, _driver, ref, change) => {
      if (!amends) return Promise.resolve(left(RecordChanged('The record was changed.')))
      amended.push([ref.version, change])
      refs = refs.map((each) =>
        each.version === ref.version ? { ...each, status: change.status ?? each.status } : each,
      )
      return Promise.resolve(right(undefined))
    },
  }
  return { store, amended, rows: () => refs.map(({ version, status }) => `${version} ${status}`) }
}

export const pause = () => Promise.resolve()
export const place: RecordPlace = {
  cluster: {} as MemberCluster,
  driver: 'Secret',
  release: { namespace: 'shop', name: 'web' },
}
