import { isLeft } from 'fp-ts/lib/Either.js'
import type { BusIdentityStore, BusUserStore } from '../../core/bus/ports.ts'
import type { BusIdentity, NewBusUser } from '../../core/bus/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { storeFixture } from '../authz/stored-fixture.ts'
import type { Fixture } from '../authz/fixture.ts'

/** Stores of their own for each case, over the accounts below. */
export interface BusStoresBench {
  readonly identities: BusIdentityStore
  readonly users: BusUserStore
  /** Changes the accounts behind the stores' back. */
  change(what: 'password' | 'admin' | 'disable' | 'remove' | 'sign in for a minute', ownerId: AccountId): Promise<void>
  close(): Promise<void>
}

/** Two users and an organization. */
const alice = 1 as AccountId
const bob = 2 as AccountId
const org = 11 as AccountId
const nobody = 99 as AccountId
const at = new Date('2026-05-01T08:00:00.123Z')
const later = new Date('2026-05-02T08:00:00.456Z')
const much = new Date('2026-06-01T08:00:00.000Z')
const firstPage = { page: 1, limit: 30 }

let keys = 0
const newIdentity = (kind: BusIdentity['kind'], ownerId?: AccountId, claims = '') => ({
  kind,
  ownerId,
  publicKey: `K${(keys += 1)}`,
  ref: `ref-${keys}`,
  sealedSeed: Uint8Array.of(1, 0, 255, keys % 256),
  claims,
})
const newUser = (identity: BusIdentity, ownerId: AccountId, changes: Partial<NewBusUser> = {}): NewBusUser => ({
  identityId: identity.id,
  ownerId,
  purpose: 'own',
  publicKey: `U${(keys += 1)}`,
  ownerMark: 'mark',
  issuedAt: at,
  expiresAt: later,
  ...changes,
})

const fixture: Fixture = {
  users: [1, 2],
  orgs: [{ id: 11, visibility: 'private', members: [1], teams: [], roles: [], grants: [] }],
  clusters: [],
  tokens: [],
}

const about: SuiteAbout = {
  name: 'bus-stores',
  ports: ['BusIdentityStore', 'BusUserStore'],
  needs: 'The users 1 and 2 and the organization 11, without identities.',
  fill: async (database) => {
    await storeFixture(database, fixture)
    for (const id of [1, 2])
      await database.query((k) =>
        k('users')
          .where({ id })
          .update({ password_hash: `hash-${id}` }),
      )
  },
}

