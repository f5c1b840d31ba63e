import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { ProviderOwner, ProviderStore } from '../../../core/identity-providers/ports.ts'
import { ProviderNameTaken } from '../../../core/identity-providers/ports.ts'
import type { ProviderContent, ProviderId } from '../../../core/identity-providers/types.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { Binds } from '../kit/columns.ts'
import { aliased, cutTo, int, long, pick, present, selectedAs, without } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { identityProviders, organizationDomains } from '../tables/identity-providers.ts'
import { organizations, orgMembers } from '../tables/organizations.ts'

/** The key of the site: no organization has the id 0. */
export const ownerKeyOf = (owner: ProviderOwner): number => owner ?? 0

const shown = without(identityProviders, 'ownerKey', 'updatedAt')
const shownFields = Object.keys(shown) as (keyof typeof shown)[]
const content = pick(
  identityProviders,
  'kind',
  'name',
  'displayName',
  'isActive',
  'issuer',
  'clientId',
  'ref',
  'sealedSecret',
  'options',
  'directory',
)
const byOwner = pick(identityProviders, 'ownerKey')
const owned = pick(identityProviders, 'ownerKey', 'id')

const from = (k: Knex): Knex.QueryBuilder => k('identity_providers')

const statements = (db: SqlDatabase) => ({
  list: typedPage(
    db,
    byOwner,
    shown,
    (k, p) => from(k).where('owner_key', p.ownerKey),
    (_, rows, cut) => cut(rows.orderBy('name')),
  ),
  find: db.prepare(owned, shown, (k, p) => from(k).where('owner_key', p.ownerKey).where('id', p.id)),
  findByName: db.prepare(pick(identityProviders, 'ownerKey', 'name'), shown, (k, p) =>
    from(k).where('owner_key', p.ownerKey).where('name', p.name),
  ),
  active: db.prepare(pick(identityProviders, 'id'), shown, (k, p) =>
    from(k)
      .where('id', p.id)
      .where(values(identityProviders, { isActive: true })),
  ),
  ofMember: db.prepare(
    { userId: orgMembers.userId, limit: int() },
    pick(aliased(identityProviders, 'p'), ...shownFields),
    (k, p) =>
      k('org_members as m')
        .join('identity_providers as p', 'p.owner_key', 'm.org_id')
        .where('m.user_id', p.userId)
        .where('p.is_active', 1)
        .orderBy(['m.org_id', 'p.name'])
        .limit(p.limit),
  ),
  ofDomain: db.prepare(
    { domain: present(organizationDomains.verifiedDomain) },
    { id: aliased(identityProviders, 'p').id },
    (k, p) =>
      k('organization_domains as d')
        .join('identity_providers as p', 'p.owner_key', 'd.org_id')
        .where('d.verified_domain', p.domain)
        .where('p.is_active', 1)
        .orderBy('p.id')
        .limit(1),
  ),
  lockOwner: db.prepare({ id: organizations.id }, pick(organizations, 'id'), (k, p) =>
    k('organizations').where('id', p.id).forUpdate(),
  ),
  count: db.prepare(byOwner, { total: selectedAs(long()) }, (k, p) =>
    from(k).where('owner_key', p.ownerKey).count('* as total'),
  ),
  insert: insertInto(db, identityProviders, {
    omitted: ['id', 'discoveredAt', 'lastProblem', 'comparedAt', 'withheldEnds', 'confirmedEnds', 'version'],
  }),
  replace: db.prepare(
    { ...content, ...owned, version: identityProviders.version, at: identityProviders.updatedAt },
    (k, p) =>
      from(k)
        .where('owner_key', p.ownerKey)
        .where('id', p.id)
        .where('version', p.version)
        .update({
          ...assigned(content, p),
          ...values(identityProviders, { updatedAt: p.at, version: k.raw('?? + 1', ['version']) }),
        }),
  ),
  remove: db.prepare(owned, (k, p) => from(k).where('owner_key', p.ownerKey).where('id', p.id).delete()),
  states: db.prepare(
    {},
    { working: selectedAs(long()), failing: selectedAs(long()), active: selectedAs(long()) },
    (k) =>
      from(k)
        .where(values(identityProviders, { isActive: true }))
        .select(
          k.raw("count(case when last_problem = '' and discovered_at is not null then 1 end) as working"),
          k.raw("count(case when last_problem <> '' then 1 end) as failing"),
          k.raw('count(*) as active'),
        ),
  ),
  works: db.prepare({ id: identityProviders.id, at: present(identityProviders.discoveredAt) }, (k, p) =>
    from(k)
      .where('id', p.id)
      .update(values(identityProviders, { discoveredAt: p.at, lastProblem: '' })),
  ),
  fails: db.prepare({ id: identityProviders.id, problem: identityProviders.lastProblem }, (k, p) =>
    from(k)
      .where('id', p.id)
      .update(values(identityProviders, { lastProblem: p.problem })),
  ),
})

