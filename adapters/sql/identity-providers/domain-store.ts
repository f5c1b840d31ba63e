import type { Knex } from 'knex'
import type { DomainStore } from '../../../core/identity-providers/ports.ts'
import { int, pick, present, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { organizationDomains } from '../tables/identity-providers.ts'

const shown = without(organizationDomains, 'verifiedDomain')
const owned = pick(organizationDomains, 'orgId', 'id')

const from = (k: Knex): Knex.QueryBuilder => k('organization_domains')

const statements = (db: SqlDatabase) => ({
  list: db.prepare(pick(organizationDomains, 'orgId'), shown, (k, p) =>
    from(k).where('org_id', p.orgId).orderBy('domain'),
  ),
  find: db.prepare(owned, shown, (k, p) => from(k).where('org_id', p.orgId).where('id', p.id)),
  insert: insertInto(db, organizationDomains, {
    omitted: ['id', 'verifiedDomain', 'verifiedAt', 'checkedAt', 'failingSince'],
  }),
  remove: db.prepare(owned, (k, p) => from(k).where('org_id', p.orgId).where('id', p.id).delete()),
  verify: db.prepare(
    { ...pick(organizationDomains, 'id', 'domain'), at: present(organizationDomains.verifiedAt) },
    (k, p) =>
      from(k)
        .where('id', p.id)
        .update({
          ...values(organizationDomains, { verifiedDomain: p.domain, checkedAt: p.at, failingSince: null }),
          verified_at: k.raw('coalesce(??, ?)', ['verified_at', p.at]),
        }),
  ),
  markFailing: db.prepare(
    {
      id: organizationDomains.id,
      since: present(organizationDomains.failingSince),
      at: present(organizationDomains.checkedAt),
    },
    (k, p) =>
      from(k)
        .where('id', p.id)
        .update(values(organizationDomains, { failingSince: p.since, checkedAt: p.at })),
  ),
  unverify: db.prepare({ id: organizationDomains.id, at: present(organizationDomains.checkedAt) }, (k, p) =>
    from(k)
      .where('id', p.id)
      .update(
        values(organizationDomains, { verifiedDomain: null, verifiedAt: null, failingSince: null, checkedAt: p.at }),
      ),
  ),
  toCheck: db.prepare({ at: present(organizationDomains.checkedAt), limit: int() }, shown, (k, p) =>
    from(k).where('checked_at', '<', p.at).whereNotNull('verified_domain').orderBy('checked_at').limit(p.limit),
  ),
  hasVerified: db.prepare(
    { orgId: organizationDomains.orgId, domain: present(organizationDomains.verifiedDomain) },
    pick(organizationDomains, 'id'),
    (k, p) => from(k).where('verified_domain', p.domain).where('org_id', p.orgId),
  ),
})

/** DomainStore on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlDomainStore = (db: SqlDatabase): ((runner: SqlRunner) => DomainStore) => {
  const s = statements(db)
  const isUnlessTaken = async (run: () => Promise<unknown>): Promise<boolean> => {
    try {
      await run()
      return true
    } catch (error) {
      if (isUniqueViolation(error)) return false
      throw error
    }
  }
  return (runner) => ({
    list: (orgId) => runner.all(s.list, { orgId }),
    find: (orgId, id) => runner.first(s.find, { orgId, id }),
    insert: (domain) => isUnlessTaken(() => runner.run(s.insert, domain)),
    async remove(orgId, id) {
      return (await runner.run(s.remove, { orgId, id })).affected > 0
    },
    verify: (id, domain, at) => isUnlessTaken(() => runner.run(s.verify, { id, domain, at })),
    async markFailing(id, since, at) {
      await runner.run(s.markFailing, { id, since, at })
    },
    async unverify(id, at) {
      await runner.run(s.unverify, { id, at })
    },
    toCheck: (at, limit) => runner.all(s.toCheck, { at, limit }),
    async hasVerified(orgId, domain) {
      return (await runner.first(s.hasVerified, { orgId, domain })) !== undefined
    },
  })
}
