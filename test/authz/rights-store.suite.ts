import type { AccountId, UserId } from '../../core/kernel/ids.ts'
import type { RightsStore } from '../../core/kernel/rights.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'
import { storeFixture } from './stored-fixture.ts'
import type { Fixture } from './fixture.ts'

/**
 * A store of its own for each case. It finds the organization 11 with the users 1 (an owner), 2 (in the team 112 with
 * the role `org_mgmt/view`), 3 (in a team, but no member any more) and 4 (no member, a site admin), and the
 * organization 12 with user 1 in a team of level `read`. `disable` makes a user inactive, `prohibit` prohibits the
 * sign-in.
 */
export interface RightsStoreBench {
  readonly store: RightsStore
  disable(userId: number): Promise<void>
  prohibit(userId: number): Promise<void>
  close(): Promise<void>
}

const org = 11 as AccountId
const otherOrg = 12 as AccountId
const user = (id: number): UserId => id as UserId

const fixture: Fixture = {
  users: [1, 2, 3, 4],
  orgs: [
    {
      id: 11,
      visibility: 'private',
      members: [1, 2],
      teams: [
        { id: 111, permission: 'owner', members: [1, 3], roleIds: [] },
        { id: 112, permission: 'custom', members: [2], roleIds: [1101] },
      ],
      roles: [{ id: 1101, permissions: ['org_mgmt/view'] }],
      grants: [],
    },
    {
      id: 12,
      visibility: 'private',
      members: [1],
      teams: [{ id: 121, permission: 'read', members: [1, 2], roleIds: [] }],
      roles: [],
      grants: [],
    },
  ],
  clusters: [],
  tokens: [],
}

const about: SuiteAbout = {
  name: 'rights-store',
  ports: ['RightsStore'],
  needs: 'The people and organizations that are described at RightsStoreBench.',
  fill: async (database) => {
    await storeFixture(database, fixture)
    await database.query((k) => k('users').where('id', 4).update({ is_admin: 1 }))
  },
}

/** What every RightsStore keeps. */
export const rightsStoreSuite = contractSuite<RightsStoreBench>(about, (onBench) => {
  onBench('an owner, a member with a role and a user who is no member hold what they should', async (t, { store }) => {
    const [owner, member, left] = [
      await store.of(org, user(1)),
      await store.of(org, user(2)),
      await store.of(org, user(3)),
    ]
    t.like(owner, { isSiteAdmin: false, context: { accountId: org, isMember: true, level: 'owner' } })
    t.like(member?.context, { isMember: true, level: 'none', teamIds: [112] })
    t.deepEqual([...(member?.context.permissions ?? [])], ['org_mgmt/view'])
    t.like(left?.context, { isMember: false, level: 'none', teamIds: [] })
  })

  onBench('rights of one organization are not those of another', async (t, { store }) => {
    t.like((await store.of(otherOrg, user(1)))?.context, { accountId: otherOrg, isMember: true, level: 'read' })
    t.like((await store.of(otherOrg, user(2)))?.context, { isMember: false, level: 'none' })
  })

  onBench('a site admin is found as one, member or not', async (t, { store }) => {
    t.like(await store.of(org, user(4)), { isSiteAdmin: true, context: { isMember: false } })
  })

  onBench(
    'a user who may not act, a missing user and a missing account have no rights',
    async (t, { store, disable, prohibit }) => {
      await disable(1)
      await prohibit(2)
      t.is(await store.of(org, user(1)), undefined)
      t.is(await store.of(org, user(2)), undefined)
      t.is(await store.of(org, user(999)), undefined)
      t.is(await store.of(999 as AccountId, user(4)), undefined)
    },
  )

  onBench('an account that exists is locked', async (t, { store }) => {
    t.true(await store.lock(org))
    t.false(await store.lock(999 as AccountId))
  })
})
