import { createHash } from 'node:crypto'
import { v5 } from 'uuid'
import { toWireJson } from '../../core/kernel/json.ts'
import type { UsageDigests } from '../../core/marketplace/metering/ports.ts'

/** The namespace of keys of usage. It never changes: usage that was sent would be sent again. */
const namespace = '6e0d9d0e-5a1c-4b6b-9c55-0d1f3d7b1c21'

/** UsageDigests by UUID version 5 and SHA-256. */
export const usageDigests: UsageDigests = {
  key: (texts) => v5(toWireJson(texts), namespace),
  digest: (texts) => createHash('sha256').update(toWireJson(texts)).digest('hex'),
}