/** The contract of BusIdentityStore and BusUserStore. */
export const busStoresSuite = contractSuite<BusStoresBench>(about, (test) => {
  test('an identity reads back as it was written, and there is one of a kind and owner', async (t, { identities }) => {
    const content = newIdentity('account', alice)
    const made = unwrap(await identities.insert(content, at))
    t.like(made, {
      kind: 'account',
      ownerId: alice,
      publicKey: content.publicKey,
      ref: content.ref,
      claims: '',
      revision: 1,
      pushedRevision: 0,
      closedAt: undefined,
    })
    t.deepEqual(Uint8Array.from(made.sealedSeed), content.sealedSeed)
    t.deepEqual(await identities.find('account', alice), made)
    t.deepEqual(await identities.lock(made.id), made)
    t.is(tagOf(await identities.insert(newIdentity('account', alice), at)), 'BusIdentityTaken')
    t.is(await identities.find('account', bob), undefined)
    t.is(await identities.find('platform'), undefined)
    const platform = unwrap(await identities.insert(newIdentity('platform', undefined, 'claims'), at))
    t.like(platform, { ownerId: undefined, revision: 1, pushedRevision: 1 })
    t.true(isLeft(await identities.insert(newIdentity('platform', undefined, 'claims'), at)))
  })

  test('an unacknowledged change is due, and older acknowledgements are ignored', async (t, { identities }) => {
    const made = unwrap(await identities.insert(newIdentity('account', alice), at))
    unwrap(await identities.insert(newIdentity('operator', undefined, 'claims'), at))
    t.deepEqual(
      (await identities.listDue(10)).map(({ id }) => id),
      [made.id],
    )
    await identities.raiseRevision(made.id)
    await identities.acknowledge(made.id, 2, 'second')
    t.deepEqual(await identities.listDue(10), [])
    await identities.acknowledge(made.id, 1, 'first')
    t.like(await identities.find('account', alice), { revision: 2, pushedRevision: 2, claims: 'second' })
    t.deepEqual(
      (await identities.listAccounts(0, 10)).map(({ id }) => id),
      [made.id],
    )
    t.deepEqual(await identities.listAccounts(made.id, 10), [])
  })

  test('the account of an owner who is gone is an orphan until it is closed', async (t, bench) => {
    const { identities } = bench
    const [hers, his] = [
      unwrap(await identities.insert(newIdentity('account', alice), at)),
      unwrap(await identities.insert(newIdentity('account', bob), at)),
    ]
    await identities.acknowledge(hers.id, 1, 'claims')
    await identities.acknowledge(his.id, 1, 'claims')
    t.deepEqual(await identities.listOrphans(10), [])
    await bench.change('remove', alice)
    t.deepEqual(
      (await identities.listOrphans(10)).map(({ id }) => id),
      [hers.id],
    )
    await identities.close(hers.id, later)
    await identities.close(hers.id, much)
    t.deepEqual(await identities.listOrphans(10), [])
    t.like(await identities.find('account', alice), { closedAt: later, revision: 2 })
    t.deepEqual(
      (await identities.listDue(10)).map(({ id }) => id),
      [hers.id],
    )
  })

  test('the credentials of an owner are listed newest first, for the owner only', async (t, { identities, users }) => {
    const identity = unwrap(await identities.insert(newIdentity('account', alice), at))
    const [first, second] = [
      await users.insert(newUser(identity, alice)),
      await users.insert(newUser(identity, alice, { purpose: 'pass' })),
    ]
    const listed = await users.list(alice, firstPage)
    t.deepEqual(
      listed.items.map(({ id }) => id),
      [second, first],
    )
    t.is(listed.total, 2)
    t.like(listed.items[1], { ownerId: alice, purpose: 'own', issuedAt: at, expiresAt: later, revokedAt: undefined })
    t.deepEqual(
      (await users.list(alice, { page: 2, limit: 1 })).items.map(({ id }) => id),
      [first],
    )
    t.deepEqual((await users.list(bob, firstPage)).items, [])
    t.is(await users.get(bob, first), undefined)
    t.is((await users.get(alice, first))?.id, first)
    t.deepEqual(
      (await users.live(alice, 'own', at)).map(({ id }) => id),
      [first],
    )
    t.deepEqual(await users.live(alice, 'own', later), [])
    t.deepEqual(await users.live(bob, 'own', at), [])
  })

  test('a revocation counts once and lasts as long as the credentials', async (t, { identities, users }) => {
    const [hers, his] = [
      unwrap(await identities.insert(newIdentity('account', alice), at)),
      unwrap(await identities.insert(newIdentity('account', bob), at)),
    ]
    const id = await users.insert(newUser(hers, alice))
    const other = await users.insert(newUser(his, bob))
    t.true(await users.revoke(id, at))
    t.false(await users.revoke(id, later))
    t.deepEqual((await users.get(alice, id))?.revokedAt, at)
    t.deepEqual(
      (await users.revokedOf(hers.id, at)).map((each) => each.id),
      [id],
    )
    t.deepEqual(await users.revokedOf(hers.id, later), [])
    t.deepEqual(await users.revokedOf(his.id, at), [])
    t.deepEqual(
      (await users.listLive(0, 10, at)).map((each) => each.id),
      [other],
    )
    t.is(await users.sweep(later), 0)
    t.is(await users.sweep(much), 2)
    t.is((await users.list(alice, firstPage)).total, 0)
  })

  test("an owner's mark follows the password and admin right of the account", async (t, bench) => {
    const { identities, users } = bench
    const identity = unwrap(await identities.insert(newIdentity('account', alice), at))
    const mark = await users.ownerMark(alice)
    t.regex(mark ?? '', /^[0-9a-f]{64}$/)
    t.not(await users.ownerMark(bob), mark)
    t.is(await users.ownerMark(org), 'organization')
    t.is(await users.ownerMark(nobody), undefined)
    const id = await users.insert(newUser(identity, alice, { ownerMark: mark ?? '' }))
    const live = async () => (await users.listLive(0, 10, at)).find((each) => each.id === id)
    t.like(await live(), { ownerMark: mark, presentMark: mark, hasSession: false })
    await bench.change('sign in for a minute', alice)
    t.true((await live())?.hasSession)
    t.false((await users.listLive(0, 10, new Date(later.getTime() - 1))).find((each) => each.id === id)?.hasSession)
    await bench.change('password', alice)
    const second = await users.ownerMark(alice)
    t.not(second, mark)
    await bench.change('admin', alice)
    t.not(await users.ownerMark(alice), second)
    await bench.change('disable', alice)
    t.is(await users.ownerMark(alice), undefined)
    t.is((await live())?.presentMark, undefined)
    await bench.change('remove', alice)
    t.is((await live())?.presentMark, undefined)
  })
})
