import type { UsageMonth } from '../../../core/usage/types.ts'
import type { Row } from '../kit/columns.ts'
import { pick, qualified, without } from '../kit/columns.ts'
import { usageKinds, usageMonths, usageNamespaces, usageObjects } from '../tables/usage.ts'

/** A revision `m`. */
export const monthRow = qualified(
  pick(usageMonths, 'id', 'ownerId', 'month', 'revision', 'status', 'generatedAt', 'inputHash'),
  'm',
)

/** Returns the revision of a row that has further columns. */
export const monthOf = ({
  id,
  ownerId,
  month,
  revision,
  status,
  generatedAt,
  inputHash,
}: Row<typeof monthRow>): UsageMonth => ({ id, ownerId, month, revision, status, generatedAt, inputHash })

/** What was observed of a namespace. */
export const namespaceRow = without(usageNamespaces, 'clusterId')

/** An object `o`. */
export const objectRow = qualified(without(usageObjects, 'kindId', 'lastHeardDay', 'sendsHeartbeats'), 'o')

/** The kind `k` of an object. */
export const kindRow = qualified(without(usageKinds, 'id'), 'k')
