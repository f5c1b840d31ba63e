import test from 'ava'
import { makeSqlProvisionedUserStore } from '../../adapters/sql/provisioning/user-store.ts'
import type { OrgId, UserId } from '../../core/kernel/ids.ts'
import type { UserContent, UserLookup } from '../../core/provisioning/types.ts'
import { storeFixture } from '../authz/stored-fixture.ts'
import { eachDatabase } from '../support/databases.ts'
import { tagOf, unwrap } from '../support/outcome.ts'

const [acme, evil] = [11 as OrgId, 12 as OrgId]
const people = [1, 2, 3, 4] as UserId[]
const at = new Date(1_750_000_000_000)

const content = (userName: string, more: Partial<UserContent> = {}): UserContent => ({
  userName,
  externalId: undefined,
  fullName: '',
  email: `${userName}@example.org`,
  displayName: '',
  emails: [`${userName}@example.org`],
  isActive: true,
  attributes: { userName },
  ...more,
})

for (const database of eachDatabase())
  test(`${database.name}: users of a directory are found by each index, in their organization`, async (t) => {
    const db = await database.open()
    try {
      const org = { visibility: 'private' as const, teams: [], roles: [], grants: [] }
      await storeFixture(db, {
        users: people,
        orgs: [
          { ...org, id: acme, members: [1, 2, 3] },
          { ...org, id: evil, members: [3, 4] },
        ],
        clusters: [],
        tokens: [],
      })
      const store = makeSqlProvisionedUserStore(db)(db)
      const [ann, ben, cat, dan] = people as [UserId, UserId, UserId, UserId]
      unwrap(await store.insert(acme, ann, content('Ann', { externalId: 'X1', displayName: 'Ann A' }), at))
      unwrap(await store.insert(acme, ben, content('ben', { emails: ['One@x.test', 'two@x.test', 'ONE@x.test'] }), at))
      unwrap(await store.insert(acme, cat, content('cat'), at))
      unwrap(await store.insert(evil, dan, content('ann', { externalId: 'X1' }), at))
      t.is(tagOf(await store.update(acme, cat, content('ANN'), at)), 'Uniqueness')

      const found = async (orgId: OrgId, by: UserLookup['by'], value: string) =>
        (await store.after(orgId, { by, value }, 0, 10)).map(({ id }) => id)
      t.deepEqual(await found(acme, 'userName', 'ANN'), [ann])
      t.deepEqual(await found(evil, 'userName', 'ann'), [dan])
      t.deepEqual(await found(acme, 'externalId', 'X1'), [ann])
      t.deepEqual(await found(acme, 'externalId', 'x1'), [], 'an external id has a case')
      t.deepEqual(await found(acme, 'displayName', 'ann a'), [ann])
      t.deepEqual(await found(acme, 'email', 'one@X.test'), [ben])
      t.deepEqual(await found(acme, 'id', String(dan)), [])
      t.deepEqual(await found(acme, 'id', 'no id'), [])

      t.is(await store.count(acme), 3)
      t.deepEqual(
        (await store.page(acme, { startIndex: 2, count: 1 })).map(({ id }) => id),
        [ben],
      )
      t.deepEqual(
        (await store.after(acme, undefined, ann, 10)).map(({ id }) => id),
        [ben, cat],
      )
      t.deepEqual([...(await store.among(acme, people))].sort(), [ann, ben, cat])
      t.deepEqual([await store.isElsewhere(acme, ann), await store.isElsewhere(acme, cat)], [false, true])

      const before = await store.find(acme, ben)
      unwrap(await store.update(acme, ben, content('ben', { emails: ['three@x.test'] }), at))
      t.true(((await store.find(acme, ben))?.version ?? 0) > (before?.version ?? 0))
      t.deepEqual([await found(acme, 'email', 'one@x.test'), await found(acme, 'email', 'three@x.test')], [[], [ben]])
      await store.remove(evil, ben)
      t.not(await store.find(acme, ben), undefined)
      await store.remove(acme, ben)
      t.is(await store.find(acme, ben), undefined)
    } finally {
      await db.close()
    }
  })
