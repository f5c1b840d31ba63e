import { isLeft, isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../../core/kernel/clock.ts'
import { RecordChanged, ReleaseMissing, type ReleaseStore } from '../../../core/packages/ports.ts'
import type { StorageDriver } from '../../../core/packages/types.ts'
import { amendInfo } from './record-members.ts'
import { makeHeaderCache, makeReadHeaders } from './headers.ts'
import { makeHeaderDecoder } from './header-decoder.ts'
import type { RecordObject } from './record-objects.ts'
import { readIndex, objectPath, refusalOf, orUnreadable, payloadOf, readObject } from './record-objects.ts'
import { headerOf, parseRecord, releaseOf, pack, unpack } from './record-payload.ts'
import { definedFields } from '../../../core/kernel/json.ts'

/** Characters of cached headers: about ten thousand headers. */
const cacheChars = 32 * 1024 * 1024

type Change = Parameters<ReleaseStore['amend']>[3]

const amended = async (driver: StorageDriver, object: RecordObject, change: Change, at: Date): Promise<RecordObject> => {
  const json = (await unpack(payloadOf(driver, object))).toString()
  const { labels = {} } = object.metadata
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...labels, ...definedFields({ status: change.status }), modifiedAt: String(Math.floor(at.getTime() / 1000)) },
    },
    data: { ...object.data, release: await pack(driver, amendInfo(json, change)) },
  }
}

/** ReleaseStore over the records that Helm 3 and 4 keep in Secrets or ConfigMaps. */
export const makeHelmReleaseStore = ({ clock }: { readonly clock: Clock }): ReleaseStore & { close(): Promise<void> } => {
  const decoder = makeHeaderDecoder()
  return {
    index: readIndex,
    headers: makeReadHeaders({ cache: makeHeaderCache(cacheChars), decoder }),

    async read(cluster, driver, ref, signal) {
      const object = await readObject(cluster, driver, ref, signal)
      if (isLeft(object)) return object
      return orUnreadable(ref, async () => releaseOf(parseRecord((await unpack(payloadOf(driver, object.right))).toString()), ref))
    },

    async amend(cluster, driver, ref, change, signal) {
      const changed = left(RecordChanged(`The record of the release ${ref.name}, revision ${ref.version}, was changed by another request.`))
      const object = await readObject(cluster, driver, ref, signal)
      if (isLeft(object)) return object
      const { uid, resourceVersion } = object.right.metadata
      if (uid !== ref.uid || resourceVersion !== ref.resourceVersion) return changed
      const next = await orUnreadable(ref, async () => {
        const content = parseRecord((await unpack(payloadOf(driver, object.right))).toString())
        headerOf(content, ref)
        return amended(driver, object.right, change, clock.now())
      })
      if (isLeft(next)) return next
      // An update, not a patch: Helm itself requires the right to update.
      const written = await cluster.request(
        { method: 'PUT', target: objectPath(driver, ref), headers: [['content-type', 'application/json']], body: Buffer.from(JSON.stringify(next.right)) },
        signal,
      )
      if (!isRight(written)) return written
      if (written.right.status === 409) return changed
      if (written.right.status === 404) return left(ReleaseMissing(`The revision ${ref.version} of the release ${ref.name} is no longer there.`))
      return written.right.status === 200 ? right(undefined) : left(refusalOf(written.right))
    },

    close: () => decoder.close(),
  }
}
