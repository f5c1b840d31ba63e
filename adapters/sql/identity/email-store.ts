import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { LinkCodeStore } from '../../../core/identity/emails/ports.ts'
import type { EmailStore } from '../../../core/identity/ports.ts'
import { EmailTaken } from '../../../core/identity/ports.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { emailRow, emailWithLogin } from './rows.ts'
import { makeSearchTerms, matchedEmails, prefixRange, rangeParams } from './user-search.ts'
import { pick } from '../kit/columns.ts'
import { typedPage } from '../kit/page-query.ts'
import { newRow, values } from '../kit/values.ts'
import { emails, identityCodes } from '../tables/identity.ts'

/** Joins the owner `a` to addresses `e`. */
const withLogin = (rows: Knex.QueryBuilder): Knex.QueryBuilder => rows.join('accounts as a', 'a.id', 'e.user_id')

const statements = (db: SqlDatabase) => ({
  list: db.prepare({ userId: emails.userId }, emailRow, (k, p) =>
    k('emails')
      .where('user_id', p.userId)
      .orderBy([{ column: 'is_primary', order: 'desc' }, { column: 'id' }]),
  ),
  isTaken: db.prepare({ key: emails.lowerEmail }, { id: emails.id }, (k, p) => k('emails').where('lower_email', p.key)),
  ownerOf: db.prepare({ key: emails.lowerEmail }, { userId: emails.userId }, (k, p) =>
    k('emails').where('lower_email', p.key),
  ),
  listAll: typedPage(
    db,
    {},
    emailWithLogin,
    (k) => k('emails as e'),
    (_, rows, cut) => cut(withLogin(rows).orderBy('e.lower_email')),
  ),
  search: typedPage(
    db,
    rangeParams,
    emailWithLogin,
    (k, p) => k.from(matchedEmails(k, p).as('found')),
    (_, rows, cut) =>
      cut(
        withLogin(rows.join('emails as e', 'e.id', 'found.email_id')).orderBy([
          { column: 'found.place' },
          { column: 'e.lower_email' },
        ]),
      ),
  ),
  insert: db.prepare(
    {
      ...pick(emails, 'userId', 'email', 'verified', 'verifiedAt', 'isPrimary'),
      key: emails.lowerEmail,
      at: emails.createdAt,
    },
    (k, p) =>
      k('emails').insert(
        newRow(emails, {
          userId: p.userId,
          email: p.email,
          lowerEmail: p.key,
          verified: p.verified,
          verifiedAt: p.verifiedAt,
          isPrimary: p.isPrimary,
          createdAt: p.at,
        }),
      ),
  ),
  remove: db.prepare(pick(emails, 'userId', 'id'), (k, p) =>
    k('emails').where('user_id', p.userId).where('id', p.id).delete(),
  ),
  dropPrimary: db.prepare({ userId: emails.userId }, (k, p) =>
    k('emails')
      .where('user_id', p.userId)
      .update(values(emails, { isPrimary: false })),
  ),
  verify: db.prepare({ userId: emails.userId, key: emails.lowerEmail, at: emails.verifiedAt }, (k, p) =>
    k('emails')
      .where(values(emails, { userId: p.userId, lowerEmail: p.key }))
      .update(values(emails, { verified: true, verifiedAt: p.at })),
  ),
  lapsed: db.prepare({ key: emails.lowerEmail, before: emails.createdAt }, pick(emails, 'id', 'userId'), (k, p) =>
    k('emails')
      .where(values(emails, { lowerEmail: p.key, verified: false, isPrimary: false }))
      .where('created_at', '<', p.before),
  ),
  removeUnconfirmed: db.prepare({ id: emails.id }, (k, p) =>
    k('emails')
      .where(values(emails, { id: p.id, verified: false, isPrimary: false }))
      .delete(),
  ),
  makePrimary: db.prepare(pick(emails, 'userId', 'id'), (k, p) =>
    k('emails')
      .where('user_id', p.userId)
      .where('id', p.id)
      .update(values(emails, { isPrimary: true })),
  ),
})

/** Addresses on SQL. A unique key over all users prevents duplicates from concurrent requests. */
export const makeSqlEmailStore = (db: SqlDatabase): ((runner: SqlRunner) => EmailStore) => {
  const s = statements(db)
  const bindTerms = makeSearchTerms(db)
  return (runner) => {
    const terms = bindTerms(runner)
    return {
      async list(userId) {
        return runner.all(s.list, { userId })
      },
      async isTaken(key) {
        return (await runner.first(s.isTaken, { key })) !== undefined
      },
      async ownerOf(key) {
        const row = await runner.first(s.ownerOf, { key })
        return row === undefined ? undefined : row.userId
      },
      async listAll(text, page) {
        const found = text === '' ? await s.listAll(runner, {}, page) : await s.search(runner, prefixRange(text), page)
        return mapPage(found, ({ login, ...email }) => ({ email, login }))
      },
      async insert(userId, email, verified, isPrimary, at) {
        try {
          await runner.run(s.insert, {
            userId,
            email: email.text,
            key: email.key,
            verified,
            verifiedAt: verified ? at : undefined,
            isPrimary,
            at,
          })
          await terms.learnEmail(email.key)
          return right(undefined)
        } catch (error) {
          if (isUniqueViolation(error, 'lower_email')) return left(EmailTaken('This e-mail address is already in use.'))
          throw error
        }
      },
      async remove(userId, ids) {
        for (const id of ids) await runner.run(s.remove, { userId, id })
      },
      async verify(userId, key, at) {
        return (await runner.run(s.verify, { userId, key, at })).affected === 1
      },
      async releaseUnconfirmed(key, before) {
        const row = await runner.first(s.lapsed, {
          key,
          before,
        })
        if (row === undefined) return undefined
        const removed = await runner.run(s.removeUnconfirmed, { id: row.id })
        return removed.affected === 1 ? row.userId : undefined
      },
      async makePrimary(userId, id) {
        await runner.run(s.dropPrimary, { userId })
        await runner.run(s.makePrimary, { userId, id })
      },
    }
  }
}

