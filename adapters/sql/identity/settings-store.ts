import type { PageSizeStore, SiteRulesStore } from '../../../core/identity/accounts/ports.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { without } from '../kit/columns.ts'
import { insertInto, newRow } from '../kit/values.ts'
import { pageSizes } from '../tables/identity.ts'
import { siteSettingStatements } from '../kernel/site-settings.ts'
import { allowedDomains } from '../tables/kernel.ts'

/** Page sizes on SQL: one row for each user who chose any. */
export const makeSqlPageSizeStore = (db: SqlDatabase): ((runner: SqlRunner) => PageSizeStore) => {
  const s = {
    find: db.prepare({ userId: pageSizes.userId }, without(pageSizes, 'userId'), (k, p) =>
      k('page_sizes').where('user_id', p.userId),
    ),
    put: insertInto(db, pageSizes, {}, (insert) =>
      insert.onConflict('user_id').merge(Object.values(without(pageSizes, 'userId')).map(({ name }) => name)),
    ),
  }
  return (runner) => ({
    async find(userId) {
      return runner.first(s.find, { userId })
    },
    async put(userId, sizes) {
      await runner.run(s.put, { ...sizes, userId })
    },
  })
}

const registration = 'registration_open'

const statements = (db: SqlDatabase) => ({
  ...siteSettingStatements(db),
  domains: db.prepare({}, { domain: allowedDomains.domain }, (k) => k('allowed_domains').orderBy('domain')),
  addDomain: db.prepare({ domain: allowedDomains.domain }, (k, p) =>
    k('allowed_domains')
      .insert(newRow(allowedDomains, { domain: p.domain }))
      .onConflict('domain')
      .ignore(),
  ),
  removeDomain: db.prepare({ domain: allowedDomains.domain }, (k, p) =>
    k('allowed_domains').where('domain', p.domain).delete(),
  ),
})

/** The rules of the site on SQL. A rule that was never set is closed. */
export const makeSqlSiteRulesStore = (db: SqlDatabase): ((runner: SqlRunner) => SiteRulesStore) => {
  const s = statements(db)
  return (runner) => ({
    async read() {
      const setting = await runner.first(s.find, { name: registration })
      const domains = await runner.all(s.domains, {})
      return { isRegistrationOpen: setting?.value === 'true', allowedDomains: domains.map((row) => row.domain) }
    },
    async setRegistrationOpen(isOpen) {
      await runner.run(s.put, { name: registration, value: String(isOpen) })
    },
    async addDomain(domain) {
      return (await runner.run(s.addDomain, { domain })).affected > 0
    },
    async removeDomain(domain) {
      return (await runner.run(s.removeDomain, { domain })).affected > 0
    },
  })
}
