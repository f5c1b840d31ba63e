import test from 'ava'
import { makeSqlUsageViewStore } from '../../adapters/sql/usage/view-store.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { monthKey } from '../../core/usage/month.ts'
import { countingRunner } from '../authz/counting-runner.ts'
import { eachDatabase } from '../support/databases.ts'
import { plantRevision } from './planted-months.ts'
import { monthOfPlans } from './product-months.ts'
import { viewStoreSuite } from './view-store.suite.ts'

for (const database of eachDatabase()) {
  const open = async () => {
    const db = await database.open()
    return { db, views: makeSqlUsageViewStore(db)(db), close: () => db.close() }
  }
  viewStoreSuite(database.name, open)

  test(`${database.name}: a view of one piece takes one statement`, async (t) => {
    const { db, close } = await open()
    try {
      await plantRevision(db, 11, [monthOfPlans([{ cluster: 1, kind: 'Redis', namespace: 'shop', name: 'cache', used: [] }])])
      const runner = countingRunner(db)
      const views = makeSqlUsageViewStore(db)(runner)
      runner.taken()
      const view = await views.find(11 as AccountId, monthKey(2026, 6), { product: 'dbProduct', view: 'objects-usage-view', viewType: 'total' })
      for await (const { size } of views.packedPieces(view!)) t.true(size > 0)
      t.is(runner.taken(), 1)
    } finally {
      await close()
    }
  })
}
