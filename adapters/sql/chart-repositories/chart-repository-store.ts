import { left, right } from 'fp-ts/lib/Either.js'
import { ChartRepositoryNameTaken, type ChartRepositoryStore } from '../../../core/chart-repositories/ports.ts'
import type {
  ChartRepositoryContent,
  ChartRepositoryId,
  SealedChartRepository,
} from '../../../core/chart-repositories/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { ownedRows } from '../kit/owned-rows.ts'
import type { Bind, SqlDatabase, SqlRunner } from '../kit/statement.ts'

interface RepositoryRow {
  readonly id: number
  readonly account_id: number
  readonly name: string
  readonly url: string
  readonly plain_http: number
  readonly description: string
  readonly username: string
  readonly holds: string
  readonly ref: string
  readonly sealed_credentials: Uint8Array | null
  readonly created_at: number
  readonly updated_at: number
  readonly version: number
}

const contentColumns = ['url', 'plain_http', 'description', 'username', 'holds', 'ref', 'sealed_credentials'] as const
const columns = ['id', 'account_id', 'name', ...contentColumns, 'created_at', 'updated_at', 'version'] as const

const repositoryOf = (row: RepositoryRow): SealedChartRepository => ({
  id: Number(row.id) as ChartRepositoryId,
  accountId: Number(row.account_id) as AccountId,
  name: row.name,
  url: row.url,
  isPlainHttp: Number(row.plain_http) === 1,
  description: row.description,
  username: row.username,
  holds: row.holds === '' ? [] : row.holds.split(','),
  ref: row.ref,
  box: row.sealed_credentials ?? undefined,
  createdAt: new Date(Number(row.created_at)),
  updatedAt: new Date(Number(row.updated_at)),
  version: Number(row.version),
})

const contentBinds = (content: ChartRepositoryContent): Record<(typeof contentColumns)[number], Bind> => ({
  url: content.url,
  plain_http: content.isPlainHttp ? 1 : 0,
  description: content.description,
  username: content.username,
  holds: content.holds.join(','),
  ref: content.ref,
  sealed_credentials: content.box ?? null,
})

const repositories = {
  table: 'chart_repositories',
  owner: { column: 'account_id', table: 'accounts' },
  name: 'name',
  shown: columns,
  content: contentColumns,
} as const

/** ChartRepositoryStore over the table `chart_repositories`. */
export const makeSqlChartRepositoryStore = (db: SqlDatabase): ((runner: SqlRunner) => ChartRepositoryStore) => {
  const rowsOf = ownedRows<RepositoryRow, (typeof contentColumns)[number]>(db, repositories)
  return (runner) => {
    const rows = rowsOf(runner)
    return {
      listOf: async (accountId, page) => mapPage(await rows.list(accountId, page), repositoryOf),
      async listIn(accountIds, limit) {
        if (accountIds.length === 0) return []
        const found = await runner.query<RepositoryRow>((k) =>
          k(repositories.table)
            .whereIn('account_id', [...accountIds])
            .select(...columns)
            .orderBy(['account_id', 'name'])
            .limit(limit),
        )
        return found.map(repositoryOf)
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
