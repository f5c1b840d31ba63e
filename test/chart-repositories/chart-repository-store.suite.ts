import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { ChartRepositoryStore } from '../../core/packages/repositories/ports.ts'
import type { ChartRepositoryContent } from '../../core/packages/repositories/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** A store with an organization and a person in it that have no repositories. */
export interface StoreWorld {
  readonly store: ChartRepositoryStore
  readonly account: AccountId
  readonly other: AccountId
  /** Removes an account with everything that belongs to it. */
  removeAccount(account: AccountId): Promise<void>
  close(): Promise<void>
}

const at = new Date('2026-11-21T08:00:00.123Z')
const later = new Date('2026-11-21T09:00:00.456Z')
const firstPage = { page: 1, limit: 30 }
const content = (changes: Partial<ChartRepositoryContent> = {}): ChartRepositoryContent => ({
  url: 'https://charts.example.com/stable',
  isPlainHttp: false,
  description: 'Häfen 😀',
  username: 'reader',
  holds: ['password', 'ca'],
  ref: 'ref-1',
  box: Uint8Array.of(0, 255, 7, 13, 10),
  ...changes,
})

const about: SuiteAbout = {
  name: 'chart-repository-store',
  ports: ['ChartRepositoryStore'],
  needs: 'Two accounts, `account` and `other`, without repositories.',
}

/** What every ChartRepositoryStore keeps to; each case about an account's rows has its twin of another account. */
export const chartRepositoryStoreSuite = contractSuite<StoreWorld>(about, (onWorld) => {
  const insert = async (
    { store }: StoreWorld,
    account: AccountId,
    repository: string,
    changes: Partial<ChartRepositoryContent> = {},
  ) => {
    const inserted = await store.insert(account, repository, content(changes), at)
    if (isLeft(inserted)) throw new Error(inserted.left.message)
    return inserted.right
  }

  onWorld('what was inserted is found as it was, by its account alone', async (t, world) => {
    const id = await insert(world, world.account, 'internal')
    const found = await world.store.find(world.account, 'internal')
    t.deepEqual(
      { ...found, box: [...(found?.box ?? [])] },
      {
        ...content(),
        id,
        accountId: world.account,
        name: 'internal',
        box: [0, 255, 7, 13, 10],
        createdAt: at,
        updatedAt: at,
        version: 1,
      },
    )
    t.is(await world.store.find(world.other, 'internal'), undefined)
    t.is(await world.store.find(world.account, 'Internal'), undefined)
  })

  onWorld('one without credentials has no box', async (t, world) => {
    await insert(world, world.account, 'open', {
      box: undefined,
      holds: [],
      username: '',
      isPlainHttp: true,
      url: 'oci://registry:5000/charts',
    })
    const found = await world.store.find(world.account, 'open')
    t.deepEqual(
      [found?.box, found?.holds, found?.username, found?.isPlainHttp, found?.url],
      [undefined, [], '', true, 'oci://registry:5000/charts'],
    )
  })

  onWorld('a name is unique to an account, and free for another', async (t, world) => {
    await insert(world, world.account, 'internal')
    const again = await world.store.insert(world.account, 'internal', content(), at)
    t.true(isLeft(again) && again.left.tag === 'ChartRepositoryNameTaken')
    t.true(isRight(await world.store.insert(world.other, 'internal', content(), at)))
    t.is((await world.store.listOf(world.account, firstPage)).total, 1)
  })

  onWorld("lists are by name, paged, and one account's alone", async (t, world) => {
    for (const each of ['c', 'a', 'b']) await insert(world, world.account, each)
    await insert(world, world.other, 'a')
    const listed = await world.store.listOf(world.account, firstPage)
    t.deepEqual([listed.total, ...listed.items.map((item) => item.name)], [3, 'a', 'b', 'c'])
    const second = await world.store.listOf(world.account, { page: 2, limit: 2 })
    t.deepEqual([second.total, ...second.items.map((item) => item.name)], [3, 'c'])
    t.deepEqual(
      (await world.store.listOf(world.other, firstPage)).items.map((item) => item.accountId),
      [world.other],
    )
  })

  onWorld('the repositories of several accounts are those of just these', async (t, world) => {
    for (const each of ['b', 'a']) await insert(world, world.account, each)
    await insert(world, world.other, 'z')
    const namesIn = async (accounts: readonly AccountId[], limit = 100): Promise<readonly string[]> =>
      (await world.store.listIn(accounts, limit)).map((item) => item.name)
    t.deepEqual(await namesIn([]), [])
    t.deepEqual(await namesIn([world.account]), ['a', 'b'])
    t.deepEqual(await namesIn([world.other]), ['z'])
    t.deepEqual(await namesIn([world.account, world.other]), ['a', 'b', 'z'])
    t.is((await namesIn([world.account, world.other], 2)).length, 2)
  })

  onWorld('a change is for the version that was read, and for a row of the account', async (t, world) => {
    const id = await insert(world, world.account, 'internal')
    const next = content({ url: 'https://other.example.com', box: Uint8Array.of(9), holds: ['token'], ref: 'ref-2' })
    t.false(await world.store.replace(world.other, id, 1, next, later))
    t.false(await world.store.replace(world.account, id, 2, next, later))
    t.true(await world.store.replace(world.account, id, 1, next, later))
    t.false(await world.store.replace(world.account, id, 1, next, later))
    const found = await world.store.find(world.account, 'internal')
    t.deepEqual(
      [found?.url, found?.ref, [...(found?.box ?? [])], found?.version, found?.createdAt, found?.updatedAt],
      ['https://other.example.com', 'ref-2', [9], 2, at, later],
    )
  })

  onWorld('of two changes of one version of a repository at once one is made', async (t, world) => {
    const id = await insert(world, world.account, 'internal')
    const changes = await Promise.all(
      ['a', 'b'].map((word) => world.store.replace(world.account, id, 1, content({ description: word }), later)),
    )
    t.deepEqual([...changes].sort(), [false, true])
  })

  onWorld('what is removed is gone, and only from its account', async (t, world) => {
    const id = await insert(world, world.account, 'internal')
    await insert(world, world.other, 'internal')
    t.is(await world.store.remove(world.other, 'nothing'), undefined)
    t.is(await world.store.remove(world.account, 'internal'), id)
    t.is(await world.store.remove(world.account, 'internal'), undefined)
    t.is((await world.store.find(world.other, 'internal'))?.name, 'internal')
  })

  onWorld('the number is counted for the account, and repositories go with it', async (t, world) => {
    await insert(world, world.account, 'a')
    await insert(world, world.account, 'b')
    await insert(world, world.other, 'a')
    t.is(await world.store.lockCount(world.account), 2)
    await world.removeAccount(world.other)
    t.is(await world.store.find(world.other, 'a'), undefined)
    t.is(await world.store.lockCount(world.account), 2)
  })
})
