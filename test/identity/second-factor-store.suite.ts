import { createHash } from 'node:crypto'
import type { SecondFactorStore } from '../../core/identity/second-factor/ports.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import type { DeclareCase, SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** A store over an empty database of its own, and two users in it. */
export interface SecondFactorBench {
  readonly store: SecondFactorStore
  readonly ada: UserId
  readonly bob: UserId
  removeUser(id: UserId): Promise<void>
  close(): Promise<void>
}

const at = new Date('2026-05-01T08:00:00.123Z')
const seed = new Uint8Array([1, 2, 3, 0, 255])
const otherSeed = new Uint8Array([9, 8, 7])
const hash = (text: string): Uint8Array => new Uint8Array(createHash('sha256').update(text).digest())
const hashes = (word: string, count = 10): readonly Uint8Array[] =>
  Array.from({ length: count }, (_, i) => hash(`${word} ${i}`))

/** Enrolled with the step 100 used. */
const enroll = async (store: SecondFactorStore, id: UserId, ref = 'ref'): Promise<void> => {
  await store.offer(id, seed, ref, at)
  if (!(await store.enroll(id, ref, 100, at))) throw new Error('not enrolled')
}

const about: SuiteAbout = {
  name: 'second-factor-store',
  ports: ['SecondFactorStore'],
  needs: 'Two users, `ada` and `bob`, without a second factor.',
}

/** What a second factor's store promises. Each case has its twin: the other user's rows stay as they are. */
export const secondFactorStoreSuite = contractSuite<SecondFactorBench>(about, (kept) => {
  seedCases(kept)
  stepCases(kept)
  recoveryCases(kept)
})

type Kept = DeclareCase<SecondFactorBench>

const seedCases = (kept: Kept): void => {
  kept('an offered seed waits and does not count; a newer offer takes its place', async (t, { store, ada, bob }) => {
    t.is(await store.find(ada), undefined)
    t.true(await store.offer(ada, seed, 'first', at))
    const waiting = await store.find(ada)
    t.deepEqual(
      { ...waiting, sealedSeed: [...(waiting?.sealedSeed ?? [])] },
      { userId: ada, sealedSeed: [...seed], ref: 'first', enrolledAt: undefined, lastStep: undefined },
    )
    t.true(await store.offer(ada, otherSeed, 'second', at))
    t.is((await store.find(ada))?.ref, 'second')
    t.false(await store.enroll(ada, 'first', 100, at), 'the seed that was replaced')
    t.false(await store.useStep(ada, 'second', 100), 'a seed that waits takes no code')
    t.is(await store.find(bob), undefined)
    t.false(await store.enroll(bob, 'second', 100, at), 'the seed of another')
  })

  kept('a seed enrolls once, and an enrolled one is not replaced', async (t, { store, ada, bob }) => {
    await store.offer(bob, seed, 'of bob', at)
    await enroll(store, ada)
    t.deepEqual((await store.find(ada))?.enrolledAt, at)
    t.false(await store.enroll(ada, 'ref', 101, at))
    t.false(await store.offer(ada, otherSeed, 'other', at))
    t.deepEqual([(await store.find(ada))?.ref, (await store.find(bob))?.enrolledAt], ['ref', undefined])
  })

  kept('removing takes seed and recovery codes, of that user alone', async (t, { store, ada, bob }) => {
    for (const id of [ada, bob]) {
      await enroll(store, id)
      await store.replaceRecoveryCodes(id, hashes('code'), at)
    }
    t.true(await store.remove(ada))
    t.false(await store.remove(ada))
    t.is(await store.find(ada), undefined)
    t.is(await store.countRecoveryCodes(ada), 0)
    t.false(await store.useRecoveryCode(ada, hash('code 0'), at))
    t.false(await store.useStep(ada, 'ref', 200))
    t.deepEqual([(await store.find(bob))?.ref, await store.countRecoveryCodes(bob)], ['ref', 10])
  })

  kept('a user who goes takes all of it along', async (t, { store, ada, bob, removeUser }) => {
    for (const id of [ada, bob]) {
      await enroll(store, id)
      await store.replaceRecoveryCodes(id, hashes('code'), at)
    }
    await removeUser(ada)
    t.deepEqual(
      [await store.find(ada), await store.countRecoveryCodes(ada), await store.countRecoveryCodes(bob)],
      [undefined, 0, 10],
    )
  })
}

