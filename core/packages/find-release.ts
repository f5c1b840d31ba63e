import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import { ReleaseAmbiguous, ReleaseMissing, type RecordFailure, type ReleaseStore } from './ports.ts'
import type { ReleaseRecordRef, StorageDriver } from './types.ts'

/** A release as a request names it. */
export interface ReleaseQuestion {
  readonly name: string
  /** Empty or absent: wherever there is one of that name. */
  readonly namespace?: string | undefined
}

export type FindFailure = RecordFailure | Failure<'ReleaseMissing'> | Failure<'ReleaseAmbiguous'>

/** Namespaces that a message names at most. */
const mostNamed = 10

/**
 * The stored revisions of one release, oldest first, at least one. Without a namespace all of them are looked through:
 * that takes the right to list in all. Failures beside those of reading: ReleaseMissing, ReleaseAmbiguous.
 */
export const makeFindRelease = ({ releases }: { readonly releases: Pick<ReleaseStore, 'index'> }) =>
  async (cluster: MemberCluster, driver: StorageDriver, { name, namespace = '' }: ReleaseQuestion, signal: AbortSignal): Outcome<FindFailure, readonly ReleaseRecordRef[]> => {
    const found = await releases.index(cluster, driver, namespace === '' ? { name } : { name, namespace }, signal)
    if (isLeft(found)) return found
    const namespaces = [...new Set(found.right.map((ref) => ref.namespace))].sort()
    const [only, ...others] = namespaces
    if (only === undefined) return left(ReleaseMissing(namespace === '' ? `There is no release ${name}.` : `There is no release ${name} in the namespace ${namespace}.`))
    if (others.length > 0) {
      const named = namespaces.slice(0, mostNamed).join(', ') + (namespaces.length > mostNamed ? ', …' : '')
      return left(ReleaseAmbiguous(`There are releases ${name} in ${namespaces.length} namespaces: say which one is meant by the parameter namespace (${named}).`))
    }
    return right([...found.right].sort((a, b) => a.version - b.version))
  }

/** The record of that revision; of the newest one for a version that is absent, 0 or below. */
export const revisionOf = (refs: readonly ReleaseRecordRef[], version = 0): ReleaseRecordRef | undefined =>
  version <= 0 ? refs.at(-1) : refs.find((ref) => ref.version === version)
