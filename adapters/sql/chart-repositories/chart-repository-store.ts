import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import { ChartRepositoryNameTaken, type ChartRepositoryStore } from '../../../core/chart-repositories/ports.ts'
import type { ChartRepositoryContent, ChartRepositoryId, SealedChartRepository } from '../../../core/chart-repositories/types.ts'
import type { AccountId } from '../../../core/kernel/ids.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
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

const table = 'chart_repositories'

const statements = (db: SqlDatabase) => ({
  find: db.prepare((k, p: (n: 'accountId' | 'name') => Knex.Value) => k(table).where('account_id', p('accountId')).where('name', p('name')).select(...columns)),
  lockAccount: db.prepare((k, p: (n: 'accountId') => Knex.Value) => k('accounts').where('id', p('accountId')).select('id').forUpdate()),
  count: db.prepare((k, p: (n: 'accountId') => Knex.Value) => k(table).where('account_id', p('accountId')).count('* as total')),
  insert: db.prepare((k, p: (n: (typeof contentColumns)[number] | 'accountId' | 'name' | 'at') => Knex.Value) =>
    k(table).insert({
      account_id: p('accountId'),
      name: p('name'),
      ...Object.fromEntries(contentColumns.map((column) => [column, p(column)])),
      created_at: p('at'),
      updated_at: p('at'),
      version: 1,
    }),
  ),
  replace: db.prepare((k, p: (n: (typeof contentColumns)[number] | 'accountId' | 'id' | 'version' | 'at') => Knex.Value) =>
    k(table)
      .where('account_id', p('accountId'))
      .where('id', p('id'))
      .where('version', p('version'))
      .update({
        ...Object.fromEntries(contentColumns.map((column) => [column, p(column)])),
        updated_at: p('at'),
        version: k.raw('?? + 1', ['version']),
      }),
  ),
  idOf: db.prepare((k, p: (n: 'accountId' | 'name') => Knex.Value) => k(table).where('account_id', p('accountId')).where('name', p('name')).select('id').forUpdate()),
  remove: db.prepare((k, p: (n: 'accountId' | 'id') => Knex.Value) => k(table).where('account_id', p('accountId')).where('id', p('id')).del()),
})

/** ChartRepositoryStore over the table `chart_repositories`. */
export const makeSqlChartRepositoryStore = (db: SqlDatabase): ((runner: SqlRunner) => ChartRepositoryStore) => {
  const s = statements(db)
  const countOf = async (runner: SqlRunner, accountId: AccountId): Promise<number> => Number((await runner.first<{ total: number }>(s.count, { accountId }))?.total ?? 0)
  return (runner) => ({
    async listOf(accountId, page) {
      const rows = await runner.query<RepositoryRow>((k) => k(table).where('account_id', accountId).select(...columns).orderBy('name').limit(page.limit).offset(pageOffset(page)))
      return { items: rows.map(repositoryOf), total: await countOf(runner, accountId) }
    },
    async listIn(accountIds, limit) {
      if (accountIds.length === 0) return []
      const rows = await runner.query<RepositoryRow>((k) => k(table).whereIn('account_id', [...accountIds]).select(...columns).orderBy(['account_id', 'name']).limit(limit))
      return rows.map(repositoryOf)
    },
    async find(accountId, name) {
      const row = await runner.first<RepositoryRow>(s.find, { accountId, name })
      return row === undefined ? undefined : repositoryOf(row)
    },
    async lockCount(accountId) {
      await runner.first(s.lockAccount, { accountId })
      return countOf(runner, accountId)
    },
    async insert(accountId, name, content, at) {
      try {
        const { insertId } = await runner.run(s.insert, { ...contentBinds(content), accountId, name, at: at.getTime() })
        return right(insertId as ChartRepositoryId)
      } catch (error) {
        if (!isUniqueViolation(error, 'name')) throw error
        return left(ChartRepositoryNameTaken('The name of the chart repository is already in use.'))
      }
    },
    async replace(accountId, id, version, content, at) {
      const { affected } = await runner.run(s.replace, { ...contentBinds(content), accountId, id, version, at: at.getTime() })
      return affected > 0
    },
    async remove(accountId, name) {
      const row = await runner.first<{ id: number }>(s.idOf, { accountId, name })
      if (row === undefined) return undefined
      await runner.run(s.remove, { accountId, id: row.id })
      return Number(row.id) as ChartRepositoryId
    },
  })
}