const stepCases = (kept: Kept): void => {
  kept(
    'a step is used once, never after a newer one, and never the one that enrolled',
    async (t, { store, ada, bob }) => {
      await enroll(store, ada)
      await enroll(store, bob)
      t.false(await store.useStep(ada, 'ref', 100))
      t.false(await store.useStep(ada, 'ref', 99))
      t.true(await store.useStep(ada, 'ref', 102))
      t.false(await store.useStep(ada, 'ref', 102))
      t.false(await store.useStep(ada, 'ref', 101))
      t.true(await store.useStep(ada, 'ref', 103))
      t.is((await store.find(ada))?.lastStep, 103)
      t.true(await store.useStep(bob, 'ref', 101), 'the steps of another are not touched')
    },
  )

  kept('a step of another seed is not taken', async (t, { store, ada }) => {
    await enroll(store, ada)
    t.false(await store.useStep(ada, 'replaced meanwhile', 102))
    t.true(await store.useStep(ada, 'ref', 102))
  })

  kept('of many at once with one step one wins', async (t, { store, ada }) => {
    await enroll(store, ada)
    const wins = await Promise.all(Array.from({ length: 20 }, () => store.useStep(ada, 'ref', 101)))
    t.is(wins.filter(Boolean).length, 1)
  })
}

const recoveryCases = (kept: Kept): void => {
  kept('a recovery code is used once, by its own user', async (t, { store, ada, bob }) => {
    await store.replaceRecoveryCodes(ada, hashes('code'), at)
    await store.replaceRecoveryCodes(bob, hashes('of bob', 3), at)
    t.false(await store.useRecoveryCode(bob, hash('code 0'), at), 'the code of another')
    const has = async () => [
      await store.hasRecoveryCode(ada, hash('code 0')),
      await store.hasRecoveryCode(bob, hash('code 0')),
    ]
    t.deepEqual(await has(), [true, false])
    t.true(await store.useRecoveryCode(ada, hash('code 0'), at))
    t.deepEqual(await has(), [false, false])
    t.false(await store.useRecoveryCode(ada, hash('code 0'), at))
    t.false(await store.useRecoveryCode(ada, hash('no such code'), at))
    t.deepEqual([await store.countRecoveryCodes(ada), await store.countRecoveryCodes(bob)], [9, 3])
  })

  kept('new recovery codes void the old ones, used or not', async (t, { store, ada, bob }) => {
    await store.replaceRecoveryCodes(bob, hashes('code'), at)
    await store.replaceRecoveryCodes(ada, hashes('code'), at)
    await store.useRecoveryCode(ada, hash('code 0'), at)
    await store.replaceRecoveryCodes(ada, hashes('new'), at)
    t.is(await store.countRecoveryCodes(ada), 10)
    for (const old of ['code 0', 'code 1']) t.false(await store.useRecoveryCode(ada, hash(old), at), old)
    t.true(await store.useRecoveryCode(ada, hash('new 1'), at))
    t.true(await store.useRecoveryCode(bob, hash('code 1'), at), 'the same code of another is not touched')
  })

  kept('of many at once with one recovery code one wins', async (t, { store, ada }) => {
    await store.replaceRecoveryCodes(ada, hashes('code'), at)
    const wins = await Promise.all(Array.from({ length: 20 }, () => store.useRecoveryCode(ada, hash('code 4'), at)))
    t.is(wins.filter(Boolean).length, 1)
  })
}
