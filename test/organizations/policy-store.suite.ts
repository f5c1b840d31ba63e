import type { EntryContext } from '../../core/kernel/access.ts'
import type { TeamId } from '../../core/kernel/ids.ts'
import { addOrganization, at } from './stores.fixture.ts'
import type { StoresFixture } from './stores.fixture.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const later = (days: number): Date => new Date(at.getTime() + days * 24 * 3600 * 1000)
const none = { secondFactorFrom: undefined, graceDays: 0, maxTokenLifeDays: 0, requiresPasskey: false }

const about: SuiteAbout = {
  name: 'policy-store',
  ports: ['PolicyStore'],
  needs: 'No accounts.',
}

/** What every PolicyStore keeps, and what memberships tell of it. */
export const policyStoreSuite = contractSuite<StoresFixture>(about, (cases) => {
  cases(
    'a policy is replaced where its version is the one that was read, in that organization alone',
    async (t, fixture) => {
      const [acme, evil] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'evil')]
      t.deepEqual(await fixture.policies.find(acme), { ...none, version: 1 })
      const wanted = { secondFactorFrom: later(7), graceDays: 7, maxTokenLifeDays: 90, requiresPasskey: true }
      t.false(await fixture.policies.replace(acme, wanted, 2))
      t.true(await fixture.policies.replace(acme, wanted, 1))
      t.false(await fixture.policies.replace(acme, none, 1))
      t.deepEqual(await fixture.policies.find(acme), { ...wanted, version: 2 })
      t.deepEqual(await fixture.policies.find(evil), { ...none, version: 1 })
    },
  )

  cases('a membership tells what is demanded, and a second factor counts once it is enrolled', async (t, fixture) => {
    const [ada, acme, evil] = [
      await fixture.user('ada'),
      await addOrganization(fixture, 'acme'),
      await addOrganization(fixture, 'evil'),
    ]
    for (const orgId of [acme, evil]) await fixture.memberships.add(orgId, ada, at)
    await fixture.policies.replace(acme, { ...none, secondFactorFrom: later(1), graceDays: 1, maxTokenLifeDays: 30 }, 1)
    const entry = async (orgId: typeof acme) => (await fixture.memberships.find(orgId, ada))?.entry
    t.deepEqual(await entry(acme), {
      secondFactorFrom: later(1),
      hasSecondFactor: false,
      maxTokenLifeDays: 30,
      requiresPasskey: false,
      hasPasskey: false,
    })
    t.is(await entry(evil), undefined)
    await fixture.factor(ada, false)
    t.false((await entry(acme))?.hasSecondFactor)
    t.false(await fixture.policies.hasSecondFactor(ada), 'one that waits for its first code is none')
    await fixture.factor(ada, true)
    t.true((await entry(acme))?.hasSecondFactor)
    t.true(await fixture.policies.hasSecondFactor(ada))
  })

  cases('notices are due to people without a second factor, twice, and are marked once', async (t, fixture) => {
    const [ada, bob, cleo, acme, evil] = [
      await fixture.user('ada'),
      await fixture.user('bob'),
      await fixture.user('cleo'),
      await addOrganization(fixture, 'acme'),
      await addOrganization(fixture, 'evil'),
    ]
    for (const user of [ada, bob]) await fixture.memberships.add(acme, user, at)
    await fixture.memberships.add(evil, cleo, at)
    for (const user of [ada, bob, cleo]) await fixture.email(user, `${user}@example.org`, true)
    const robot = await fixture.robots.insert({
      orgId: acme,
      orgName: 'acme',
      name: 'ci',
      description: '',
      createdAt: at,
    })
    t.is(robot._tag, 'Right')
    await fixture.factor(bob, true)
    t.deepEqual(await fixture.policies.dueNotices(at, 10), [], 'nothing is demanded')
    await fixture.policies.replace(acme, { ...none, secondFactorFrom: later(10), graceDays: 10 }, 1)
    const due = await fixture.policies.dueNotices(later(3), 10)
    t.deepEqual(due, [
      {
        orgId: acme,
        orgName: 'acme',
        userId: ada,
        login: 'ada',
        email: `${ada}@example.org`,
        secondFactorFrom: later(10),
        told: 'none',
      },
    ])
    t.deepEqual(
      await Promise.all([1, 2, 3].map(() => fixture.policies.markTold(acme, ada, 'comes'))).then(
        (all) => all.filter(Boolean).length,
      ),
      1,
    )
    t.deepEqual(await fixture.policies.dueNotices(later(3), 10), [])
    t.deepEqual(
      (await fixture.policies.dueNotices(later(11), 10)).map(({ told }) => told),
      ['comes'],
    )
    t.true(await fixture.policies.markTold(acme, ada, 'near'))
    t.false(await fixture.policies.markTold(acme, ada, 'comes'))
    t.deepEqual(await fixture.policies.dueNotices(later(11), 10), [])
    t.false(await fixture.policies.markTold(evil, ada, 'near'), 'no member there')
    await fixture.policies.forgetNotices(acme)
    t.is((await fixture.policies.dueNotices(later(3), 10)).length, 1)
  })

  cases('lists over organizations leave out those that would not let the caller in', async (t, fixture) => {
    const ada = await fixture.user('ada')
    const orgs = [
      await addOrganization(fixture, 'open'),
      await addOrganization(fixture, 'factor'),
      await addOrganization(fixture, 'short'),
    ] as const
    const teams: TeamId[] = []
    for (const orgId of orgs) {
      await fixture.memberships.add(orgId, ada, at)
      const made = await fixture.teams.insert({
        orgId,
        name: 'crew',
        description: '',
        permission: 'read',
        type: '',
        createdAt: at,
      })
      if (made._tag === 'Left') throw new Error('not made')
      teams.push(made.right)
      await fixture.teams.addMember({ id: made.right, orgId }, ada, at)
    }
    await fixture.policies.replace(orgs[1], { ...none, secondFactorFrom: later(1), graceDays: 1 }, 1)
    await fixture.policies.replace(orgs[2], { ...none, maxTokenLifeDays: 30 }, 1)
    const list = async (days: number, tokenLifeDays: number, passkeyProof: EntryContext['passkeyProof'] = 'none') => {
      const entry = { at: later(days), tokenLifeDays, passkeyProof }
      const within = { onlyOrgId: undefined, onlyPublic: false, entry }
      const { items, total } = await fixture.teams.listOfUser(ada, within, { page: 1, limit: 30 })
      t.is(total, items.length)
      return items.map(({ team }) => teams.indexOf(team.id))
    }
    t.deepEqual(await list(0, 30), [0, 1, 2])
    t.deepEqual(await list(0, 31), [0, 1])
    t.deepEqual(await list(1, 0), [0, 2])
    await fixture.factor(ada, true)
    t.deepEqual(await list(2, 0), [0, 1, 2])
    await fixture.policies.replace(orgs[2], { ...none, requiresPasskey: true }, 2)
    t.deepEqual(await list(2, 0), [0, 1])
    t.deepEqual(await list(2, 0, 'owned'), [0, 1], 'the account has no passkey')
    t.deepEqual(await list(2, 0, 'given'), [0, 1, 2])
  })
})
