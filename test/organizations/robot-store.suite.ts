import type { OrgId } from '../../core/kernel/ids.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { addOrganization, addTeam, at, firstPage } from './stores.fixture.ts'
import type { StoresFixture } from './stores.fixture.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const insert = (fixture: StoresFixture, orgId: OrgId, orgName: string, name: string) =>
  fixture.robots.insert({ orgId, orgName, name, description: 'it works', createdAt: at })

const about: SuiteAbout = {
  name: 'robot-store',
  ports: ['RobotStore'],
  needs: 'No accounts.',
}

/** What every RobotStore keeps. */
export const robotStoreSuite = contractSuite<StoresFixture>(about, (cases) => {
  cases(
    'a robot comes back as it was made, in its organization alone; a name is taken once in each',
    async (t, fixture) => {
      const [acme, evil] = [await addOrganization(fixture, 'Acme'), await addOrganization(fixture, 'evil')]
      const id = unwrap(await insert(fixture, acme, 'Acme', 'ci'))
      const team = await addTeam(fixture, acme, 'crew')
      await fixture.teams.addMember({ id: team, orgId: acme }, id, at)
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
      t.deepEqual(await fixture.robots.find(acme, id), expected)
      t.deepEqual(await fixture.robots.list(acme, firstPage), { items: [expected], total: 1 })
      t.is(await fixture.robots.find(evil, id), undefined)
      t.deepEqual(await fixture.robots.list(evil, firstPage), { items: [], total: 0 })
      t.deepEqual([await fixture.robots.count(acme), await fixture.robots.count(evil)], [1, 0])
      t.is(tagOf(await insert(fixture, acme, 'Acme', 'ci')), 'RobotNameTaken')
      t.is(tagOf(await insert(fixture, evil, 'evil', 'ci')), 'done')
    },
  )

  cases('changes count the version and stay inside the organization', async (t, fixture) => {
    const [acme, evil] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'evil')]
    const id = unwrap(await insert(fixture, acme, 'acme', 'ci'))
    t.false(await fixture.robots.update(evil, id, { description: 'theirs', isActive: false }, undefined))
    t.false(await fixture.robots.update(acme, id, { description: 'late' }, 2))
    t.true(await fixture.robots.update(acme, id, { isActive: false }, 1))
    t.like(await fixture.robots.find(acme, id), { description: 'it works', isActive: false, version: 2 })
    t.true(await fixture.robots.update(acme, id, { description: '', isActive: true }, undefined))
    t.like(await fixture.robots.find(acme, id), { description: '', isActive: true, version: 3 })
    await fixture.robots.remove(evil, id)
    t.not(await fixture.robots.find(acme, id), undefined)
    await fixture.robots.remove(acme, id)
    t.is(await fixture.robots.find(acme, id), undefined)
    t.is(await fixture.memberships.find(acme, id), undefined)
  })

  cases(
    'a robot is a member without being a person: lists, names and ids of people do not know it',
    async (t, fixture) => {
      const [ada, acme] = [await fixture.user('ada'), await addOrganization(fixture, 'acme')]
      const team = await addTeam(fixture, acme, 'crew', 'write')
      const id = unwrap(await insert(fixture, acme, 'acme', 'ci'))
      await fixture.memberships.add(acme, ada, at)
      for (const user of [ada, id]) await fixture.teams.addMember({ id: team, orgId: acme }, user, at)
      t.like(await fixture.memberships.rights(acme, id), { isMember: true, level: 'write' })
      t.deepEqual(await fixture.memberships.list(acme, 'all', firstPage), { items: [ada], total: 1 })
      t.deepEqual(await fixture.teams.listMembers(team, firstPage), { items: [ada], total: 1 })
      t.is(await fixture.memberships.findAccount('acme+ci'), undefined)
      t.is(await fixture.memberships.findAccountById(id), undefined)
    },
  )

  cases('without a team a robot stays where a person goes', async (t, fixture) => {
    const [ada, acme] = [await fixture.user('ada'), await addOrganization(fixture, 'acme')]
    const id = unwrap(await insert(fixture, acme, 'acme', 'ci'))
    await fixture.memberships.add(acme, ada, at)
    t.is(await fixture.memberships.removeWithoutTeam(acme), 1)
    t.is(await fixture.memberships.find(acme, ada), undefined)
    t.not(await fixture.memberships.find(acme, id), undefined)
  })

  cases('logins follow the name of the organization, and robots go with it', async (t, fixture) => {
    const [acme, evil] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'evil')]
    const id = unwrap(await insert(fixture, acme, 'acme', 'ci'))
    const theirs = unwrap(await insert(fixture, evil, 'evil', 'ci'))
    t.is(tagOf(await fixture.organizations.rename(acme, 'acme', 'a'.repeat(40))), 'done')
    t.is((await fixture.robots.find(acme, id))?.login, `${'a'.repeat(40)}+ci`)
    const longest = unwrap(await insert(fixture, acme, 'a'.repeat(40), 'b'.repeat(22)))
    t.is((await fixture.robots.find(acme, longest))?.login.length, 63)
    const again = await addOrganization(fixture, 'acme')
    t.is(tagOf(await insert(fixture, again, 'acme', 'ci')), 'done', 'no redirect holds the old login')
    const token = await fixture.token(id, 'one', acme)
    await fixture.organizations.remove(acme)
    t.is(await fixture.tokens.find(acme, token), undefined)
    t.is(await fixture.robots.find(acme, id), undefined)
    t.not(await fixture.robots.find(evil, theirs), undefined)
  })
})
