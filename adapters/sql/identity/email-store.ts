import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import type { LinkCodeStore } from '../../../core/identity/emails/ports.ts'
import type { EmailStore } from '../../../core/identity/ports.ts'
import { EmailTaken } from '../../../core/identity/ports.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import { pageQuery } from '../kit/page-query.ts'
import type { Params, SqlDatabase, SqlRunner } from '../kit/statement.ts'
import type { EmailRow } from './rows.ts'
import { emailColumns, emailOf } from './rows.ts'
import { makeSearchTerms, matchedEmails, prefixRange } from './user-search.ts'

/** Selects addresses `e`, each with its owner's name. */
const withLogin = (rows: Knex.QueryBuilder): Knex.QueryBuilder =>
  rows
    .join('accounts as a', 'a.id', 'e.user_id')
    .select(...emailColumns.map((column) => `e.${column}`), 'a.name as login')

const statements = (db: SqlDatabase) => ({
  list: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('emails')
      .where('user_id', p('userId'))
      .select(...emailColumns)
      .orderBy([{ column: 'is_primary', order: 'desc' }, { column: 'id' }]),
  ),
  isTaken: db.prepare((k, p: (n: 'key') => Knex.Value) => k('emails').where('lower_email', p('key')).select('id')),
  ownerOf: db.prepare((k, p: (n: 'key') => Knex.Value) => k('emails').where('lower_email', p('key')).select('user_id')),
  listAll: pageQuery(
    db,
    (k) => k('emails as e'),
    (_, rows, cut) => cut(withLogin(rows).orderBy('e.lower_email')),
  ),
  search: pageQuery(
    db,
    (k, p: Params<'from' | 'to'>) => k.from(matchedEmails(k, p).as('found')),
    (_, rows, cut) =>
      cut(
        withLogin(rows.join('emails as e', 'e.id', 'found.email_id')).orderBy([
          { column: 'found.place' },
          { column: 'e.lower_email' },
        ]),
      ),
  ),
  insert: db.prepare(
    (k, p: (n: 'userId' | 'email' | 'key' | 'verified' | 'verifiedAt' | 'isPrimary' | 'at') => Knex.Value) =>
      k('emails').insert({
        user_id: p('userId'),
        email: p('email'),
        lower_email: p('key'),
        verified: p('verified'),
        verified_at: p('verifiedAt'),
        is_primary: p('isPrimary'),
        created_at: p('at'),
      }),
  ),
  remove: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('emails').where('user_id', p('userId')).where('id', p('id')).delete(),
  ),
  dropPrimary: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('emails').where('user_id', p('userId')).update({ is_primary: false }),
  ),
  verify: db.prepare((k, p: (n: 'userId' | 'key' | 'at') => Knex.Value) =>
    k('emails')
      .where({ user_id: p('userId'), lower_email: p('key') })
      .update({ verified: true, verified_at: p('at') }),
  ),
  lapsed: db.prepare((k, p: (n: 'key' | 'before') => Knex.Value) =>
    k('emails')
      .where({ lower_email: p('key'), verified: false, is_primary: false })
      .where('created_at', '<', p('before'))
      .select('id', 'user_id'),
  ),
  removeUnconfirmed: db.prepare((k, p: (n: 'id') => Knex.Value) =>
    k('emails')
      .where({ id: p('id'), verified: false, is_primary: false })
      .delete(),
  ),
  makePrimary: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('emails').where('user_id', p('userId')).where('id', p('id')).update({ is_primary: true }),
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
        return (await runner.all<EmailRow>(s.list, { userId })).map(emailOf)
      },
      async isTaken(key) {
        return (await runner.first(s.isTaken, { key })) !== undefined
      },
      async ownerOf(key) {
        const row = await runner.first<{ user_id: number | string }>(s.ownerOf, { key })
        return row === undefined ? undefined : (Number(row.user_id) as UserId)
      },
      async listAll(text, page) {
        type Row = EmailRow & { readonly login: string }
        const found =
          text === '' ? await s.listAll<Row>(runner, {}, page) : await s.search<Row>(runner, prefixRange(text), page)
        return mapPage(found, (row) => ({ email: emailOf(row), login: row.login }))
      },
      async insert(userId, email, verified, isPrimary, at) {
        try {
          await runner.run(s.insert, {
            userId,
            email: email.text,
            key: email.key,
            verified,
            verifiedAt: verified ? at.getTime() : null,
            isPrimary,
            at: at.getTime(),
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
        return (await runner.run(s.verify, { userId, key, at: at.getTime() })).affected === 1
      },
      async releaseUnconfirmed(key, before) {
        const row = await runner.first<{ id: number | string; user_id: number | string }>(s.lapsed, {
          key,
          before: before.getTime(),
        })
        if (row === undefined) return undefined
        const removed = await runner.run(s.removeUnconfirmed, { id: Number(row.id) })
        return removed.affected === 1 ? (Number(row.user_id) as UserId) : undefined
      },
      async makePrimary(userId, id) {
        await runner.run(s.dropPrimary, { userId })
        await runner.run(s.makePrimary, { userId, id })
      },
    }
  }
}

