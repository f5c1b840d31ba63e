import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import type { EmailStore } from '../../../core/identity/ports.ts'
import { EmailTaken } from '../../../core/identity/ports.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import type { EmailRow } from './rows.ts'
import { emailColumns, emailOf } from './rows.ts'

const statements = (db: SqlDatabase) => ({
  list: db.prepare((k, p: (n: 'userId') => Knex.Value) =>
    k('emails').where('user_id', p('userId')).select(...emailColumns).orderBy([{ column: 'is_primary', order: 'desc' }, { column: 'id' }]),
  ),
  isTaken: db.prepare((k, p: (n: 'key') => Knex.Value) => k('emails').where('lower_email', p('key')).select('id')),
  insert: db.prepare((k, p: (n: 'userId' | 'email' | 'key' | 'verified' | 'isPrimary' | 'at') => Knex.Value) =>
    k('emails').insert({
      user_id: p('userId'),
      email: p('email'),
      lower_email: p('key'),
      verified: p('verified'),
      is_primary: p('isPrimary'),
      created_at: p('at'),
    }),
  ),
  remove: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) => k('emails').where('user_id', p('userId')).where('id', p('id')).delete()),
  dropPrimary: db.prepare((k, p: (n: 'userId') => Knex.Value) => k('emails').where('user_id', p('userId')).update({ is_primary: false })),
  makePrimary: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('emails').where('user_id', p('userId')).where('id', p('id')).update({ is_primary: true }),
  ),
})

/** Addresses on SQL: unique over all users by their key, whatever two requests do at once. */
export const makeSqlEmailStore = (db: SqlDatabase): ((runner: SqlRunner) => EmailStore) => {
  const s = statements(db)
  return (runner) => ({
    async list(userId) {
      return (await runner.all<EmailRow>(s.list, { userId })).map(emailOf)
    },
    async isTaken(key) {
      return (await runner.first(s.isTaken, { key })) !== undefined
    },
    async insert(userId, email, verified, isPrimary, at) {
      try {
        await runner.run(s.insert, { userId, email: email.text, key: email.key, verified, isPrimary, at: at.getTime() })
        return right(undefined)
      } catch (error) {
        if (isUniqueViolation(error, 'lower_email')) return left(EmailTaken('This e-mail address is in use.'))
        throw error
      }
    },
    async remove(userId, ids) {
      for (const id of ids) await runner.run(s.remove, { userId, id })
    },
    async makePrimary(userId, id) {
      await runner.run(s.dropPrimary, { userId })
      await runner.run(s.makePrimary, { userId, id })
    },
  })
}
