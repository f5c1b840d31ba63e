import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { CloudCredentialStore } from '../../core/clouds/ports.ts'
import type { CredentialContent } from '../../core/clouds/types.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** A store with two people in it who have no credentials. */
export interface StoreFixture {
  readonly store: CloudCredentialStore
  readonly user: UserId
  readonly other: UserId
  /** Removes a person with everything that is theirs. */
  removeUser(user: UserId): Promise<void>
  close(): Promise<void>
}

const at = new Date('2026-11-21T08:00:00.123Z')
const all = { types: undefined, fleetEndpoint: undefined }
const firstPage = { page: 1, limit: 30 }
const content = (owner: UserId, changes: Partial<CredentialContent> = {}): CredentialContent => ({
  type: 'Aws',
  ownerId: owner,
  fleetEndpoint: '',
  ref: 'ref-1',
  box: Uint8Array.of(0, 255, 7, 13, 10),
  ...changes,
})

const about: SuiteAbout = {
  name: 'cloud-credential-store',
  ports: ['CloudCredentialStore'],
  needs: 'Two people, `user` and `other`, without credentials.',
}

/** What every CloudCredentialStore keeps to; each case about a person's rows has its twin of another person. */
export const cloudCredentialStoreSuite = contractSuite<StoreFixture>(about, (onFixture) => {
  const insert = async (
    { store }: StoreFixture,
    user: UserId,
    credential: string,
    changes: Partial<CredentialContent> = {},
  ) => {
    const inserted = await store.insert(user, credential, content(user, changes), at)
    if (isLeft(inserted)) throw new Error(inserted.left.message)
    return inserted.right
  }

  onFixture('what was inserted is found as it was, by its person alone', async (t, fixture) => {
    const id = await insert(fixture, fixture.user, 'backups')
    const found = await fixture.store.find(fixture.user, 'backups')
    t.deepEqual(
      { ...found, box: [...(found?.box ?? [])] },
      {
        id,
        userId: fixture.user,
        name: 'backups',
        type: 'Aws',
        ownerId: fixture.user,
        ref: 'ref-1',
        box: [0, 255, 7, 13, 10],
        createdAt: at,
        version: 1,
      },
    )
    t.is(await fixture.store.find(fixture.other, 'backups'), undefined)
    t.is(await fixture.store.find(fixture.user, 'Backups'), undefined)
  })

  onFixture('a name is unique to a person, and free for another', async (t, fixture) => {
    await insert(fixture, fixture.user, 'backups')
    const again = await fixture.store.insert(fixture.user, 'backups', content(fixture.user), at)
    t.true(isLeft(again) && again.left.tag === 'CredentialNameTaken')
    t.true(isRight(await fixture.store.insert(fixture.other, 'backups', content(fixture.other), at)))
    t.is((await fixture.store.list(fixture.user, all, firstPage)).total, 1)
  })

  onFixture("lists are by name, paged, filtered, and one person's alone", async (t, fixture) => {
    await insert(fixture, fixture.user, 'c')
    await insert(fixture, fixture.user, 'a', { type: 'Rancher', fleetEndpoint: 'https://fleet.example' })
    await insert(fixture, fixture.user, 'b', { type: 'Rancher', fleetEndpoint: 'https://other.example' })
    await insert(fixture, fixture.other, 'a', { type: 'Rancher', fleetEndpoint: 'https://fleet.example' })
    const names = async (
      filter: Parameters<CloudCredentialStore['list']>[1],
      page = firstPage,
    ): Promise<readonly unknown[]> => {
      const found = await fixture.store.list(fixture.user, filter, page)
      return [found.total, ...found.items.map((item) => item.name)]
    }
    t.deepEqual(await names(all), [3, 'a', 'b', 'c'])
    t.deepEqual(await names(all, { page: 2, limit: 2 }), [3, 'c'])
    t.deepEqual(await names({ ...all, types: ['Rancher'] }), [2, 'a', 'b'])
    t.deepEqual(await names({ ...all, types: ['Rancher', 'Aws'] }), [3, 'a', 'b', 'c'])
    t.deepEqual(await names({ ...all, types: ['Nothing'] }), [0])
    t.deepEqual(await names({ types: ['Rancher'], fleetEndpoint: 'https://fleet.example' }), [1, 'a'])
    t.deepEqual(await names({ types: ['Aws'], fleetEndpoint: 'https://fleet.example' }), [0])
    t.deepEqual(
      (await fixture.store.list(fixture.other, all, firstPage)).items.map((item) => item.userId),
      [fixture.other],
    )
  })

  onFixture("a change is for the version that was read, and for one's own row", async (t, fixture) => {
    const id = await insert(fixture, fixture.user, 'backups')
    const next = content(fixture.user, { type: 'AzureStorage', ref: 'ref-2', box: Uint8Array.of(9) })
    t.false(await fixture.store.replace(fixture.other, id, 1, next, at))
    t.false(await fixture.store.replace(fixture.user, id, 2, next, at))
    t.true(await fixture.store.replace(fixture.user, id, 1, next, at))
    t.false(await fixture.store.replace(fixture.user, id, 1, next, at))
    const found = await fixture.store.find(fixture.user, 'backups')
    t.deepEqual(
      [found?.type, found?.ref, [...(found?.box ?? [])], found?.version, found?.createdAt],
      ['AzureStorage', 'ref-2', [9], 2, at],
    )
  })

  onFixture('of two changes of one version of a credential at once one is made', async (t, fixture) => {
    const id = await insert(fixture, fixture.user, 'backups')
    const done = await Promise.all(
      ['x', 'y', 'z'].map((ref) => fixture.store.replace(fixture.user, id, 1, content(fixture.user, { ref }), at)),
    )
    t.deepEqual(done.filter(Boolean).length, 1)
  })

  onFixture('a person removes the own credential and no other', async (t, fixture) => {
    const id = await insert(fixture, fixture.user, 'backups')
    const theirs = await insert(fixture, fixture.other, 'backups')
    t.is(await fixture.store.remove(fixture.user, 'none'), undefined)
    t.is(await fixture.store.remove(fixture.user, 'backups'), id)
    t.is(await fixture.store.remove(fixture.user, 'backups'), undefined)
    t.is((await fixture.store.find(fixture.other, 'backups'))?.id, theirs)
    t.is(await fixture.store.lockCount(fixture.user), 0)
    t.is(await fixture.store.lockCount(fixture.other), 1)
  })

  onFixture('credentials go with their person', async (t, fixture) => {
    await insert(fixture, fixture.user, 'backups')
    await insert(fixture, fixture.other, 'backups')
    await fixture.removeUser(fixture.user)
    t.is((await fixture.store.list(fixture.user, all, firstPage)).total, 0)
    t.is((await fixture.store.list(fixture.other, all, firstPage)).total, 1)
  })
})
