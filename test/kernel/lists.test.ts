import test from 'ava'
import fc from 'fast-check'
import { getOrMake } from '../../core/kernel/cache.ts'
import { rowsById } from '../../core/kernel/page.ts'

test('rows that are read by pieces are all rows, each once, in order', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), { maxLength: 30 }),
      fc.integer({ min: 1, max: 10 }),
      async (ids, limit) => {
        const rows = ids.toSorted((a, b) => a - b).map((id) => ({ id }))
        const read: number[] = []
        for await (const { id } of rowsById(limit, async (after, most) =>
          rows.filter((row) => row.id > after).slice(0, most),
        ))
          read.push(id)
        t.deepEqual(
          read,
          rows.map(({ id }) => id),
        )
      },
    ),
  )
})

test('a piece is read only when the one before it has been taken', async (t) => {
  const asked: number[] = []
  for await (const { id } of rowsById(2, async (after) => {
    asked.push(after)
    return [{ id: after + 1 }, { id: after + 2 }]
  })) {
    if (id === 4) break
  }
  t.deepEqual(asked, [0, 2])
})

test('the value of a key is made once', (t) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', 'c')), (keys) => {
      const made: string[] = []
      const map = new Map<string, { readonly key: string }>()
      const make = (key: string) => () => {
        made.push(key)
        return { key }
      }
      const values = keys.map((key) => getOrMake(map, key, make(key)))
      return (
        values.every((value, at) => value === map.get(keys[at] ?? '') && value.key === keys[at]) &&
        made.length === new Set(keys).size
      )
    }),
  )
  t.pass()
})
