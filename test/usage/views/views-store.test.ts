import test from 'ava'
import { makeSqlUsageViewStore } from '../../../adapters/sql/usage/view-store.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { monthKey } from '../../../core/usage/month.ts'
import { countingRunner } from '../../authz/counting-runner.ts'
import { eachDatabase } from '../../support/databases.ts'
import { plantRevision } from '../planted-months.ts'
import { monthOfPlans } from '../product-months.ts'
import { declareSuite } from '../../support/declare-suite.ts'
import { viewStoreSuite } from '../view-store.suite.ts'

for (const database of eachDatabase()) {
  const open = async () => {
    const db = await database.open()
    return { db, views: makeSqlUsageViewStore(db)(db), close: () => db.close() }
  }
  declareSuite(viewStoreSuite, `${database.name}: views`, open)

  test(`${database.name}: other work proceeds during the division of a view`, async (t) => {
    const { db, views, close } = await open()
    try {
      await plantRevision(db, 12, [monthOfPlans([])])
      const key = { product: 'dbProduct', view: 'objects-usage-view', viewType: 'total' } as const
      const empty = await views.find(12 as AccountId, monthKey(2026, 6), key)
      const view = { ...empty!, pieceCount: 6, first: undefined }
      await db.run(
        db.prepare({}, (k) => k('usage_view_pieces').where('view_id', view.id).delete()),
        {},
      )
      for (let piece = 0; piece < view.pieceCount; piece += 1)
        await views.addPiece(view.id, piece, { firstKey: String(piece), items: Buffer.from(`{"piece":${piece}}`) })
      let turns = 0
      const turning = setInterval(() => (turns += 1), 0)
      const read = async (): Promise<void> => {
        let last = turns
        for await (const text of views.pieces(view)) {
          last = turns
          const end = performance.now() + 20
          while (performance.now() < end) t.is(turns, last)
          t.true(text.length > 0)
        }
      }
      await Promise.all([read(), read(), read()])
      clearInterval(turning)
      t.true(turns > view.pieceCount, `${turns} turns while ${3 * view.pieceCount} pieces were read`)
    } finally {
      await close()
    }
  })

  test(`${database.name}: a view of one piece takes one statement`, async (t) => {
    const { db, close } = await open()
    try {
      await plantRevision(db, 11, [
        monthOfPlans([{ cluster: 1, kind: 'Redis', namespace: 'shop', name: 'cache', used: [] }]),
      ])
      const runner = countingRunner(db)
      const views = makeSqlUsageViewStore(db)(runner)
      runner.taken()
      const view = await views.find(11 as AccountId, monthKey(2026, 6), {
        product: 'dbProduct',
        view: 'objects-usage-view',
        viewType: 'total',
      })
      for await (const { size } of views.packedPieces(view!)) t.true(size > 0)
      t.is(runner.taken(), 1)
    } finally {
      await close()
    }
  })
}
