import { left, right } from 'fp-ts/lib/Either.js'
import { ChartRepositoryNameTaken, type ChartRepositoryStore } from '../../../core/packages/repositories/ports.ts'
import type {
  ChartRepositoryContent,
  ChartRepositoryId,
  SealedChartRepository,
} from '../../../core/packages/repositories/types.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { ownedRows } from '../kit/owned-rows.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { columnsOf, tableName, without } from '../kit/columns.ts'
import { chartRepositories } from '../tables/packages.ts'
import type { Binds, Row } from '../kit/columns.ts'
import type { DriverRow } from '../kit/row-reader.ts'
import { selected } from '../kit/fragments.ts'
import { rowReader } from '../kit/row-reader.ts'

const content = without(chartRepositories, 'id', 'accountId', 'name', 'createdAt', 'updatedAt', 'version')
const repositoryRow = columnsOf(chartRepositories)

const repositoryOf = ({ plainHttp, sealedCredentials, ...row }: Row<typeof repositoryRow>): SealedChartRepository => ({
  ...row,
  isPlainHttp: plainHttp,
  holds: row.holds === '' ? [] : row.holds.split(','),
  box: sealedCredentials,
})

const contentBinds = ({ isPlainHttp, holds, box, ...binds }: ChartRepositoryContent): Binds<typeof content> => ({
  ...binds,
  plainHttp: isPlainHttp,
  holds: holds.join(','),
  sealedCredentials: box,
})

/** ChartRepositoryStore over the table `chart_repositories`. */
export const makeSqlChartRepositoryStore = (db: SqlDatabase): ((runner: SqlRunner) => ChartRepositoryStore) => {
  const rowsOf = ownedRows(db, {
    table: chartRepositories,
    owner: { field: 'accountId', table: 'accounts' },
    name: 'name',
    shown: repositoryRow,
    content,
  })
  return (runner) => {
    const rows = rowsOf(runner)
    return {
      listOf: async (accountId, page) => mapPage(await rows.list(accountId, page), repositoryOf),
      async listIn(accountIds, limit) {
        if (accountIds.length === 0) return []
        const found = await runner.query<DriverRow>((k) =>
          selected(k, k(tableName(chartRepositories)).whereIn('account_id', [...accountIds]), repositoryRow)
            .orderBy(['account_id', 'name'])
            .limit(limit),
        )
        return found.map((row) => repositoryOf(rowReader(repositoryRow)(row)))
      },
      async find(accountId, name) {
        const row = await rows.find(accountId, name)
        return row === undefined ? undefined : repositoryOf(row)
      },
      lockCount: (accountId) => rows.lockCount(accountId),
      async insert(accountId, name, content, at) {
        const id = await rows.insert(accountId, name, contentBinds(content), at)
        return id === undefined
          ? left(ChartRepositoryNameTaken('The name of the chart repository is already in use.'))
          : right(id as ChartRepositoryId)
      },
      replace: (accountId, id, version, content, at) => rows.replace(accountId, id, version, contentBinds(content), at),
      remove: async (accountId, name) => (await rows.remove(accountId, name)) as ChartRepositoryId | undefined,
    }
  }
}
