import { openDatabase } from '../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { TestService } from '../support/service.ts'

/** The database of a running service, opened a second time. */
export const openStoreOf = async <A>(
  { databaseUrl }: Pick<TestService, 'databaseUrl'>,
  work: (database: SqlDatabase) => Promise<A>,
): Promise<A> => {
  const database = await openDatabase(databaseUrl)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}
