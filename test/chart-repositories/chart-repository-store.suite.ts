import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { ChartRepositoryStore } from '../../core/packages/repositories/ports.ts'
import type { ChartRepositoryContent } from '../../core/packages/repositories/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** A store with an organization and a person in it that have no repositories. */
export interface StoreFixture {
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
export const chartRepositoryStoreSuite = contractSuite<StoreFixture>(about, (onFixture) => {
  const insert = async (
    { store }: StoreFixture,
    account: AccountId,
    repository: string,
    changes: Partial<ChartRepositoryContent> = {},
  ) => {
    const inserted = await store.insert(account, repository, content(changes), at)
    if (isLeft(inserted)) throw new Error(inserted.left.message)
    return inserted.right
  }

  onFixture('what was inserted is found as it was, by its account alone', async (t, fixture) => {
    const id = await insert(fixture, fixture.account, 'internal')
    const found = await fixture.store.find(fixture.account, 'internal')
    t.deepEqual(
      { ...found, box: [...(found?.box ?? [])] },
      {
        ...content(),
        id,
        accountId: fixture.account,
        name: 'internal',
        box: [0, 255, 7, 13, 10],
        createdAt: at,
        updatedAt: at,
        version: 1,
      },
    )
    t.is(await fixture.store.find(fixture.other, 'internal'), undefined)
    t.is(await fixture.store.find(fixture.account, 'Internal'), undefined)
  })

  onFixture('one without credentials has no box', async (t, fixture) => {
    await insert(fixture, fixture.account, 'open', {
      box: undefined,
      holds: [],
      username: '',
      isPlainHttp: true,
      url: 'oci://registry:5000/charts',
    })
    const found = await fixture.store.find(fixture.account, 'open')
    t.deepEqual(
      [found?.box, found?.holds, found?.username, found?.isPlainHttp, found?.url],
      [undefined, [], '', true, 'oci://registry:5000/charts'],
    )
  })

  onFixture('a name is unique to an account, and free for another', async (t, fixture) => {
    await insert(fixture, fixture.account, 'internal')
    const again = await fixture.store.insert(fixture.account, 'internal', content(), at)
    t.true(isLeft(again) && again.left.tag === 'ChartRepositoryNameTaken')
    t.true(isRight(await fixture.store.insert(fixture.other, 'internal', content(), at)))
    t.is((await fixture.store.listOf(fixture.account, firstPage)).total, 1)
  })

  onFixture("lists are by name, paged, and one account's alone", async (t, fixture) => {
    for (const each of ['c', 'a', 'b']) await insert(fixture, fixture.account, each)
    await insert(fixture, fixture.other, 'a')
    const listed = await fixture.store.listOf(fixture.account, firstPage)
    t.deepEqual([listed.total, ...listed.items.map((item) => item.name)], [3, 'a', 'b', 'c'])
    const second = await fixture.store.listOf(fixture.account, { page: 2, limit: 2 })
    t.deepEqual([second.total, ...second.items.map((item) => item.name)], [3, 'c'])
    t.deepEqual(
      (await fixture.store.listOf(fixture.other, firstPage)).items.map((item) => item.accountId),
      [fixture.other],
    )
  })

  onFixture('the repositories of several accounts are those of just these', async (t, fixture) => {
    for (const each of ['b', 'a']) await insert(fixture, fixture.account, each)
    await insert(fixture, fixture.other, 'z')
    const namesIn = async (accounts: readonly AccountId[], limit = 100): Promise<readonly string[]> =>
      (await fixture.store.listIn(accounts, limit)).map((item) => item.name)
    t.deepEqual(await namesIn([]), [])
    t.deepEqual(await namesIn([fixture.account]), ['a', 'b'])
    t.deepEqual(await namesIn([fixture.other]), ['z'])
    t.deepEqual(await namesIn([fixture.account, fixture.other]), ['a', 'b', 'z'])
    t.is((await namesIn([fixture.account, fixture.other], 2)).length, 2)
  })

  onFixture('a change is for the version that was read, and for a row of the account', async (t, fixture) => {
    const id = await insert(fixture, fixture.account, 'internal')
    const next = content({ url: 'https://other.example.com', box: Uint8Array.of(9), holds: ['token'], ref: 'ref-2' })
    t.false(await fixture.store.replace(fixture.other, id, 1, next, later))
    t.false(await fixture.store.replace(fixture.account, id, 2, next, later))
    t.true(await fixture.store.replace(fixture.account, id, 1, next, later))
    t.false(await fixture.store.replace(fixture.account, id, 1, next, later))
    const found = await fixture.store.find(fixture.account, 'internal')
    t.deepEqual(
      [found?.url, found?.ref, [...(found?.box ?? [])], found?.version, found?.createdAt, found?.updatedAt],
      ['https://other.example.com', 'ref-2', [9], 2, at, later],
    )
  })

  onFixture('of two changes of one version of a repository at once one is made', async (t, fixture) => {
    const id = await insert(fixture, fixture.account, 'internal')
    const changes = await Promise.all(
      ['a', 'b'].map((word) => fixture.store.replace(fixture.account, id, 1, content({ description: word }), later)),
    )
    t.deepEqual([...changes].sort(), [false, true])
  })

  onFixture('what is removed is gone, and only from its account', async (t, fixture) => {
    const id = await insert(fixture, fixture.account, 'internal')
    await insert(fixture, fixture.other, 'internal')
    t.is(await fixture.store.remove(fixture.other, 'nothing'), undefined)
    t.is(await fixture.store.remove(fixture.account, 'internal'), id)
    t.is(await fixture.store.remove(fixture.account, 'internal'), undefined)
    t.is((await fixture.store.find(fixture.other, 'internal'))?.name, 'internal')
  })

  onFixture('the number is counted for the account, and repositories go with it', async (t, fixture) => {
    await insert(fixture, fixture.account, 'a')
    await insert(fixture, fixture.account, 'b')
    await insert(fixture, fixture.other, 'a')
    t.is(await fixture.store.lockCount(fixture.account), 2)
    await fixture.removeAccount(fixture.other)
    t.is(await fixture.store.find(fixture.other, 'a'), undefined)
    t.is(await fixture.store.lockCount(fixture.account), 2)
  })
})
