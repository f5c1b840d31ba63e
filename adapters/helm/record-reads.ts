import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { MemberCluster } from '../../core/clusters/ports.ts'
import type { Failure, Outcome } from '../../core/kernel/failure.ts'
import { RecordUnreadable, ReleaseMissing, type RecordFailure } from '../../core/packages/ports.ts'
import type { ReleaseRecordRef, StorageDriver } from '../../core/packages/types.ts'
import { objectPath, RecordObject, refusalOf } from './record-objects.ts'
import { packedBytes, PayloadUnreadable } from './record-payload.ts'

/** No object of Kubernetes is larger: 1 MiB of data, in base64, with its metadata. */
const limitBytes = 4 * 1024 * 1024

export const unreadable = ({ namespace, objectName }: ReleaseRecordRef): Failure<'RecordUnreadable'> =>
  RecordUnreadable(`The object ${objectName} in the namespace ${namespace} is no release record that can be read.`)

/** One object with its data. Failures beside those of reading: ReleaseMissing when it is gone. */
export const readObject = async (
  cluster: MemberCluster,
  driver: StorageDriver,
  ref: ReleaseRecordRef,
  signal: AbortSignal,
): Outcome<RecordFailure | Failure<'ReleaseMissing'>, RecordObject> => {
  const asked = await cluster.request({ method: 'GET', target: objectPath(driver, ref), limitBytes }, signal)
  if (isLeft(asked)) return asked
  if (asked.right.status === 404) return left(ReleaseMissing(`The revision ${ref.version} of the release ${ref.name} is no longer there.`))
  if (asked.right.status !== 200) return left(refusalOf(asked.right))
  const object = RecordObject.decode(asked.right.json)
  return isRight(object) ? object : left(unreadable(ref))
}

/** The packed record of an object. Throws PayloadUnreadable. */
export const payloadOf = (driver: StorageDriver, { data }: RecordObject): Buffer => {
  const text = data?.['release']
  if (text === undefined || text === '') throw new PayloadUnreadable('no record')
  return packedBytes(driver, text)
}

/** Answers what `work` made, or that the record cannot be read when it threw PayloadUnreadable. */
export const orUnreadable = async <A>(ref: ReleaseRecordRef, work: () => Promise<A>): Outcome<Failure<'RecordUnreadable'>, A> => {
  try {
    return right(await work())
  } catch (error) {
    if (!(error instanceof PayloadUnreadable)) throw error
    return left(unreadable(ref))
  }
}
