import { makeSqlAttemptCounters } from '../../adapters/sql/identity/attempt-counters.ts'
import { eachDatabase } from '../support/databases.ts'
import { testAttemptCounters } from './attempt-counters.suite.ts'
import { passForAttempts } from './pass-for-attempts.ts'

for (const database of eachDatabase()) {
  testAttemptCounters(database.name, async () => {
    const db = await database.open()
    return {
      counters: makeSqlAttemptCounters(db),
      others: makeSqlAttemptCounters(db),
      pass: (milliseconds) => passForAttempts(db, milliseconds),
      close: () => db.close(),
    }
  })
}
