import type { Knex } from 'knex'
import type { SiteRulesStore } from '../../../core/identity/site-ports.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'

const registration = 'registration_open'

const statements = (db: SqlDatabase) => ({
  setting: db.prepare((k, p: (n: 'name') => Knex.Value) => k('site_settings').where('name', p('name')).select('value')),
  set: db.prepare((k, p: (n: 'name' | 'value') => Knex.Value) =>
    k('site_settings').insert({ name: p('name'), value: p('value') }).onConflict('name').merge({ value: p('value') }),
  ),
  domains: db.prepare((k) => k('allowed_domains').select('domain').orderBy('domain')),
  addDomain: db.prepare((k, p: (n: 'domain') => Knex.Value) =>
    k('allowed_domains').insert({ domain: p('domain') }).onConflict('domain').ignore(),
  ),
  removeDomain: db.prepare((k, p: (n: 'domain') => Knex.Value) => k('allowed_domains').where('domain', p('domain')).delete()),
})

/** The rules of the site on SQL. What was never set is closed. */
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
