import { chartRepositoriesMigrations } from '../../../adapters/sql/packages/migrations.ts'
import { nodePemReader } from '../../../adapters/charts/repositories/credentials.ts'
import { makeSqlChartRepositoryStore } from '../../../adapters/sql/packages/chart-repository-store.ts'
import { makeRepositorySafe } from '../../../core/packages/repositories/repository-rules.ts'
import {
  ChartRepositoryStorePort,
  ChartRepositoryUnitOfWorkPort,
  NamedRepositoriesPort,
  PemReaderPort,
} from '../../../core/packages/repositories/ports.ts'
import { makeNamedRepositories } from '../../../core/packages/repositories/repositories.ts'
import { EntropyPort } from '../../../core/kernel/secret.ts'
import { chartRepositoriesPlugin } from '../../../plugins/packages/repositories/plugin.ts'
import { bind, lazily } from '../../part/binding.ts'
import { definePart } from '../../part/part.ts'
import { bindUnitOfWork } from '../units-of-work.ts'

/** The named chart repositories of accounts. */
export const part = definePart({
  plugin: chartRepositoriesPlugin,
  migrations: chartRepositoriesMigrations,
  tags: [{ name: 'Chart Repositories', description: 'Sources of charts.', after: 'Multi-cluster' }],
  provide({ database, secretBox }) {
    const store = lazily(() => makeSqlChartRepositoryStore(database))
    return [
      bind(PemReaderPort, {}, () => nodePemReader),
      bind(ChartRepositoryStorePort, {}, () => store()(database)),
      bind(
        NamedRepositoriesPort,
        { repositories: ChartRepositoryStorePort, entropy: EntropyPort },
        ({ repositories, entropy }) =>
          makeNamedRepositories({ repositories, safe: makeRepositorySafe({ secretBox, entropy }) }),
      ),
      bindUnitOfWork(database, ChartRepositoryUnitOfWorkPort, () => (tx) => ({ repositories: store()(tx) })),
    ]
  },
})
