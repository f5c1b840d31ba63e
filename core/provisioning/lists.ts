import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { OrgId } from '../kernel/ids.ts'
import { TooMany } from './ports.ts'
import type { Listed, Window } from './types.ts'
import { maxSearchedRows } from './types.ts'

/** A condition of a list. */
export interface Search<Lookup, A> {
  /** Narrows the rows by an index; undefined if no part of the condition has one. */
  readonly lookup: Lookup | undefined
  /** Reports whether a row meets the whole condition. */
  readonly matches: (row: A) => boolean
}

/** Reads the rows of one organization. */
interface Rows<Lookup, A, Id extends number> {
  count(orgId: OrgId): Promise<number>
  page(orgId: OrgId, window: Window): Promise<readonly A[]>
  after(orgId: OrgId, lookup: Lookup | undefined, after: Id | 0, limit: number): Promise<readonly A[]>
}

/** Rows that are read and judged in one turn. */
const sliceRows = 500

/**
 * Lists the rows of an organization that meet a condition. It is judged row by row, in slices, among the rows that its
 * index finds, which are at most `maxSearchedRows`.
 */
export const listRows = async <Lookup, Id extends number, A extends { readonly id: Id }>(
  rows: Rows<Lookup, A, Id>,
  orgId: OrgId,
  search: Search<Lookup, A> | undefined,
  window: Window,
): Outcome<Failure<'TooMany'>, Listed<A>> => {
  if (search === undefined) {
    const total = await rows.count(orgId)
    return right({ items: window.count === 0 ? [] : await rows.page(orgId, window), total })
  }
  const items: A[] = []
  let [total, read] = [0, 0]
  for (let after: Id | 0 = 0; ;) {
    const slice: readonly A[] = await rows.after(orgId, search.lookup, after, sliceRows)
    read += slice.length
    if (read > maxSearchedRows)
      return left(
        TooMany(
          `The filter would search more than ${maxSearchedRows} rows. Filter by eq on id, userName, externalId, ` +
            'displayName or emails.value, alone or with and.',
        ),
      )
    for (const row of slice.filter(search.matches)) {
      total += 1
      if (total >= window.startIndex && items.length < window.count) items.push(row)
    }
    const last = slice.at(-1)
    if (last === undefined || slice.length < sliceRows) return right({ items, total })
    after = last.id
  }
}
