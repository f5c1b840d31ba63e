import { makeSqlBusIdentityStore } from '../../adapters/sql/bus/identity-store.ts'
import { makeSqlBusUserStore } from '../../adapters/sql/bus/user-store.ts'
import { storeWorld } from '../authz/stored-world.ts'
import { eachDatabase } from '../support/databases.ts'
import { busStoresSuite } from './bus-stores.suite.ts'

const minuteLater = Date.parse('2026-05-01T08:01:00Z')

const sessionOf = (userId: number) => ({
  user_id: userId, session_hash: new Uint8Array(32).fill(userId), source_ip: '', user_agent: '', created_at: 0, last_seen_at: 0,
  idle_expires_at: minuteLater, expires_at: minuteLater + 1,
})
const changes: Readonly<Record<'password' | 'admin' | 'disable', object>> = {
  password: { password_hash: 'another' },
  admin: { is_admin: true },
  disable: { is_active: false },
}

for (const database of eachDatabase()) {
  busStoresSuite(database.name, async () => {
    const db = await database.open()
    await storeWorld(db, { users: [1, 2], orgs: [{ id: 11, visibility: 'private', members: [1], teams: [], roles: [], grants: [] }], clusters: [], tokens: [] })
    for (const id of [1, 2]) await db.query((k) => k('users').where({ id }).update({ password_hash: `hash-${id}` }))
    return {
      identities: makeSqlBusIdentityStore(db)(db),
      users: makeSqlBusUserStore(db)(db),
      change: async (what, ownerId) => {
        if (what === 'remove') await db.query((k) => k('accounts').where({ id: ownerId }).delete())
        else if (what === 'sign in for a minute') await db.query((k) => k('sessions').insert(sessionOf(ownerId)))
        else await db.query((k) => k('users').where({ id: ownerId }).update(changes[what]))
      },
      close: () => db.close(),
    }
  })
}
