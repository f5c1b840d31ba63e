import type { ExecutionContext } from 'ava'
import test from 'ava'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { eachDatabase } from '../support/databases.ts'
import type { IdentityFixture } from './identity-fixture.ts'
import { makeIdentityFixture } from './identity-fixture.ts'

/** Declares a test for each kind of database, over an identity of its own. */
export const onEachDatabase = (
  title: string,
  body: (t: ExecutionContext, fixture: IdentityFixture, db: SqlDatabase) => Promise<void>,
): void => {
  for (const database of eachDatabase()) {
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      const fixture = makeIdentityFixture(db)
      try {
        await body(t, fixture, db)
      } finally {
        // What goes on in the background needs the database.
        await fixture.settled().finally(() => db.close())
      }
    })
  }
}
