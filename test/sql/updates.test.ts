import test from 'ava'
import fc from 'fast-check'
import { anyRow } from '../support/any-row.ts'
import { eachDatabase } from '../support/databases.ts'
import { storeChanges } from './store-changes.fixture.ts'

for (const { name, open } of eachDatabase()) {
  for (const [what, { columns, chosen, prepare }] of Object.entries(storeChanges)) {
    test(`${name}: a change of ${what} saves every field`, async (t) => {
      const db = await open()
      try {
        const change = await prepare(db)
        await fc.assert(
          fc.asyncProperty(anyRow(columns), fc.record({ ...chosen }), async (any, some) => {
            const fields = { ...any, ...some }
            const stored: Readonly<Record<string, unknown>> = { ...(await change(fields)) }
            for (const field of Object.keys(columns)) t.deepEqual(plain(stored[field]), plain(fields[field]), field)
          }),
          { numRuns: 5 },
        )
      } finally {
        await db.close()
      }
    })
  }
}

const plain = (value: unknown): unknown => (value instanceof Uint8Array ? [...value] : value)
