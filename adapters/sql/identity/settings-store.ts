import type { Knex } from 'knex'
import type { PageSizeStore, SiteRulesStore } from '../../../core/identity/accounts/ports.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'

type Bind = 'userId' | 'product' | 'console' | 'platform'
interface PageSizeRow {
  readonly product_ui: number | string
  readonly console_ui: number | string
  readonly platform_ui: number | string
}

/** Page sizes on SQL: one row for each user who chose any. */
export const makeSqlPageSizeStore = (db: SqlDatabase): ((runner: SqlRunner) => PageSizeStore) => {
  const s = {
    find: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
      k('page_sizes').where('user_id', p('userId')).select('product_ui', 'console_ui', 'platform_ui'),
    ),
    put: db.prepare((k, p: (n: Bind) => Knex.Value) =>
      k('page_sizes')
        .insert({
          user_id: p('userId'),
          product_ui: p('product'),
          console_ui: p('console'),
          platform_ui: p('platform'),
        })
        .onConflict('user_id')
        .merge(['product_ui', 'console_ui', 'platform_ui']),
    ),
  }
  return (runner) => ({
    async find(userId) {
      const row = await runner.first<PageSizeRow>(s.find, { userId })
      if (row === undefined) return undefined
      return {
        productUi: Number(row.product_ui),
        consoleUi: Number(row.console_ui),
        platformUi: Number(row.platform_ui),
      }
    },
    async put(userId, { productUi, consoleUi, platformUi }) {
      await runner.run(s.put, { userId, product: productUi, console: consoleUi, platform: platformUi })
    },
  })
}

const registration = 'registration_open'

const statements = (db: SqlDatabase) => ({
  setting: db.prepare((k, p: (n: 'name') => Knex.Value) => k('site_settings').where('name', p('name')).select('value')),
  set: db.prepare((k, p: (n: 'name' | 'value') => Knex.Value) =>
    k('site_settings')
      .insert({ name: p('name'), value: p('value') })
      .onConflict('name')
      .merge({ value: p('value') }),
  ),
  domains: db.prepare((k) => k('allowed_domains').select('domain').orderBy('domain')),
  addDomain: db.prepare((k, p: (n: 'domain') => Knex.Value) =>
    k('allowed_domains')
      .insert({ domain: p('domain') })
      .onConflict('domain')
      .ignore(),
  ),
  removeDomain: db.prepare((k, p: (n: 'domain') => Knex.Value) =>
    k('allowed_domains').where('domain', p('domain')).delete(),
  ),
})

/** The rules of the site on SQL. A rule that was never set is closed. */
export const makeSqlSiteRulesStore = (db: SqlDatabase): ((runner: SqlRunner) => SiteRulesStore) => {
  const s = statements(db)
  return (runner) => ({
    async read() {
      const setting = await runner.first<{ value: string }>(s.setting, { name: registration })
      const domains = await runner.all<{ domain: string }>(s.domains, {})
      return { isRegistrationOpen: setting?.value === 'true', allowedDomains: domains.map((row) => row.domain) }
    },
    async setRegistrationOpen(isOpen) {
      await runner.run(s.set, { name: registration, value: String(isOpen) })
    },
    async addDomain(domain) {
      return (await runner.run(s.addDomain, { domain })).affected > 0
    },
    async removeDomain(domain) {
      return (await runner.run(s.removeDomain, { domain })).affected > 0
    },
  })
}
