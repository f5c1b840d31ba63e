import { makeSqlCredentialStore } from '../../adapters/sql/identity/credential-store.ts'
import { makeSqlIdentityStores } from '../../adapters/sql/identity/identity-stores.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import type { CredentialStore } from '../../core/identity/ports.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { eachDatabase } from '../support/databases.ts'
import { heldObjects } from '../support/object-rows.ts'
import { identityStoresSuite } from './identity-stores.suite.ts'
import type { IdentityFixture } from './identity-fixture.ts'
import { makeIdentityFixture } from './identity-fixture.ts'
import { linkCodeStoreSuite } from './link-code-store.suite.ts'
import { onEachDatabase } from './on-each-database.ts'
import { rememberedLoginsSuite } from './remembered-logins.suite.ts'
import { secondFactorStoreSuite } from './second-factor-store.suite.ts'
import { siteStoresSuite } from './site-stores.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

/** A credential store that tells the statements it ran. */
const watched = (db: SqlDatabase): { readonly store: CredentialStore; readonly ran: string[] } => {
  const ran: string[] = []
  const first: SqlDatabase['first'] = (statement, binds) => {
    ran.push(statement.sql)
    return db.first(statement, binds)
  }
  return { store: makeSqlCredentialStore({ ...db, first }, () => false), ran }
}

const at = new Date('2026-05-01T08:00:00.123Z')
const later = new Date('2026-05-02T08:00:00.000Z')
const hash = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)

const issue = async ({ deps: { stores } }: IdentityFixture, userId: UserId, fill: number): Promise<void> => {
  await stores.tokens.insert({
    userId,
    name: `token ${fill}`,
    hash: hash(fill),
    lastEight: 'abcdefgh',
    scopeWords: ['all'],
    onlyOrgId: undefined,
    createdBy: userId,
    createdAt: at,
    expiresAt: undefined,
  })
  await stores.sessions.insert({
    userId,
    hash: hash(fill),
    sourceIp: '192.0.2.1',
    userAgent: '',
    createdAt: at,
    proof: undefined,
    idleExpiresAt: later,
    expiresAt: later,
  })
}

onEachDatabase('a password comes with whether a second factor counts, of that user alone', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const { credentials, stores } = fixture.deps
  const found = async () =>
    Promise.all(
      ['ada', 'ada@example.org', 'bob'].map(async (key) => (await credentials.passwordByKey(key))?.hasSecondFactor),
    )
  t.deepEqual(await found(), [false, false, false])
  await stores.secondFactors.offer(ada.id, hash(1), 'ref', at)
  await stores.secondFactors.offer(bob.id, hash(2), 'ref', at)
  t.deepEqual(await found(), [false, false, false], 'one that waits for its first code does not count')
  await stores.secondFactors.enroll(ada.id, 'ref', 1, at)
  t.deepEqual(await found(), [true, true, false])
  await stores.secondFactors.remove(ada.id)
  t.deepEqual(await found(), [false, false, false])
})

onEachDatabase(
  'each credential is one statement; the second factor is asked for with a password only',
  async (t, fixture, db) => {
    const ada = await fixture.user('ada')
    await issue(fixture, ada.id, 1)
    const { store, ran } = watched(db)
    const statementsOf = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
      t.not(await work(), undefined)
      return ran.splice(0)
    }
    for (const read of [
      () => store.tokenByHash(hash(1)),
      () => store.tokenWithProfileByHash(hash(1)),
      () => store.sessionByHash(hash(1)),
    ]) {
      const ofOne = await statementsOf(read)
      t.deepEqual([ofOne.length, ofOne.some((sql) => sql.includes('two_factors'))], [1, false])
    }
    for (const key of ['ada', 'ada@example.org']) {
      const ofOne = await statementsOf(() => store.passwordByKey(key))
      t.deepEqual([ofOne.length, ofOne.some((sql) => sql.includes('two_factors'))], [1, true])
    }
  },
)

onEachDatabase(
  'every credential says whether the password must be replaced, and a token when it was created',
  async (t, fixture) => {
    const [ada, bob] = [await fixture.user('ada', { mustChangePassword: true }), await fixture.user('bob')]
    await issue(fixture, ada.id, 1)
    await issue(fixture, bob.id, 2)
    const { credentials } = fixture.deps
    const demands = async (fill: number, login: string) => [
      (await credentials.tokenByHash(hash(fill)))?.account.mustChangePassword,
      (await credentials.tokenWithProfileByHash(hash(fill)))?.account.mustChangePassword,
      (await credentials.sessionByHash(hash(fill)))?.account.mustChangePassword,
      (await credentials.passwordByKey(login))?.account.mustChangePassword,
    ]
    t.deepEqual(await demands(1, 'ada'), [true, true, true, true])
    t.deepEqual(await demands(2, 'bob'), [false, false, false, false])
    for (const read of [credentials.tokenByHash, credentials.tokenWithProfileByHash])
      t.deepEqual((await read(hash(1)))?.createdAt, at)
  },
)

for (const database of eachDatabase()) {
  declareSuite(identityStoresSuite, database.name, async () => {
    const db = await database.open()
    return { stores: makeSqlIdentityStores(db, heldObjects(db))(db), close: () => db.close() }
  })
}

for (const database of eachDatabase())
  declareSuite(linkCodeStoreSuite, database.name, async () => {
    const db = await database.open()
    const fixture = makeIdentityFixture(db)
    const [ada, eve] = [await fixture.user('ada'), await fixture.user('eve')]
    return { codes: fixture.deps.stores.linkCodes, ada: ada.id, eve: eve.id, close: () => db.close() }
  })

for (const database of eachDatabase()) {
  declareSuite(rememberedLoginsSuite, database.name, async () => {
    const db = await database.open()
    return { stores: makeSqlIdentityStores(db, heldObjects(db))(db), close: () => db.close() }
  })
}

for (const database of eachDatabase()) {
  declareSuite(secondFactorStoreSuite, database.name, async () => {
    const db = await database.open()
    const fixture = makeIdentityFixture(db)
    const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
    const { secondFactors, users } = fixture.deps.stores
    return {
      store: secondFactors,
      ada: ada.id,
      bob: bob.id,
      removeUser: (id) => users.remove(id),
      close: () => db.close(),
    }
  })
}

for (const database of eachDatabase()) {
  declareSuite(siteStoresSuite, database.name, async () => {
    const db = await database.open()
    return { stores: makeSqlIdentityStores(db, heldObjects(db))(db), close: () => db.close() }
  })
}
