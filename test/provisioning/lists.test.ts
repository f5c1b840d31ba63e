import test from 'ava'
import type { OrgId } from '../../core/kernel/ids.ts'
import { listRows } from '../../core/provisioning/lists.ts'
import { maxSearchedRows } from '../../core/provisioning/types.ts'
import { tagOf, unwrap } from '../support/outcome.ts'

/** Rows with the ids from 1 to `count`; a lookup finds those from the id that it names on. */
const rowsUpTo = (count: number) => {
  const all = Array.from({ length: count }, (_, index) => ({ id: index + 1 }))
  return {
    count: async () => count,
    page: async (_org: OrgId, window: { readonly startIndex: number; readonly count: number }) =>
      all.slice(window.startIndex - 1, window.startIndex - 1 + window.count),
    after: async (_org: OrgId, lookup: number | undefined, after: number, limit: number) =>
      all.filter(({ id }) => id > after && id >= (lookup ?? 0)).slice(0, limit),
  }
}

const org = 1 as OrgId
const isEven = ({ id }: { readonly id: number }): boolean => id % 2 === 0

test('a filter counts every row that meets it and returns the window', async (t) => {
  const search = { lookup: undefined, matches: isEven }
  const found = unwrap(await listRows(rowsUpTo(2400), org, search, { startIndex: 501, count: 2 }))
  t.deepEqual(found, { items: [{ id: 1002 }, { id: 1004 }], total: 1200 })
  const none = unwrap(await listRows(rowsUpTo(2400), org, search, { startIndex: 1, count: 0 }))
  t.deepEqual(none, { items: [], total: 1200 })
})

test('a filter without an index is refused beyond its rows, and a lookup narrows them', async (t) => {
  const window = { startIndex: 1, count: 1 }
  const all = { lookup: undefined, matches: isEven }
  t.is(tagOf(await listRows(rowsUpTo(maxSearchedRows), org, all, window)), 'done')
  t.is(tagOf(await listRows(rowsUpTo(maxSearchedRows + 1), org, all, window)), 'TooMany')
  const some = { lookup: maxSearchedRows, matches: isEven }
  t.like(unwrap(await listRows(rowsUpTo(maxSearchedRows + 1), org, some, window)), { total: 1 })
})

test('a list without a filter is a page of all rows', async (t) => {
  const window = { startIndex: 11, count: 2 }
  const found = unwrap(await listRows(rowsUpTo(maxSearchedRows * 3), org, undefined, window))
  t.deepEqual(found, { items: [{ id: 11 }, { id: 12 }], total: maxSearchedRows * 3 })
})
