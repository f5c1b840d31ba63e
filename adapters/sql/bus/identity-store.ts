import { left, right } from 'fp-ts/lib/Either.js'
import type { Knex } from 'knex'
import { BusIdentityTaken, type BusIdentityStore } from '../../../core/bus/ports.ts'
import { isUniqueViolation } from '../kit/driver-errors.ts'
import type { SqlDatabase, SqlRunner } from '../kit/statement.ts'
import { identityColumns, identityOf, type IdentityRow } from './rows.ts'

type InsertBind = 'kind' | 'ownerId' | 'publicKey' | 'ref' | 'seed' | 'claims' | 'at' | 'pushed'

const serverKinds = ['platform', 'account']

const statements = (db: SqlDatabase) => ({
  find: db.prepare((k, p: (n: 'kind' | 'ownerId') => Knex.Value) =>
    k('bus_identities').where('kind', p('kind')).where('owner_id', p('ownerId')).select(...identityColumns).limit(1)),
  lock: db.prepare((k, p: (n: 'id') => Knex.Value) => k('bus_identities').where('id', p('id')).select(...identityColumns).forUpdate()),
  insert: db.prepare((k, p: (n: InsertBind) => Knex.Value) =>
    k('bus_identities').insert({
      kind: p('kind'), owner_id: p('ownerId'), public_key: p('publicKey'), ref: p('ref'), sealed_seed: p('seed'), claims: p('claims'),
      revision: 1, pushed_revision: p('pushed'), created_at: p('at'),
    })),
  raise: db.prepare((k, p: (n: 'id') => Knex.Value) => k('bus_identities').where('id', p('id')).update({ revision: k.raw('revision + 1') })),
  acknowledge: db.prepare((k, p: (n: 'id' | 'revision' | 'claims') => Knex.Value) =>
    k('bus_identities').where('id', p('id')).where('pushed_revision', '<=', p('revision')).update({ pushed_revision: p('revision'), claims: p('claims') })),
  close: db.prepare((k, p: (n: 'id' | 'at') => Knex.Value) =>
    k('bus_identities').where('id', p('id')).whereNull('closed_at').update({ closed_at: p('at'), revision: k.raw('revision + 1') })),
  due: db.prepare((k, p: (n: 'limit') => number) =>
    k('bus_identities').whereIn('kind', serverKinds).where('pushed_revision', '<', k.ref('revision')).select(...identityColumns).orderBy('id').limit(p('limit'))),
  orphans: db.prepare((k, p: (n: 'limit') => number) =>
    k('bus_identities as b').leftJoin('accounts as a', 'a.id', 'b.owner_id').where('b.kind', 'account').whereNull('b.closed_at').whereNull('a.id')
      .select(identityColumns.map((name) => `b.${name}`)).orderBy('b.id').limit(p('limit'))),
  list: db.prepare((k, p: (n: 'after' | 'limit') => number) =>
    k('bus_identities').whereIn('kind', serverKinds).where('id', '>', p('after')).select(...identityColumns).orderBy('id').limit(p('limit'))),
})

/** BusIdentityStore on SQL. */
export const makeSqlBusIdentityStore = (db: SqlDatabase): ((runner: SqlRunner) => BusIdentityStore) => {
  const s = statements(db)
  return (runner) => {
    const find: BusIdentityStore['find'] = async (kind, ownerId) => {
      const row = await runner.first<IdentityRow>(s.find, { kind, ownerId: ownerId ?? 0 })
      return row === undefined ? undefined : identityOf(row)
    }
    return {
      find,
      async lock(id) {
        const row = await runner.first<IdentityRow>(s.lock, { id })
        return row === undefined ? undefined : identityOf(row)
      },
      async insert({ kind, ownerId, publicKey, ref, sealedSeed, claims }, at) {
        try {
          // A server already has the claims that it starts with.
          const pushed = claims === '' ? 0 : 1
          await runner.run(s.insert, { kind, ownerId: ownerId ?? 0, publicKey, ref, seed: sealedSeed, claims, pushed, at: at.getTime() })
        } catch (error) {
          if (isUniqueViolation(error, 'owner_id')) return left(BusIdentityTaken('That key of the bus exists already.'))
          throw error
        }
        const inserted = await find(kind, ownerId)
        if (inserted === undefined) throw new Error('A key of the bus is gone although it was just inserted.')
        return right(inserted)
      },
      async raiseRevision(id) {
        await runner.run(s.raise, { id })
      },
      async acknowledge(id, revision, claims) {
        await runner.run(s.acknowledge, { id, revision, claims })
      },
      async close(id, at) {
        await runner.run(s.close, { id, at: at.getTime() })
      },
      async listDue(limit) {
        return (await runner.all<IdentityRow>(s.due, { limit })).map(identityOf)
      },
      async listOrphans(limit) {
        return (await runner.all<IdentityRow>(s.orphans, { limit })).map(identityOf)
      },
      async listAccounts(after, limit) {
        return (await runner.all<IdentityRow>(s.list, { after, limit })).map(identityOf)
      },
    }
  }
}
