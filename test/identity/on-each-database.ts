import type { ExecutionContext } from 'ava'
import test from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { eachDatabase } from '../support/databases.ts'
import type { IdentityFixture } from './identity-world.ts'
import { makeIdentityFixture } from './identity-world.ts'

/** Declares a test for each kind of database, over an identity of its own. */
export const onEachDatabase = (
  title: string,
  body: (t: ExecutionContext, world: IdentityFixture, db: SqlDatabase) => Promise<void>,
): void => {
  for (const database of eachDatabase()) {
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      const world = makeIdentityFixture(db)
      try {
        await body(t, world, db)
      } finally {
        // What goes on in the background needs the database.
        await world.settled().finally(() => db.close())
      }
    })
  }
}