const maxPurged = 1_000

const linkCodeStatements = (db: SqlDatabase) => ({
  insert: db.prepare(
    {
      ...pick(identityCodes, 'userId', 'kind'),
      emailKey: identityCodes.lowerEmail,
      hash: identityCodes.codeHash,
      at: identityCodes.createdAt,
      expires: identityCodes.expiresAt,
    },
    (k, p) =>
      k('identity_codes').insert(
        newRow(identityCodes, {
          userId: p.userId,
          kind: p.kind,
          lowerEmail: p.emailKey,
          codeHash: p.hash,
          createdAt: p.at,
          expiresAt: p.expires,
        }),
      ),
  ),
  find: db.prepare(
    { kind: identityCodes.kind, hash: identityCodes.codeHash, now: identityCodes.expiresAt },
    pick(identityCodes, 'userId', 'lowerEmail'),
    (k, p) =>
      k('identity_codes')
        .where(values(identityCodes, { codeHash: p.hash, kind: p.kind }))
        .whereNull('closed_at')
        .where('expires_at', '>', p.now),
  ),
  use: db.prepare(
    { ...pick(identityCodes, 'kind', 'closedAt'), hash: identityCodes.codeHash, now: identityCodes.expiresAt },
    (k, p) =>
      k('identity_codes')
        .where(values(identityCodes, { codeHash: p.hash, kind: p.kind }))
        .whereNull('closed_at')
        .where('expires_at', '>', p.now)
        .update(values(identityCodes, { closedAt: p.closedAt })),
  ),
  closeAll: db.prepare({ ...pick(identityCodes, 'userId', 'kind'), now: identityCodes.closedAt }, (k, p) =>
    k('identity_codes')
      .where(values(identityCodes, { userId: p.userId, kind: p.kind }))
      .whereNull('closed_at')
      .update(values(identityCodes, { closedAt: p.now })),
  ),
  closeSentTo: db.prepare(
    { ...pick(identityCodes, 'userId', 'kind'), emailKey: identityCodes.lowerEmail, now: identityCodes.closedAt },
    (k, p) =>
      k('identity_codes')
        .where(values(identityCodes, { userId: p.userId, kind: p.kind, lowerEmail: p.emailKey }))
        .whereNull('closed_at')
        .update(values(identityCodes, { closedAt: p.now })),
  ),
  sentSince: db.prepare(
    { emailKey: identityCodes.lowerEmail, since: identityCodes.createdAt },
    { createdAt: identityCodes.createdAt },
    (k, p) =>
      k('identity_codes')
        .where('lower_email', p.emailKey)
        .where('created_at', '>', p.since)
        .orderBy('created_at')
        .limit(100),
  ),
  oldest: db.prepare({ at: identityCodes.createdAt }, { id: identityCodes.id }, (k, p) =>
    k('identity_codes').where('created_at', '<', p.at).orderBy('created_at').limit(maxPurged),
  ),
  remove: db.prepare({ id: identityCodes.id }, (k, p) => k('identity_codes').where('id', p.id).delete()),
})

/** Link codes on SQL. */
export const makeSqlLinkCodeStore = (db: SqlDatabase): ((runner: SqlRunner) => LinkCodeStore) => {
  const s = linkCodeStatements(db)
  return (runner) => ({
    async insert({ userId, kind, emailKey, hash, createdAt, expiresAt }) {
      await runner.run(s.insert, {
        userId,
        kind,
        emailKey,
        hash,
        at: createdAt,
        expires: expiresAt,
      })
    },
    async find(kind, hash, now) {
      const row = await runner.first(s.find, {
        kind,
        hash,
        now,
      })
      return row === undefined ? undefined : { userId: row.userId, emailKey: row.lowerEmail }
    },
    async use(kind, hash, now) {
      return (await runner.run(s.use, { kind, hash, now, closedAt: now })).affected === 1
    },
    async closeAll(userId, kind, emailKey, now) {
      if (emailKey === undefined) await runner.run(s.closeAll, { userId, kind, now })
      else await runner.run(s.closeSentTo, { userId, kind, emailKey, now })
    },
    async sentSince(emailKey, since) {
      const rows = await runner.all(s.sentSince, { emailKey, since })
      return rows.map((row) => row.createdAt)
    },
    async purge(at) {
      const rows = await runner.all(s.oldest, { at })
      for (const row of rows) await runner.run(s.remove, { id: row.id })
      return rows.length
    },
  })
}
