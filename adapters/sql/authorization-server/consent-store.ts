import type { ConsentStore } from '../../../core/authorization-server/ports.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { aliased, pick } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { oauthApplications, oauthConsents } from '../tables/authorization-server.ts'

const key = pick(oauthConsents, 'userId', 'applicationId')
const c = aliased(oauthConsents, 'c')
const listed = {
  ...pick(c, 'id', 'userId', 'applicationId', 'scopes', 'counter', 'createdAt', 'updatedAt'),
  applicationName: aliased(oauthApplications, 'a').name,
  logo: aliased(oauthApplications, 'a').logo,
}

const statements = (db: SqlDatabase) => ({
  list: typedPage(
    db,
    pick(oauthConsents, 'userId'),
    listed,
    (k, p) => k('oauth_consents as c').where('c.user_id', p.userId),
    (_, rows, cut) => cut(rows.join('oauth_applications as a', 'a.id', 'c.application_id').orderBy('c.id', 'desc')),
  ),
  find: db.prepare(key, oauthConsents, (k, p) =>
    k('oauth_consents').where('user_id', p.userId).where('application_id', p.applicationId),
  ),
  insert: insertInto(db, oauthConsents, { omitted: ['id'] }),
  update: db.prepare({ ...key, ...pick(oauthConsents, 'scopes'), at: oauthConsents.updatedAt }, (k, p) =>
    k('oauth_consents')
      .where('user_id', p.userId)
      .where('application_id', p.applicationId)
      .update(values(oauthConsents, { scopes: p.scopes, updatedAt: p.at, counter: k.raw('?? + 1', ['counter']) })),
  ),
  remove: db.prepare(key, (k, p) =>
    k('oauth_consents').where('user_id', p.userId).where('application_id', p.applicationId).delete(),
  ),
})

const wordsOf = <A extends { readonly scopes: string }>({ scopes, ...row }: A) => ({
  ...row,
  scopes: scopes.split(' ').filter((word) => word !== ''),
})

/** ConsentStore on SQL. */
export const makeSqlConsentStore = (db: SqlDatabase): ((runner: SqlRunner) => ConsentStore) => {
  const s = statements(db)
  return (runner) => ({
    async list(userId, page) {
      return mapPage(await s.list(runner, { userId }, page), wordsOf)
    },
    async find(userId, applicationId) {
      const row = await runner.first(s.find, { userId, applicationId })
      return row === undefined ? undefined : wordsOf(row)
    },
    async save(userId, applicationId, scopes, at) {
      const stored = { userId, applicationId, scopes: scopes.join(' ') }
      if ((await runner.run(s.update, { ...stored, at })).affected > 0) return
      await runner.run(s.insert, { ...stored, counter: 1, createdAt: at, updatedAt: at })
    },
    async remove(userId, applicationId) {
      return (await runner.run(s.remove, { userId, applicationId })).affected > 0
    },
  })
}
