import { makeSqlContractStore } from '../../adapters/sql/contracts/contract-store.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { systemClock } from '../../adapters/system/system-clock.ts'
import type { Contract, ContractId } from '../../core/contracts/types.ts'
import type { TestService } from '../support/service.ts'
import { openPatiently } from '../support/databases.ts'

/** The database of a running service, opened a second time. */
export const openStoreOf = async <A>(
  { databaseUrl }: Pick<TestService, 'databaseUrl'>,
  work: (database: SqlDatabase) => Promise<A>,
): Promise<A> => {
  const database = await openPatiently(databaseUrl)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** A contract of a running service whose deployment has no routes of contracts. */
export const contractOf = (service: Pick<TestService, 'databaseUrl'>, id: ContractId): Promise<Contract | undefined> =>
  openStoreOf(service, (database) => makeSqlContractStore(database, systemClock)(database).getAny(id))
