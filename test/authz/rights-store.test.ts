import { makeSqlRightsStore } from '../../adapters/sql/authz/access-context.ts'
import { eachDatabase } from '../support/databases.ts'
import { rightsStoreSuite } from './rights-store.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

for (const database of eachDatabase()) {
  declareSuite(rightsStoreSuite, database.name, async () => {
    const db = await database.open()
    await rightsStoreSuite.fill?.(db)
    const change = async (id: number, to: Readonly<Record<string, number>>): Promise<void> => {
      await db.query((k) => k('users').where({ id }).update(to))
    }
    return {
      store: makeSqlRightsStore(db)(db),
      disable: (id) => change(id, { is_active: 0 }),
      prohibit: (id) => change(id, { prohibit_login: 1 }),
      close: () => db.close(),
    }
  })
}
