import type { Knex } from 'knex'
import type { SignInStore } from '../../../core/authorization-server/ports.ts'
import { aliased, int, pick } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { oauthApplications, oauthSignIns } from '../tables/authorization-server.ts'

const s = aliased(oauthSignIns, 's')
const ended = { ...pick(s, 'id', 'userId', 'sid', 'attempts'), clientId: aliased(oauthApplications, 'a').clientId }
const bySid = { ...pick(oauthApplications, 'clientId'), ...pick(oauthSignIns, 'sid') }

/** The application with this client id. */
const application = (k: Knex, clientId: Knex.Value): Knex.QueryBuilder =>
  k('oauth_applications').select('id').where('client_id', clientId)

const statements = (db: SqlDatabase) => ({
  add: insertInto(db, oauthSignIns, { omitted: ['id', 'attempts'] }),
  end: db.prepare({ ...bySid, dueAt: oauthSignIns.dueAt }, (k, p) =>
    k('oauth_sign_ins')
      .where('application_id', application(k, p.clientId as never))
      .where('sid', p.sid)
      .whereNotNull('session_id')
      .update(values(oauthSignIns, { sessionId: null, dueAt: p.dueAt })),
  ),
  removeReported: db.prepare(bySid, (k, p) =>
    k('oauth_sign_ins')
      .where('application_id', application(k, p.clientId as never))
      .where('sid', p.sid)
      .delete(),
  ),
  dueApplications: db.prepare({ at: oauthSignIns.dueAt, limit: int() }, pick(oauthSignIns, 'applicationId'), (k, p) =>
    k('oauth_sign_ins')
      .distinct('application_id')
      .whereNull('session_id')
      .where('due_at', '<=', p.at)
      .limit(p.limit as never),
  ),
  due: db.prepare({ ...pick(oauthSignIns, 'applicationId'), at: oauthSignIns.dueAt, limit: int() }, ended, (k, p) =>
    k('oauth_sign_ins as s')
      .join('oauth_applications as a', 'a.id', 's.application_id')
      .whereNull('s.session_id')
      .where('s.application_id', p.applicationId)
      .where('s.due_at', '<=', p.at)
      .orderBy('s.due_at')
      .limit(p.limit as never),
  ),
  postpone: db.prepare(
    { ...pick(oauthSignIns, 'applicationId'), at: oauthSignIns.dueAt, until: oauthSignIns.dueAt },
    (k, p) =>
      k('oauth_sign_ins')
        .whereNull('session_id')
        .where('application_id', p.applicationId)
        .where('due_at', '<=', p.at)
        .update(values(oauthSignIns, { dueAt: p.until, attempts: k.raw('?? + 1', ['attempts']) })),
  ),
  remove: db.prepare(pick(oauthSignIns, 'id'), (k, p) => k('oauth_sign_ins').where('id', p.id).delete()),
})

/** SignInStore on SQL. The foreign key of a sign-in makes it due when its session is deleted. */
export const makeSqlSignInStore = (db: SqlDatabase): SignInStore => {
  const prepared = statements(db)
  return {
    async add({ at, ...signIn }) {
      try {
        await db.run(prepared.add, { ...signIn, dueAt: at })
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
      }
    },
    async end(clientId, sid, dueAt) {
      await db.run(prepared.end, { clientId, sid, dueAt })
    },
    async removeReported(clientId, sid) {
      await db.run(prepared.removeReported, { clientId, sid })
    },
    async dueApplications(at, limit) {
      return (await db.all(prepared.dueApplications, { at, limit })).map(({ applicationId }) => applicationId)
    },
    due: (applicationId, at, limit) => db.all(prepared.due, { applicationId, at, limit }),
    async postpone(applicationId, at, until) {
      await db.run(prepared.postpone, { applicationId, at, until })
    },
    async remove(id) {
      await db.run(prepared.remove, { id })
    },
  }
}
