import type { TeamId } from '../../core/kernel/ids.ts'
import { addOrganization, at } from './store-bench.ts'
import type { StoreBench } from './store-bench.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const later = (days: number): Date => new Date(at.getTime() + days * 24 * 3600 * 1000)
const none = { secondFactorFrom: undefined, graceDays: 0, maxTokenLifeDays: 0 }

const about: SuiteAbout = {
  name: 'policy-store',
  ports: ['PolicyStore'],
  needs: 'No accounts.',
}

/** What every PolicyStore keeps, and what memberships tell of it. */
export const policyStoreSuite = contractSuite<StoreBench>(about, (cases) => {
  cases(
    'a policy is replaced where its version is the one that was read, in that organization alone',
    async (t, bench) => {
      const [acme, evil] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'evil')]
      t.deepEqual(await bench.policies.find(acme), { ...none, version: 1 })
      const wanted = { secondFactorFrom: later(7), graceDays: 7, maxTokenLifeDays: 90 }
      t.false(await bench.policies.replace(acme, wanted, 2))
      t.true(await bench.policies.replace(acme, wanted, 1))
      t.false(await bench.policies.replace(acme, none, 1))
      t.deepEqual(await bench.policies.find(acme), { ...wanted, version: 2 })
      t.deepEqual(await bench.policies.find(evil), { ...none, version: 1 })
    },
  )

  cases('a membership tells what is demanded, and a second factor counts once it is enrolled', async (t, bench) => {
    const [ada, acme, evil] = [
      await bench.user('ada'),
      await addOrganization(bench, 'acme'),
      await addOrganization(bench, 'evil'),
    ]
    for (const orgId of [acme, evil]) await bench.memberships.add(orgId, ada, at)
    await bench.policies.replace(acme, { secondFactorFrom: later(1), graceDays: 1, maxTokenLifeDays: 30 }, 1)
    const entry = async (orgId: typeof acme) => (await bench.memberships.find(orgId, ada))?.entry
    t.deepEqual(await entry(acme), { secondFactorFrom: later(1), hasSecondFactor: false, maxTokenLifeDays: 30 })
    t.is(await entry(evil), undefined)
    await bench.factor(ada, false)
    t.false((await entry(acme))?.hasSecondFactor)
    t.false(await bench.policies.hasSecondFactor(ada), 'one that waits for its first code is none')
    await bench.factor(ada, true)
    t.true((await entry(acme))?.hasSecondFactor)
    t.true(await bench.policies.hasSecondFactor(ada))
  })

  cases('notices are due to people without a second factor, twice, and are marked once', async (t, bench) => {
    const [ada, bob, cleo, acme, evil] = [
      await bench.user('ada'),
      await bench.user('bob'),
      await bench.user('cleo'),
      await addOrganization(bench, 'acme'),
      await addOrganization(bench, 'evil'),
    ]
    for (const user of [ada, bob]) await bench.memberships.add(acme, user, at)
    await bench.memberships.add(evil, cleo, at)
    for (const user of [ada, bob, cleo]) await bench.email(user, `${user}@example.org`, true)
    const robot = await bench.robots.insert({
      orgId: acme,
      orgName: 'acme',
      name: 'ci',
      description: '',
      createdAt: at,
    })
    t.is(robot._tag, 'Right')
    await bench.factor(bob, true)
    t.deepEqual(await bench.policies.dueNotices(at, 10), [], 'nothing is demanded')
    await bench.policies.replace(acme, { secondFactorFrom: later(10), graceDays: 10, maxTokenLifeDays: 0 }, 1)
    const due = await bench.policies.dueNotices(later(3), 10)
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
      await Promise.all([1, 2, 3].map(() => bench.policies.markTold(acme, ada, 'comes'))).then(
        (all) => all.filter(Boolean).length,
      ),
      1,
    )
    t.deepEqual(await bench.policies.dueNotices(later(3), 10), [])
    t.deepEqual(
      (await bench.policies.dueNotices(later(11), 10)).map(({ told }) => told),
      ['comes'],
    )
    t.true(await bench.policies.markTold(acme, ada, 'near'))
    t.false(await bench.policies.markTold(acme, ada, 'comes'))
    t.deepEqual(await bench.policies.dueNotices(later(11), 10), [])
    t.false(await bench.policies.markTold(evil, ada, 'near'), 'no member there')
    await bench.policies.forgetNotices(acme)
    t.is((await bench.policies.dueNotices(later(3), 10)).length, 1)
  })

  cases('lists over organizations leave out those that would not let the caller in', async (t, bench) => {
    const ada = await bench.user('ada')
    const orgs = [
      await addOrganization(bench, 'open'),
      await addOrganization(bench, 'factor'),
      await addOrganization(bench, 'short'),
    ] as const
    const teams: TeamId[] = []
    for (const orgId of orgs) {
      await bench.memberships.add(orgId, ada, at)
      const made = await bench.teams.insert({
        orgId,
        name: 'crew',
        description: '',
        permission: 'read',
        type: '',
        createdAt: at,
      })
      if (made._tag === 'Left') throw new Error('not made')
      teams.push(made.right)
      await bench.teams.addMember({ id: made.right, orgId }, ada, at)
    }
    await bench.policies.replace(orgs[1], { secondFactorFrom: later(1), graceDays: 1, maxTokenLifeDays: 0 }, 1)
    await bench.policies.replace(orgs[2], { secondFactorFrom: undefined, graceDays: 0, maxTokenLifeDays: 30 }, 1)
    const list = async (days: number, tokenLifeDays: number) => {
      const within = { onlyOrgId: undefined, onlyPublic: false, entry: { at: later(days), tokenLifeDays } }
      const { items, total } = await bench.teams.listOfUser(ada, within, { page: 1, limit: 30 })
      t.is(total, items.length)
      return items.map(({ team }) => teams.indexOf(team.id))
    }
    t.deepEqual(await list(0, 30), [0, 1, 2])
    t.deepEqual(await list(0, 31), [0, 1])
    t.deepEqual(await list(1, 0), [0, 2])
    await bench.factor(ada, true)
    t.deepEqual(await list(2, 0), [0, 1, 2])
  })
})
