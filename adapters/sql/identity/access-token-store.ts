import type { Knex } from 'knex'
import { left, right } from 'fp-ts/lib/Either.js'
import type { TokenId } from '../../../core/kernel/brand.ts'
import { pageOffset } from '../../../core/kernel/page.ts'
import type { AccessTokenStore } from '../../../core/identity/ports.ts'
import { TokenNameTaken } from '../../../core/identity/ports.ts'
import { isUniqueViolation } from '../driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../statement.ts'
import type { CountRow, TokenRow } from './rows.ts'
import { countOf, pageOf, tokenColumns, tokenOf } from './rows.ts'

type InsertBind = 'userId' | 'name' | 'hash' | 'lastEight' | 'scopes' | 'onlyOrgId' | 'createdBy' | 'createdAt' | 'expiresAt'

const statements = (db: SqlDatabase) => ({
  list: db.prepare((k, p: (n: 'userId' | 'limit' | 'offset') => Knex.Value & number) =>
    k('access_tokens').where('user_id', p('userId')).select(...tokenColumns).orderBy('id').limit(p('limit')).offset(p('offset')),
  ),
  count: db.prepare((k, p: (n: 'userId') => Knex.Value) => countOf(k, k('access_tokens').where('user_id', p('userId')).select('id'))),
  insert: db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
    k('access_tokens').insert({
      user_id: p('userId'),
      name: p('name'),
      token_hash: p('hash'),
      last_eight: p('lastEight'),
      scopes: p('scopes'),
      only_org_id: p('onlyOrgId'),
      created_by: p('createdBy'),
      created_at: p('createdAt'),
      expires_at: p('expiresAt'),
    }),
  ),
  nameOf: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('access_tokens').where('user_id', p('userId')).where('id', p('id')).select('name').forUpdate(),
  ),
  remove: db.prepare((k, p: (n: 'userId' | 'id') => Knex.Value) =>
    k('access_tokens').where('user_id', p('userId')).where('id', p('id')).delete(),
  ),
  removeAll: db.prepare((k, p: (n: 'userId') => Knex.Value) => k('access_tokens').where('user_id', p('userId')).delete()),
})

/** Access tokens on SQL. Only the hash of a value is kept. */
export const makeSqlAccessTokenStore = (db: SqlDatabase): ((runner: SqlRunner) => AccessTokenStore) => {
  const s = statements(db)
  return (runner) => ({
    async list(userId, page) {
      const rows = await runner.all<TokenRow>(s.list, { userId, limit: page.limit, offset: pageOffset(page) })
      return pageOf(rows.map(tokenOf), await runner.first<CountRow>(s.count, { userId }))
    },
    async insert(record) {
      try {
        const inserted = await runner.run(s.insert, {
          userId: record.userId,
          name: record.name,
          hash: record.hash,
          lastEight: record.lastEight,
          scopes: record.scopeWords.join(' '),
          onlyOrgId: record.onlyOrgId ?? null,
          createdBy: record.createdBy ?? null,
          createdAt: record.createdAt.getTime(),
          expiresAt: record.expiresAt?.getTime() ?? null,
        })
        return right(inserted.insertId as TokenId)
      } catch (error) {
        if (isUniqueViolation(error, 'name')) return left(TokenNameTaken('You have a token of this name already.'))
        throw error
      }
    },
    async remove(userId, id) {
      const row = await runner.first<{ name: string }>(s.nameOf, { userId, id })
      if (row === undefined) return undefined
      await runner.run(s.remove, { userId, id })
      return row.name
    },
    async removeAll(userId) {
      return (await runner.run(s.removeAll, { userId })).affected
    },
  })
}
