import type { UsageKind, UsageKindId, UsageMonth } from '../../../core/usage/types.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, pick, qualified, without } from '../kit/columns.ts'
import { idList, rowsOfIds } from '../kit/key-lists.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
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

/** An object `o` with the id of its kind. */
export const objectWithKindId = { ...objectRow, kindId: aliased(usageObjects, 'o').kindId }

const kindRow = qualified(usageKinds, 'k')
/** A bound on what senders can make a process remember. */
const mostKinds = 10_000

/** Adds the kinds to rows that have the ids of their kinds. */
export type WithKinds = <R extends { readonly kindId: UsageKindId }>(
  runner: SqlRunner,
  rows: readonly R[],
) => Promise<readonly (R & UsageKind)[]>

/**
 * Returns the function that adds kinds to rows. The rows of `usage_kinds` never change, so that the function reads each
 * of them once. A join would do the same on one server; where objects are on several, it asks for the kind of each row.
 */
export const makeWithKinds = (db: Pick<SqlDatabase, 'prepare'>): WithKinds => {
  const list = idList(db, usageKinds.id, {}, kindRow, (k, _, ids) => k('usage_kinds as k').whereIn('k.id', ids))
  const known = new Map<UsageKindId, UsageKind>()
  return async (runner, rows) => {
    const missing = [...new Set(rows.map(({ kindId }) => kindId))].filter((kindId) => !known.has(kindId))
    const read = new Map(
      missing.length === 0
        ? []
        : (await rowsOfIds(runner, list, missing, {})).map(({ id, ...kind }): [UsageKindId, UsageKind] => [id, kind]),
    )
    for (const [id, kind] of read) if (known.size < mostKinds) known.set(id, kind)
    return rows.map((row) => {
      const kind = known.get(row.kindId) ?? read.get(row.kindId)
      if (kind === undefined) throw new Error(`The kind ${row.kindId} of an object does not exist.`)
      return { ...row, ...kind }
    })
  }
}
