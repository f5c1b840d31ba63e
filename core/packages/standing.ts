import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { RecordFailure, ReleaseStore } from './ports.ts'
import { ReleasePending } from './release-task-ports.ts'
import type { ReleaseKey, ReleaseRecordRef, StorageDriver } from './types.ts'

/** Where a release's records are. */
export interface RecordPlace {
  readonly cluster: MemberCluster
  readonly driver: StorageDriver
  readonly release: ReleaseKey
}

/** What the records of one release say. */
export interface Standing {
  /** Undefined when there is no record. */
  readonly newest: ReleaseRecordRef | undefined
  /** The newest revision that counts as deployed. */
  readonly live: ReleaseRecordRef | undefined
  /** Newest first. */
  readonly all: readonly ReleaseRecordRef[]
}

export const standingOf = (records: readonly ReleaseRecordRef[]): Standing => {
  const all = [...records].sort((a, b) => b.version - a.version)
  return { newest: all[0], live: all.find(({ status }) => status === 'deployed'), all }
}

/** Reads the labels of one release's records, as the caller. */
export const readStanding = async (releases: Pick<ReleaseStore, 'index'>, place: RecordPlace, signal: AbortSignal): Outcome<RecordFailure, Standing> => {
  const refs = await releases.index(place.cluster, place.driver, { namespace: place.release.namespace, name: place.release.name }, signal)
  return isLeft(refs) ? refs : right(standingOf(refs.right))
}

/** A helm is at work on the revision, or was when it died. */
export const isPending = (record: ReleaseRecordRef | undefined): boolean => record?.status.startsWith('pending-') === true

/** What a caller is told of a revision on which some other helm works or died. */
export const pendingElsewhere = ({ name }: ReleaseKey, newest: ReleaseRecordRef): Failure<'ReleasePending'> =>
  ReleasePending(
    `Revision ${newest.version} of ${name} is ${newest.status}, and no task of this service works on it: another helm is at work, or one died. ` +
      `Wait for it. When it is dead, ${newest.version > 1 ? 'roll back to an earlier revision, or uninstall' : 'uninstall'}.`,
  )

/** One sentence on what is live and what is not. */
export const describeStanding = ({ newest, live }: Standing): string => {
  if (newest === undefined) return 'No revision is recorded.'
  const liveText = live === undefined ? 'No revision is live' : `Revision ${live.version} is live`
  return newest === live ? `${liveText}.` : `${liveText}; revision ${newest.version} is recorded as ${newest.status}.`
}
