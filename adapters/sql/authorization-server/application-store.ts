import type { Knex } from 'knex'
import type { ApplicationStore } from '../../../core/authorization-server/ports.ts'
import type { Application, ApplicationId, ApplicationOwner } from '../../../core/authorization-server/types.ts'
import { long, pick, selectedAs, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { oauthApplications } from '../tables/authorization-server.ts'
import { accounts } from '../tables/identity.ts'

/** The key of the site: no account has the id 0. */
const ownerKeyOf = (owner: ApplicationOwner): number => owner ?? 0

const keyOfOwner = ({ orgId, userId }: Pick<Application, 'orgId' | 'userId'>): number => ownerKeyOf(orgId ?? userId)

const shown = without(oauthApplications, 'ownerKey')
const owned = pick(oauthApplications, 'ownerKey', 'id')
const content = pick(oauthApplications, 'name', 'addresses', 'logo', 'robotId')
const secrets = pick(oauthApplications, 'secretHash', 'formerSecretHash', 'formerSecretUntil')
const versioned = { ...pick(oauthApplications, 'id', 'ownerKey', 'version'), at: oauthApplications.updatedAt }

const from = (k: Knex): Knex.QueryBuilder => k('oauth_applications')
const next = (k: Knex) => k.raw('?? + 1', ['version'])

const statements = (db: SqlDatabase) => ({
  list: typedPage(
    db,
    pick(oauthApplications, 'ownerKey'),
    shown,
    (k, p) => from(k).where('owner_key', p.ownerKey),
    (_, rows, cut) => cut(rows.orderBy('id')),
  ),
  find: db.prepare(owned, shown, (k, p) => from(k).where('owner_key', p.ownerKey).where('id', p.id)),
  byId: db.prepare(pick(oauthApplications, 'id'), shown, (k, p) => from(k).where('id', p.id)),
  byClientId: db.prepare(pick(oauthApplications, 'clientId'), shown, (k, p) => from(k).where('client_id', p.clientId)),
  lockOwner: db.prepare(pick(accounts, 'id'), pick(accounts, 'id'), (k, p) =>
    k('accounts').where('id', p.id).forUpdate(),
  ),
  count: db.prepare(pick(oauthApplications, 'ownerKey'), { total: selectedAs(long()) }, (k, p) =>
    from(k).where('owner_key', p.ownerKey).count('* as total'),
  ),
  insert: insertInto(db, oauthApplications, { omitted: ['id', 'isTrusted', 'version'] }),
  replace: db.prepare({ ...content, ...versioned }, (k, p) =>
    from(k)
      .where('id', p.id)
      .where('owner_key', p.ownerKey)
      .where('version', p.version)
      .update({ ...assigned(content, p), ...values(oauthApplications, { updatedAt: p.at, version: next(k) }) }),
  ),
  replaceSecrets: db.prepare({ ...secrets, ...versioned }, (k, p) =>
    from(k)
      .where('id', p.id)
      .where('owner_key', p.ownerKey)
      .where('version', p.version)
      .update({ ...assigned(secrets, p), ...values(oauthApplications, { updatedAt: p.at, version: next(k) }) }),
  ),
  trust: db.prepare({ ...pick(oauthApplications, 'id', 'isTrusted'), at: oauthApplications.updatedAt }, (k, p) =>
    from(k)
      .where('id', p.id)
      .update(values(oauthApplications, { isTrusted: p.isTrusted, updatedAt: p.at, version: next(k) })),
  ),
  remove: db.prepare(pick(oauthApplications, 'id'), (k, p) => from(k).where('id', p.id).delete()),
})

/** ApplicationStore on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlApplicationStore = (db: SqlDatabase): ((runner: SqlRunner) => ApplicationStore) => {
  const s = statements(db)
  return (runner) => ({
    list: (owner, page) => s.list(runner, { ownerKey: ownerKeyOf(owner) }, page),
    find: (owner, id) => runner.first(s.find, { ownerKey: ownerKeyOf(owner), id }),
    byId: (id) => runner.first(s.byId, { id }),
    byClientId: (clientId) => runner.first(s.byClientId, { clientId }),
    async count(owner) {
      if (owner !== undefined) await runner.first(s.lockOwner, { id: owner })
      return (await runner.first(s.count, { ownerKey: ownerKeyOf(owner) }))?.total ?? 0
    },
    async insert({ owner, ...application }) {
      const row = { ...application, ...owner, ownerKey: keyOfOwner(owner), updatedAt: application.createdAt }
      try {
        return (await runner.run(s.insert, row)).insertId as ApplicationId
      } catch (error) {
        if (isUniqueViolation(error)) return undefined
        throw error
      }
    },
    async replace({ id, version, ...owner }, { name, addresses, logo, robotId }, at) {
      const binds = { id, version, ownerKey: keyOfOwner(owner), name, addresses, logo, robotId, at }
      return (await runner.run(s.replace, binds)).affected > 0
    },
    async replaceSecrets({ id, version, ...owner }, { secretHash, formerSecretHash, formerSecretUntil }, at) {
      const binds = { id, version, ownerKey: keyOfOwner(owner), secretHash, formerSecretHash, formerSecretUntil, at }
      return (await runner.run(s.replaceSecrets, binds)).affected > 0
    },
    async setTrusted(id, isTrusted, at) {
      await runner.run(s.trust, { id, isTrusted, at })
    },
    async remove(id) {
      return (await runner.run(s.remove, { id })).affected > 0
    },
  })
}