const maxPurged = 1_000

type LinkCodeBind = 'userId' | 'kind' | 'emailKey' | 'hash' | 'at' | 'expires'

const linkCodeStatements = (db: SqlDatabase) => ({
  insert: db.prepare((k, p: (n: LinkCodeBind) => Knex.Value) =>
    k('identity_codes').insert({
      user_id: p('userId'),
      kind: p('kind'),
      lower_email: p('emailKey'),
      code_hash: p('hash'),
      created_at: p('at'),
      expires_at: p('expires'),
    }),
  ),
  find: db.prepare((k, p: (n: 'kind' | 'hash' | 'now') => Knex.Value) =>
    k('identity_codes')
      .where({ code_hash: p('hash'), kind: p('kind') })
      .whereNull('closed_at')
      .where('expires_at', '>', p('now'))
      .select('user_id', 'lower_email'),
  ),
  use: db.prepare((k, p: (n: 'kind' | 'hash' | 'now' | 'closedAt') => Knex.Value) =>
    k('identity_codes')
      .where({ code_hash: p('hash'), kind: p('kind') })
      .whereNull('closed_at')
      .where('expires_at', '>', p('now'))
      .update({ closed_at: p('closedAt') }),
  ),
  closeAll: db.prepare((k, p: (n: 'userId' | 'kind' | 'now') => Knex.Value) =>
    k('identity_codes')
      .where({ user_id: p('userId'), kind: p('kind') })
      .whereNull('closed_at')
      .update({ closed_at: p('now') }),
  ),
  closeSentTo: db.prepare((k, p: (n: 'userId' | 'kind' | 'emailKey' | 'now') => Knex.Value) =>
    k('identity_codes')
      .where({ user_id: p('userId'), kind: p('kind'), lower_email: p('emailKey') })
      .whereNull('closed_at')
      .update({ closed_at: p('now') }),
  ),
  sentSince: db.prepare((k, p: (n: 'emailKey' | 'since') => Knex.Value) =>
    k('identity_codes')
      .where('lower_email', p('emailKey'))
      .where('created_at', '>', p('since'))
      .select('created_at')
      .orderBy('created_at')
      .limit(100),
  ),
  oldest: db.prepare((k, p: (n: 'at') => Knex.Value) =>
    k('identity_codes').where('created_at', '<', p('at')).select('id').orderBy('created_at').limit(maxPurged),
  ),
  remove: db.prepare((k, p: (n: 'id') => Knex.Value) => k('identity_codes').where('id', p('id')).delete()),
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
        at: createdAt.getTime(),
        expires: expiresAt.getTime(),
      })
    },
    async find(kind, hash, now) {
      const row = await runner.first<{ user_id: number | string; lower_email: string }>(s.find, {
        kind,
        hash,
        now: now.getTime(),
      })
      return row === undefined ? undefined : { userId: Number(row.user_id) as UserId, emailKey: row.lower_email }
    },
    async use(kind, hash, now) {
      return (await runner.run(s.use, { kind, hash, now: now.getTime(), closedAt: now.getTime() })).affected === 1
    },
    async closeAll(userId, kind, emailKey, now) {
      if (emailKey === undefined) await runner.run(s.closeAll, { userId, kind, now: now.getTime() })
      else await runner.run(s.closeSentTo, { userId, kind, emailKey, now: now.getTime() })
    },
    async sentSince(emailKey, since) {
      const rows = await runner.all<{ created_at: number | string }>(s.sentSince, { emailKey, since: since.getTime() })
      return rows.map((row) => new Date(Number(row.created_at)))
    },
    async purge(at) {
      const rows = await runner.all<{ id: number | string }>(s.oldest, { at: at.getTime() })
      for (const row of rows) await runner.run(s.remove, { id: Number(row.id) })
      return rows.length
    },
  })
}
