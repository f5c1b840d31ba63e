import { createHash } from 'node:crypto'
import type { DeclareCase, SuiteAbout } from '../../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../../composition/runtime/port-tests/contract-suite.ts'
import type { NewPasskey, PasskeyStore } from '../../../core/identity/passkey-ports.ts'
import type { SecondFactorStore } from '../../../core/identity/second-factor/ports.ts'
import type { UserId } from '../../../core/kernel/ids.ts'

/** A store over an empty database of its own, and two users in it. */
export interface PasskeyHarness {
  readonly store: PasskeyStore
  readonly secondFactors: SecondFactorStore
  readonly ada: UserId
  readonly bob: UserId
  removeUser(id: UserId): Promise<void>
  close(): Promise<void>
}

const at = new Date('2026-05-01T08:00:00.123Z')
const later = new Date('2026-05-01T08:05:00.123Z')
const hash = (text: string): Uint8Array => new Uint8Array(createHash('sha256').update(text).digest())

const keyOf = (userId: UserId, name: string): NewPasskey => ({
  userId,
  name,
  credentialId: Buffer.from(name).toString('base64url'),
  credentialHash: hash(name),
  publicKey: new Uint8Array([0, 1, 255]),
  counter: 4_294_967_295,
  transports: ['hybrid', 'internal'],
  aaguid: 'fbfc3007-154e-4ecc-8c0b-6e020557d7bd',
  isBackedUp: false,
  rpId: 'platform.example',
  createdAt: at,
})

const about: SuiteAbout = {
  name: 'passkey-store',
  ports: ['PasskeyStore'],
  needs: 'Two users, `ada` and `bob`, without a second factor.',
}

/** What a store of passkeys promises. Each case has its twin: the other user's rows stay as they are. */
export const passkeyStoreSuite = contractSuite<PasskeyHarness>(about, (kept) => {
  keyCases(kept)
  factorCases(kept)
  challengeCases(kept)
})

type Kept = DeclareCase<PasskeyHarness>

const keyCases = (kept: Kept): void => {
  kept('a passkey is read as it was written, in the order of registration', async (t, { store, ada, bob }) => {
    const id = await store.insert(keyOf(ada, 'first'))
    await store.insert(keyOf(bob, 'of bob'))
    await store.insert(keyOf(ada, 'second'))
    const { credentialHash: _, ...written } = keyOf(ada, 'first')
    const found = await store.findByCredential(hash('first'))
    t.deepEqual(
      { ...found, publicKey: [...(found?.publicKey ?? [])] },
      { ...written, id, lastUsedAt: undefined, publicKey: [0, 1, 255] },
    )
    t.deepEqual(
      (await store.list(ada)).map(({ name }) => name),
      ['first', 'second'],
    )
    t.is(await store.findByCredential(hash('third')), undefined)
  })

  kept('a credential belongs to one account', async (t, { store, ada, bob }) => {
    t.not(await store.insert(keyOf(ada, 'one')), undefined)
    t.is(await store.insert(keyOf(bob, 'one')), undefined)
    t.is(await store.insert(keyOf(ada, 'one')), undefined)
    t.deepEqual(await store.list(bob), [])
  })

  kept('a use replaces counter and backup state, and fails for a removed passkey', async (t, { store, ada, bob }) => {
    const id = await store.insert(keyOf(ada, 'used'))
    await store.insert(keyOf(bob, 'unused'))
    if (id === undefined) throw new Error('not inserted')
    t.true(await store.markUsed(id, { counter: 3, isBackedUp: true, at: later }))
    t.like(await store.findByCredential(hash('used')), { counter: 3, isBackedUp: true, lastUsedAt: later })
    t.is((await store.findByCredential(hash('unused')))?.lastUsedAt, undefined)
    t.false(await store.remove(bob, id), 'the passkey of another')
    t.true(await store.remove(ada, id))
    t.false(await store.remove(ada, id))
    t.false(await store.markUsed(id, { counter: 4, isBackedUp: true, at: later }))
  })

  kept('passkeys are removed with their user', async (t, { store, ada, bob, removeUser }) => {
    for (const user of [ada, bob]) await store.insert(keyOf(user, `of ${user}`))
    await removeUser(ada)
    t.deepEqual([(await store.list(ada)).length, (await store.list(bob)).length], [0, 1])
    t.is(await store.removeAll(ada), 0)
    t.is(await store.removeAll(bob), 1)
  })
}

const factorCases = (kept: Kept): void => {
  kept('a passkey is a second factor, and an enrolled seed comes first', async (t, harness) => {
    const { store, secondFactors, ada, bob } = harness
    t.is(await secondFactors.enrolledRef(ada), undefined)
    await store.insert(keyOf(ada, 'key'))
    t.is(await secondFactors.enrolledRef(ada), 'passkeys')
    await secondFactors.offer(ada, new Uint8Array([1]), 'seed', at)
    t.is(await secondFactors.enrolledRef(ada), 'passkeys')
    await secondFactors.enroll(ada, 'seed', 1, at)
    t.is(await secondFactors.enrolledRef(ada), 'seed')
    t.is(await secondFactors.enrolledRef(bob), undefined)
  })

  kept('recovery codes stay as long as a second factor remains', async (t, { store, secondFactors, ada, bob }) => {
    for (const user of [ada, bob]) {
      await store.insert(keyOf(user, `of ${user}`))
      await secondFactors.offer(user, new Uint8Array([1]), 'seed', at)
      await secondFactors.enroll(user, 'seed', 1, at)
      await secondFactors.replaceRecoveryCodes(user, [hash('code')], at)
    }
    const left = async () => [await secondFactors.countRecoveryCodes(ada), await secondFactors.countRecoveryCodes(bob)]
    await secondFactors.remove(ada)
    t.deepEqual(await left(), [1, 1], 'the passkey remains')
    await store.removeAll(ada)
    await secondFactors.removeIdleRecoveryCodes(ada)
    t.deepEqual(await left(), [0, 1])
    await store.removeAll(bob)
    await secondFactors.removeIdleRecoveryCodes(bob)
    t.deepEqual(await left(), [0, 1], 'the seed remains')
  })
}

const challengeCases = (kept: Kept): void => {
  const challenge = (word: string, expiresAt = later) => ({ keyHash: hash(word), name: `for ${word}`, expiresAt })

  kept('a challenge is taken once, and not after its end', async (t, { store }) => {
    await store.addChallenge(challenge('one'))
    await store.addChallenge(challenge('old', at))
    t.is(await store.takeChallenge(hash('other'), at), undefined)
    t.deepEqual(await store.takeChallenge(hash('one'), at), { name: 'for one' })
    t.is(await store.takeChallenge(hash('one'), at), undefined)
    t.is(await store.takeChallenge(hash('old'), at), undefined)
  })

  kept('of many at once with one challenge one takes it', async (t, { store }) => {
    await store.addChallenge(challenge('one'))
    const taken = await Promise.all(Array.from({ length: 20 }, () => store.takeChallenge(hash('one'), at)))
    t.is(taken.filter((found) => found !== undefined).length, 1)
  })

  kept('a purge removes expired challenges only', async (t, { store }) => {
    await store.addChallenge(challenge('old', at))
    await store.addChallenge(challenge('new', new Date(later.getTime() + 1)))
    t.is(await store.purgeChallenges(later), 1)
    t.is(await store.purgeChallenges(later), 0)
    t.deepEqual(await store.takeChallenge(hash('new'), later), { name: 'for new' })
  })
}
