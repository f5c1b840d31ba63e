import type { Knex } from 'knex'
import type { KeyStore, RecordStore } from '../../../core/authorization-server/ports.ts'
import type { FoundRecord } from '../../../core/authorization-server/types.ts'
import type { Row } from '../kit/columns.ts'
import { aliased, int, nullable, pick, present, without } from '../kit/columns.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { assigned, insertInto, values } from '../kit/values.ts'
import { oauthKeys, oauthRecords } from '../tables/authorization-server.ts'
import { accessTokens, users } from '../tables/identity.ts'

const most = 500

const columns = without(oauthRecords, 'id')
const foundRow = {
  ...pick(aliased(oauthRecords, 'r'), ...(Object.keys(columns) as (keyof typeof columns)[])),
  heldTokenId: nullable(aliased(accessTokens, 't').id),
  isActive: nullable(aliased(users, 'u').isActive),
  prohibitLogin: nullable(aliased(users, 'u').prohibitLogin),
}
const keyRow = pick(oauthRecords, 'idHash', 'tokenId', 'userId')
const saved = without(oauthRecords, 'id', 'consumedAt')
const replaced = without(oauthRecords, 'id', 'idHash', 'consumedAt')
const byHash = pick(oauthRecords, 'idHash')

/** The records `r`, with the tokens `t` that they depend on and their users `u`. */
const found = (k: Knex): Knex.QueryBuilder =>
  k('oauth_records as r')
    .leftJoin('access_tokens as t', 't.id', 'r.token_id')
    .leftJoin('users as u', 'u.id', 'r.user_id')

const statements = (db: SqlDatabase) => ({
  find: db.prepare(byHash, foundRow, (k, p) => found(k).where('r.id_hash', p.idHash)),
  findByKey: db.prepare({ keyHash: present(oauthRecords.keyHash) }, foundRow, (k, p) =>
    found(k).where('r.key_hash', p.keyHash).limit(1),
  ),
  lock: db.prepare(byHash, pick(oauthRecords, 'idHash'), (k, p) =>
    k('oauth_records').where('id_hash', p.idHash).forUpdate(),
  ),
  insert: insertInto(db, oauthRecords, { omitted: ['id', 'consumedAt'] }),
  replace: db.prepare(saved, (k, p) => k('oauth_records').where('id_hash', p.idHash).update(assigned(replaced, p))),
  consume: db.prepare({ ...byHash, at: present(oauthRecords.consumedAt) }, (k, p) =>
    k('oauth_records')
      .where('id_hash', p.idHash)
      .whereNull('consumed_at')
      .update(values(oauthRecords, { consumedAt: p.at })),
  ),
  remove: db.prepare(byHash, (k, p) => k('oauth_records').where('id_hash', p.idHash).delete()),
  ofGrant: db.prepare({ grantHash: present(oauthRecords.grantHash), limit: int() }, keyRow, (k, p) =>
    k('oauth_records').where('grant_hash', p.grantHash).orderBy('id').limit(p.limit),
  ),
  ofApplication: db.prepare({ applicationId: present(oauthRecords.applicationId), limit: int() }, keyRow, (k, p) =>
    k('oauth_records').where('application_id', p.applicationId).orderBy('user_id').limit(p.limit),
  ),
  ofConsent: db.prepare(
    { applicationId: present(oauthRecords.applicationId), userId: present(oauthRecords.userId), limit: int() },
    keyRow,
    (k, p) =>
      k('oauth_records')
        .where('application_id', p.applicationId)
        .where('user_id', p.userId)
        .orderBy('id')
        .limit(p.limit),
  ),
  expired: db.prepare({ at: oauthRecords.expiresAt, limit: int() }, keyRow, (k, p) =>
    k('oauth_records').where('expires_at', '<', p.at).orderBy('expires_at').limit(p.limit),
  ),
})

const recordOf = ({ heldTokenId, isActive, prohibitLogin, ...row }: Row<typeof foundRow>): FoundRecord => ({
  ...row,
  hasToken: heldTokenId !== undefined,
  isOwnerEnabled: row.userId === undefined || (isActive === true && prohibitLogin === false),
})

/** RecordStore on SQL. Statements are composed once; the store is bound to the pool or to a transaction. */
export const makeSqlRecordStore = (db: SqlDatabase): ((runner: SqlRunner) => RecordStore) => {
  const s = statements(db)
  return (runner) => {
    const find: RecordStore['find'] = async (idHash) => {
      const row = await runner.first(s.find, { idHash })
      return row === undefined ? undefined : recordOf(row)
    }
    return {
      find,
      async findByKey(keyHash) {
        const row = await runner.first(s.findByKey, { keyHash })
        return row === undefined ? undefined : recordOf(row)
      },
      async lock(idHash) {
        return (await runner.first(s.lock, { idHash })) === undefined ? undefined : find(idHash)
      },
      async insert(record) {
        await runner.run(s.insert, record)
      },
      async save(record) {
        if ((await runner.run(s.replace, record)).affected > 0) return
        try {
          await runner.run(s.insert, record)
        } catch (error) {
          if (!isUniqueViolation(error)) throw error
          await runner.run(s.replace, record)
        }
      },
      async consume(idHash, at) {
        return (await runner.run(s.consume, { idHash, at })).affected > 0
      },
      async remove(idHash) {
        await runner.run(s.remove, { idHash })
      },
      ofGrant: (grantHash) => runner.all(s.ofGrant, { grantHash, limit: most }),
      ofApplication: (applicationId, userId) =>
        userId === undefined
          ? runner.all(s.ofApplication, { applicationId, limit: most })
          : runner.all(s.ofConsent, { applicationId, userId, limit: most }),
      expired: (at, limit) => runner.all(s.expired, { at, limit }),
    }
  }
}

/** KeyStore on SQL. */
export const makeSqlKeyStore = (db: SqlDatabase): KeyStore => {
  const list = db.prepare({}, oauthKeys, (k) => k('oauth_keys').orderBy('generation', 'desc'))
  const insert = insertInto(db, oauthKeys)
  const remove = db.prepare(pick(oauthKeys, 'generation'), (k, p) =>
    k('oauth_keys').where('generation', p.generation).delete(),
  )
  return {
    list: () => db.all(list, {}),
    async insert(generation) {
      try {
        await db.run(insert, generation)
        return true
      } catch (error) {
        if (isUniqueViolation(error)) return false
        throw error
      }
    },
    async remove(generation) {
      await db.run(remove, { generation })
    },
  }
}
