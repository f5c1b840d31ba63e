import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import type {
  ExternalAccountStore,
  ExternalSessionStore,
  NewExternalAccount,
} from '../../../core/identity-providers/ports.ts'
import type { ExternalAccount, ExternalAccountId } from '../../../core/identity-providers/types.ts'
import { aliased, int, long, pick, present, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { insertInto, values } from '../kit/values.ts'
import { externalAccounts, externalSessions, identityProviders } from '../tables/identity-providers.ts'
import { sessions } from '../tables/identity.ts'

const shown = without(externalAccounts, 'subjectHash')
const bySubject = pick(externalAccounts, 'providerId', 'subjectHash')

/** SHA-256 of issuer and subject. An issuer has no line break. */
const subjectHashOf = (issuer: string, subject: string): Uint8Array =>
  createHash('sha256').update(`${issuer}\n${subject}`).digest()

const from = (k: Knex): Knex.QueryBuilder => k('external_accounts')

const linkedRow = pick(aliased(externalAccounts, 'e'), ...(Object.keys(shown) as (keyof typeof shown)[]))

const statements = (db: SqlDatabase) => ({
  bySubject: db.prepare(bySubject, shown, (k, p) =>
    from(k).where('provider_id', p.providerId).where('subject_hash', p.subjectHash),
  ),
  lockBySubject: db.prepare(bySubject, shown, (k, p) =>
    from(k).where('provider_id', p.providerId).where('subject_hash', p.subjectHash).forUpdate(),
  ),
  lockById: db.prepare(pick(externalAccounts, 'id'), shown, (k, p) => from(k).where('id', p.id).forUpdate()),
  ofUser: db.prepare(
    pick(externalAccounts, 'userId'),
    {
      ...linkedRow,
      providerName: { ...aliased(identityProviders, 'p').name, isSelected: false },
      displayName: aliased(identityProviders, 'p').displayName,
      isActive: aliased(identityProviders, 'p').isActive,
      orgId: aliased(identityProviders, 'p').orgId,
      kind: aliased(identityProviders, 'p').kind,
    },
    (k, p) =>
      k('external_accounts as e')
        .join('identity_providers as p', 'p.id', 'e.provider_id')
        .select('p.name as provider_name')
        .where('e.user_id', p.userId)
        .orderBy('e.id'),
  ),
  insert: insertInto(db, externalAccounts, { omitted: ['id', 'sealedRefreshToken', 'nextCheckAt', 'endedAt'] }),
  remove: db.prepare(pick(externalAccounts, 'userId', 'id'), (k, p) =>
    from(k).where('user_id', p.userId).where('id', p.id).delete(),
  ),
  signedIn: db.prepare(
    {
      ...pick(externalAccounts, 'id', 'email', 'sealedRefreshToken', 'nextCheckAt'),
      at: externalAccounts.signedInAt,
    },
    (k, p) =>
      from(k)
        .where('id', p.id)
        .update(
          values(externalAccounts, {
            signedInAt: p.at,
            email: p.email,
            sealedRefreshToken: p.sealedRefreshToken,
            nextCheckAt: p.nextCheckAt,
            endedAt: null,
          }),
        ),
  ),
  due: db.prepare({ now: present(externalAccounts.nextCheckAt), limit: int() }, shown, (k, p) =>
    from(k).where('next_check_at', '<=', p.now).orderBy('next_check_at').limit(p.limit),
  ),
  inForce: db.prepare({ ...pick(externalAccounts, 'providerId'), after: long(), limit: int() }, shown, (k, p) =>
    from(k)
      .where('provider_id', p.providerId)
      .where('id', '>', p.after)
      .whereNull('ended_at')
      .orderBy('id')
      .limit(p.limit),
  ),
  claim: db.prepare(
    {
      id: externalAccounts.id,
      from: present(externalAccounts.nextCheckAt),
      to: present(externalAccounts.nextCheckAt),
    },
    (k, p) =>
      from(k)
        .where('id', p.id)
        .where('next_check_at', p.from)
        .update(values(externalAccounts, { nextCheckAt: p.to })),
  ),
  replaceToken: db.prepare(
    {
      id: externalAccounts.id,
      before: present(externalAccounts.sealedRefreshToken),
      after: present(externalAccounts.sealedRefreshToken),
    },
    (k, p) =>
      from(k)
        .where('id', p.id)
        .where('sealed_refresh_token', p.before)
        .update(values(externalAccounts, { sealedRefreshToken: p.after })),
  ),
  markEnded: db.prepare({ id: externalAccounts.id, at: present(externalAccounts.endedAt) }, (k, p) =>
    from(k)
      .where('id', p.id)
      .update(values(externalAccounts, { endedAt: p.at, sealedRefreshToken: null, nextCheckAt: null })),
  ),
  oldestDue: db.prepare({}, pick(externalAccounts, 'nextCheckAt'), (k) =>
    from(k).whereNotNull('next_check_at').orderBy('next_check_at').limit(1),
  ),
})

/** ExternalAccountStore on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlExternalAccountStore = (db: SqlDatabase): ((runner: SqlRunner) => ExternalAccountStore) => {
  const s = statements(db)
  const rowOf = (account: NewExternalAccount) => ({
    ...account,
    subjectHash: subjectHashOf(account.issuer, account.subject),
  })
  return (runner) => ({
    bySubject: (providerId, issuer, subject) =>
      runner.first(s.bySubject, { providerId, subjectHash: subjectHashOf(issuer, subject) }),
    lockBySubject: (providerId, issuer, subject) =>
      runner.first(s.lockBySubject, { providerId, subjectHash: subjectHashOf(issuer, subject) }),
    lockById: (id) => runner.first(s.lockById, { id }),
    async listOfUser(userId) {
      const rows = await runner.all(s.ofUser, { userId })
      return rows.map(({ providerName: name, displayName, isActive, orgId, kind, ...account }) => ({
        account: account as ExternalAccount,
        provider: { name, displayName, isActive, orgId, kind },
      }))
    },
    async insert(account) {
      try {
        return (await runner.run(s.insert, rowOf(account))).insertId as ExternalAccountId
      } catch (error) {
        if (isUniqueViolation(error)) return undefined
        throw error
      }
    },
    async remove(userId, id) {
      return (await runner.run(s.remove, { userId, id })).affected > 0
    },
    async signedIn(id, given) {
      await runner.run(s.signedIn, { id, ...given })
    },
    due: (now, limit) => runner.all(s.due, { now, limit }),
    inForce: (providerId, after, limit) => runner.all(s.inForce, { providerId, after, limit }),
    async claim(id, from, to) {
      return (await runner.run(s.claim, { id, from, to })).affected > 0
    },
    async replaceToken(id, before, after) {
      await runner.run(s.replaceToken, { id, before, after })
    },
    async markEnded(id, at) {
      await runner.run(s.markEnded, { id, at })
    },
    async oldestDue() {
      return (await runner.first(s.oldestDue, {}))?.nextCheckAt
    },
  })
}

/** ExternalSessionStore on SQL. A row goes with its session. */
export const makeSqlExternalSessionStore = (db: SqlDatabase): ((runner: SqlRunner) => ExternalSessionStore) => {
  const insert = insertInto(db, externalSessions)
  const find = db.prepare(pick(externalSessions, 'sessionId'), externalSessions, (k, p) =>
    k('external_sessions').where('session_id', p.sessionId),
  )
  const ofAccount = db.prepare(pick(externalSessions, 'accountId'), pick(externalSessions, 'sessionId'), (k, p) =>
    k('external_sessions').where('account_id', p.accountId),
  )
  const ofSid = db.prepare(
    { sid: externalSessions.sid, providerId: externalAccounts.providerId },
    { sessionId: aliased(externalSessions, 'x').sessionId, userId: aliased(sessions, 's').userId },
    (k, p) =>
      k('external_sessions as x')
        .join('external_accounts as e', 'e.id', 'x.account_id')
        .join('sessions as s', 's.id', 'x.session_id')
        .where('x.sid', p.sid)
        .where('e.provider_id', p.providerId),
  )
  return (runner) => ({
    async insert(session) {
      await runner.run(insert, session)
    },
    find: (sessionId) => runner.first(find, { sessionId }),
    async ofAccount(accountId) {
      return (await runner.all(ofAccount, { accountId })).map(({ sessionId }) => sessionId)
    },
    ofSid: (providerId, sid) => runner.all(ofSid, { providerId, sid }),
  })
}
