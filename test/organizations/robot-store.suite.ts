import type { OrgId } from '../../core/kernel/ids.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { addOrganization, addTeam, at, firstPage } from './store-bench.ts'
import type { StoreBench } from './store-bench.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const insert = (bench: StoreBench, orgId: OrgId, orgName: string, name: string) =>
  bench.robots.insert({ orgId, orgName, name, description: 'it works', createdAt: at })

const about: SuiteAbout = {
  name: 'robot-store',
  ports: ['RobotStore'],
  needs: 'No accounts.',
}

/** What every RobotStore keeps. */
export const robotStoreSuite = contractSuite<StoreBench>(about, (cases) => {
  cases(
    'a robot comes back as it was made, in its organization alone; a name is taken once in each',
    async (t, bench) => {
      const [acme, evil] = [await addOrganization(bench, 'Acme'), await addOrganization(bench, 'evil')]
      const id = unwrap(await insert(bench, acme, 'Acme', 'ci'))
      const team = await addTeam(bench, acme, 'crew')
      await bench.teams.addMember({ id: team, orgId: acme }, id, at)
      const expected = {
        id,
        orgId: acme,
        name: 'ci',
        login: 'Acme+ci',
        description: 'it works',
        isActive: true,
        teamIds: [team],
        createdAt: at,
        version: 1,
      }
      t.deepEqual(await bench.robots.find(acme, id), expected)
      t.deepEqual(await bench.robots.list(acme, firstPage), { items: [expected], total: 1 })
      t.is(await bench.robots.find(evil, id), undefined)
      t.deepEqual(await bench.robots.list(evil, firstPage), { items: [], total: 0 })
      t.deepEqual([await bench.robots.count(acme), await bench.robots.count(evil)], [1, 0])
      t.is(tagOf(await insert(bench, acme, 'Acme', 'ci')), 'RobotNameTaken')
      t.is(tagOf(await insert(bench, evil, 'evil', 'ci')), 'done')
    },
  )

  cases('changes count the version and stay inside the organization', async (t, bench) => {
    const [acme, evil] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'evil')]
    const id = unwrap(await insert(bench, acme, 'acme', 'ci'))
    t.false(await bench.robots.update(evil, id, { description: 'theirs', isActive: false }, undefined))
    t.false(await bench.robots.update(acme, id, { description: 'late' }, 2))
    t.true(await bench.robots.update(acme, id, { isActive: false }, 1))
    t.like(await bench.robots.find(acme, id), { description: 'it works', isActive: false, version: 2 })
    t.true(await bench.robots.update(acme, id, { description: '', isActive: true }, undefined))
    t.like(await bench.robots.find(acme, id), { description: '', isActive: true, version: 3 })
    await bench.robots.remove(evil, id)
    t.not(await bench.robots.find(acme, id), undefined)
    await bench.robots.remove(acme, id)
    t.is(await bench.robots.find(acme, id), undefined)
    t.is(await bench.memberships.find(acme, id), undefined)
  })

  cases(
    'a robot is a member without being a person: lists, names and ids of people do not know it',
    async (t, bench) => {
      const [ada, acme] = [await bench.user('ada'), await addOrganization(bench, 'acme')]
      const team = await addTeam(bench, acme, 'crew', 'write')
      const id = unwrap(await insert(bench, acme, 'acme', 'ci'))
      await bench.memberships.add(acme, ada, at)
      for (const user of [ada, id]) await bench.teams.addMember({ id: team, orgId: acme }, user, at)
      t.like(await bench.memberships.rights(acme, id), { isMember: true, level: 'write' })
      t.deepEqual(await bench.memberships.list(acme, 'all', firstPage), { items: [ada], total: 1 })
      t.deepEqual(await bench.teams.listMembers(team, firstPage), { items: [ada], total: 1 })
      t.is(await bench.memberships.findAccount('acme+ci'), undefined)
      t.is(await bench.memberships.findAccountById(id), undefined)
    },
  )

  cases('without a team a robot stays where a person goes', async (t, bench) => {
    const [ada, acme] = [await bench.user('ada'), await addOrganization(bench, 'acme')]
    const id = unwrap(await insert(bench, acme, 'acme', 'ci'))
    await bench.memberships.add(acme, ada, at)
    t.is(await bench.memberships.removeWithoutTeam(acme), 1)
    t.is(await bench.memberships.find(acme, ada), undefined)
    t.not(await bench.memberships.find(acme, id), undefined)
  })

  cases('logins follow the name of the organization, and robots go with it', async (t, bench) => {
    const [acme, evil] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'evil')]
    const id = unwrap(await insert(bench, acme, 'acme', 'ci'))
    const theirs = unwrap(await insert(bench, evil, 'evil', 'ci'))
    t.is(tagOf(await bench.organizations.rename(acme, 'acme', 'a'.repeat(40))), 'done')
    t.is((await bench.robots.find(acme, id))?.login, `${'a'.repeat(40)}+ci`)
    const longest = unwrap(await insert(bench, acme, 'a'.repeat(40), 'b'.repeat(22)))
    t.is((await bench.robots.find(acme, longest))?.login.length, 63)
    const again = await addOrganization(bench, 'acme')
    t.is(tagOf(await insert(bench, again, 'acme', 'ci')), 'done', 'no redirect holds the old login')
    const token = await bench.token(id, 'one', acme)
    await bench.organizations.remove(acme)
    t.is(await bench.tokens.find(acme, token), undefined)
    t.is(await bench.robots.find(acme, id), undefined)
    t.not(await bench.robots.find(evil, theirs), undefined)
  })
})