/** What the comparisons with directories read and write. */
const directoryStatements = (db: SqlDatabase) => ({
  dueDirectories: db.prepare({ now: present(identityProviders.nextCheckAt), limit: int() }, shown, (k, p) =>
    from(k)
      .where('next_check_at', '<=', p.now)
      .where(values(identityProviders, { isActive: true }))
      .orderBy('next_check_at')
      .limit(p.limit),
  ),
  claimCheck: db.prepare(
    {
      id: identityProviders.id,
      from: present(identityProviders.nextCheckAt),
      to: present(identityProviders.nextCheckAt),
    },
    (k, p) =>
      from(k)
        .where('id', p.id)
        .where('next_check_at', p.from)
        .update(values(identityProviders, { nextCheckAt: p.to })),
  ),
  compared: db.prepare(
    {
      id: identityProviders.id,
      at: present(identityProviders.comparedAt),
      withheldEnds: identityProviders.withheldEnds,
    },
    (k, p) =>
      from(k)
        .where('id', p.id)
        .update(values(identityProviders, { comparedAt: p.at, withheldEnds: p.withheldEnds, confirmedEnds: 0 })),
  ),
  confirmEnds: db.prepare(
    { ...owned, ends: identityProviders.withheldEnds, at: present(identityProviders.nextCheckAt) },
    (k, p) =>
      from(k)
        .where('owner_key', p.ownerKey)
        .where('id', p.id)
        .where('withheld_ends', p.ends)
        .update(values(identityProviders, { confirmedEnds: p.ends, nextCheckAt: p.at })),
  ),
  oldestCheck: db.prepare({}, pick(identityProviders, 'nextCheckAt'), (k) =>
    from(k)
      .whereNotNull('next_check_at')
      .where(values(identityProviders, { isActive: true }))
      .orderBy('next_check_at')
      .limit(1),
  ),
  withheldSum: db.prepare({}, { total: selectedAs(long()) }, (k) =>
    from(k)
      .where(values(identityProviders, { isActive: true }))
      .select(k.raw('coalesce(sum(withheld_ends), 0) as total')),
  ),
})

const nameTaken = () => left(ProviderNameTaken('name: another identity provider has this name.'))

const contentBinds = (made: ProviderContent): Binds<typeof content> => made

/** ProviderStore on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlProviderStore = (db: SqlDatabase): ((runner: SqlRunner) => ProviderStore) => {
  const s = { ...statements(db), ...directoryStatements(db) }
  return (runner) => ({
    list: (owner, page) => s.list(runner, { ownerKey: ownerKeyOf(owner) }, page),
    find: (owner, id) => runner.first(s.find, { ownerKey: ownerKeyOf(owner), id }),
    findByName: (owner, name) => runner.first(s.findByName, { ownerKey: ownerKeyOf(owner), name }),
    active: (id) => runner.first(s.active, { id }),
    ofMember: (userId, limit) => runner.all(s.ofMember, { userId, limit }),
    async ofDomain(domain) {
      return (await runner.first(s.ofDomain, { domain }))?.id
    },
    async count(owner) {
      if (owner !== undefined) await runner.first(s.lockOwner, { id: owner })
      return (await runner.first(s.count, { ownerKey: ownerKeyOf(owner) }))?.total ?? 0
    },
    async insert(owner, made, at) {
      try {
        const row = {
          ...contentBinds(made),
          orgId: owner,
          ownerKey: ownerKeyOf(owner),
          nextCheckAt: made.kind === 'ldap' ? at : undefined,
          createdAt: at,
          updatedAt: at,
        }
        return right((await runner.run(s.insert, row)).insertId as ProviderId)
      } catch (error) {
        if (isUniqueViolation(error)) return nameTaken()
        throw error
      }
    },
    async replace(owner, id, version, made, at) {
      try {
        const binds = { ...contentBinds(made), ownerKey: ownerKeyOf(owner), id, version, at }
        return right((await runner.run(s.replace, binds)).affected > 0)
      } catch (error) {
        if (isUniqueViolation(error)) return nameTaken()
        throw error
      }
    },
    async remove(owner, id) {
      return (await runner.run(s.remove, { ownerKey: ownerKeyOf(owner), id })).affected > 0
    },
    async states() {
      const { working = 0, failing = 0, active = 0 } = (await runner.first(s.states, {})) ?? {}
      return { working, failing, unused: active - working - failing }
    },
    dueDirectories: (now, limit) => runner.all(s.dueDirectories, { now, limit }),
    async claimCheck(id, was, to) {
      return (await runner.run(s.claimCheck, { id, from: was, to })).affected > 0
    },
    async markCompared(id, withheldEnds, at) {
      await runner.run(s.compared, { id, at, withheldEnds })
    },
    async confirmEnds(owner, id, ends, at) {
      return (await runner.run(s.confirmEnds, { ownerKey: ownerKeyOf(owner), id, ends, at })).affected > 0
    },
    async directoryState() {
      const [oldest, withheld] = [await runner.first(s.oldestCheck, {}), await runner.first(s.withheldSum, {})]
      return { oldestDue: oldest?.nextCheckAt, withheldEnds: withheld?.total ?? 0 }
    },
    async mark(id, problem, at) {
      if (problem === '') await runner.run(s.works, { id, at })
      else await runner.run(s.fails, { id, problem: cutTo(identityProviders.lastProblem, problem) })
    },
  })
}
