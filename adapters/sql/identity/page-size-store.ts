import type { Knex } from 'knex'
import type { PageSizeStore } from '../../../core/identity/page-size-ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

type Bind = 'userId' | 'product' | 'console' | 'platform'
interface PageSizeRow {
  readonly product_ui: number | string
  readonly console_ui: number | string
  readonly platform_ui: number | string
}

/** Page sizes on SQL: a row for each user who chose some. */
export const makeSqlPageSizeStore = (db: SqlDatabase): ((runner: SqlRunner) => PageSizeStore) => {
  const s = {
    find: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
      k('page_sizes').where('user_id', p('userId')).select('product_ui', 'console_ui', 'platform_ui'),
    ),
    put: db.prepare((k, p: (n: Bind) => Knex.Value) =>
      k('page_sizes')
        .insert({ user_id: p('userId'), product_ui: p('product'), console_ui: p('console'), platform_ui: p('platform') })
        .onConflict('user_id')
        .merge(['product_ui', 'console_ui', 'platform_ui']),
    ),
  }
  return (runner) => ({
    async find(userId) {
      const row = await runner.first<PageSizeRow>(s.find, { userId })
      if (row === undefined) return undefined
      return { productUi: Number(row.product_ui), consoleUi: Number(row.console_ui), platformUi: Number(row.platform_ui) }
    },
    async put(userId, { productUi, consoleUi, platformUi }) {
      await runner.run(s.put, { userId, product: productUi, console: consoleUi, platform: platformUi })
    },
  })
}
