import { nodePemReader } from '../../adapters/charts/repositories/credentials.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlChartRepositoryStore } from '../../adapters/sql/chart-repositories/chart-repository-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { makeRepositorySafe } from '../../core/chart-repositories/repository-rules.ts'
import {
  ChartRepositoryStoreToken,
  ChartRepositoryUnitOfWorkToken,
  NamedRepositoriesToken,
  PemReaderToken,
} from '../../core/chart-repositories/ports.ts'
import { makeNamedRepositories } from '../../core/chart-repositories/repositories.ts'
import { EntropyToken } from '../../core/kernel/secret.ts'
import type { Provide } from '../boot.ts'

/** Provides the named chart repositories of accounts. */
export const provideChartRepositories: Provide = (container, { database, secretBox }) => {
  const bindStore = makeSqlChartRepositoryStore(database)
  container.provideValue(PemReaderToken, nodePemReader)
  container.provide(ChartRepositoryStoreToken, () => bindStore(database))
  container.provide(NamedRepositoriesToken, (resolve) =>
    makeNamedRepositories({
      repositories: resolve(ChartRepositoryStoreToken),
      safe: makeRepositorySafe({ secretBox, entropy: resolve(EntropyToken) }),
    }),
  )
  container.provide(ChartRepositoryUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ repositories: bindStore(tx), audit }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
}
