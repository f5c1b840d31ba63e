import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { toWireJson } from '../../core/kernel/json.ts'
import type { RecordSizes } from '../../core/packages/release-task-ports.ts'

const compress = promisify(gzip)

/** Packs as Helm does, off the event loop, and counts. */
export const gzipRecordSizes: RecordSizes = {
  async packed({ record, files }) {
    const listed = [...files].map(([name, bytes]) => `{"name":${JSON.stringify(name)},"data":"${Buffer.from(bytes).toString('base64')}"}`)
    const packed = await compress(Buffer.from(`${toWireJson(record)}[${listed.join(',')}]`), { level: constants.Z_BEST_COMPRESSION })
    return Math.ceil(packed.length / 3) * 4
  },
}
