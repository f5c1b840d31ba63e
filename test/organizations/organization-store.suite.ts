import { tagOf, unwrap } from '../support/outcome.ts'
import type { StoresFixture } from './stores.fixture.ts'
import { addOrganization, addTeam, at, firstPage, profile } from './stores.fixture.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const about: SuiteAbout = {
  name: 'organization-store',
  ports: ['OrganizationStore', 'OrganizationTokenStore'],
  needs: 'No accounts.',
}

/** What every OrganizationStore keeps. */
export const organizationStoreSuite = contractSuite<StoresFixture>(about, (onBench) => {
  onBench('an organization reads back as it was inserted, by id and by name in any case', async (t, fixture) => {
    const id = await addOrganization(fixture, 'Acme.Corp')
    const expected = {
      ...profile,
      id,
      name: 'Acme.Corp',
      orgType: 0,
      avatarDigest: undefined,
      createdAt: at,
      version: 1,
    }
    t.deepEqual(await fixture.organizations.findById(id), expected)
    t.deepEqual(await fixture.organizations.findByName('acme.CORP'), expected)
    t.is(await fixture.organizations.findByName('acme'), undefined)
    t.is(await fixture.organizations.findByName("acme.corp' or '1'='1"), undefined)
    const user = await fixture.user('ada')
    t.is(await fixture.organizations.findByName('ada'), undefined, 'a user is no organization')
    t.is(await fixture.organizations.findById(user as never), undefined)
  })

  onBench('a name is unique over users and organizations, without regard to case', async (t, fixture) => {
    await fixture.user('Ada')
    await addOrganization(fixture, 'acme')
    for (const taken of ['ada', 'ACME']) {
      const outcome = await fixture.organizations.insert({ ...profile, name: taken, orgType: 0, createdAt: at })
      t.is(tagOf(outcome), 'OrganizationNameTaken')
    }
  })

  onBench('an organization is orphaned while it has no owner', async (t, fixture) => {
    const [cared, left, other] = [
      await addOrganization(fixture, 'cared'),
      await addOrganization(fixture, 'left'),
      await addOrganization(fixture, 'other'),
    ]
    const ada = await fixture.user('ada')
    for (const [orgId, permission] of [
      [cared, 'owner'],
      [left, 'write'],
      [other, 'owner'],
    ] as const) {
      const id = await addTeam(fixture, orgId, 'team', permission)
      if (orgId === other) continue
      await fixture.memberships.add(orgId, ada, at)
      await fixture.teams.addMember({ id, orgId }, ada, at)
    }
    const orphaned = await fixture.organizations.listOrphaned(firstPage)
    t.deepEqual([orphaned.items.map(({ name }) => name), orphaned.total], [['left', 'other'], 2])
    t.deepEqual(
      [
        await fixture.organizations.isOrphaned(cared),
        await fixture.organizations.isOrphaned(left),
        await fixture.organizations.isOrphaned(other),
      ],
      [false, true, true],
    )
    t.false(await fixture.organizations.isOrphaned(999999 as never))
  })

  onBench('an update changes what is given, and only at the expected version', async (t, fixture) => {
    const id = await addOrganization(fixture, 'acme')
    const other = await addOrganization(fixture, 'other')
    t.true(await fixture.organizations.update(id, { description: '', visibility: 'limited' }, undefined))
    t.like(await fixture.organizations.findById(id), { ...profile, description: '', visibility: 'limited', version: 2 })
    t.false(await fixture.organizations.update(id, { location: 'x' }, 1))
    t.true(await fixture.organizations.update(id, { location: 'x' }, 2))
    t.true(await fixture.organizations.update(id, { location: 'x' }, 3), 'an equal value is an update')
    t.like(await fixture.organizations.findById(other), { ...profile, version: 1 })
    t.false(await fixture.organizations.update(999999 as never, { location: 'x' }, undefined))
  })

  onBench('a rename leaves a redirect, which goes when the name is taken', async (t, fixture) => {
    const id = await addOrganization(fixture, 'acme')
    unwrap(await fixture.organizations.rename(id, 'acme', 'beta'))
    t.is((await fixture.organizations.findByFormerName('ACME'))?.name, 'beta')
    t.is(await fixture.organizations.findByName('acme'), undefined)
    const other = await addOrganization(fixture, 'gamma')
    unwrap(await fixture.organizations.rename(other, 'gamma', 'acme'))
    t.is(await fixture.organizations.findByFormerName('acme'), undefined)
    t.is((await fixture.organizations.findByFormerName('gamma'))?.id, other)
    t.is(tagOf(await fixture.organizations.rename(other, 'acme', 'BETA')), 'OrganizationNameTaken')
    await fixture.organizations.remove(other)
    t.is(await fixture.organizations.findByFormerName('gamma'), undefined, 'a redirect goes with its organization')
  })

  onBench('lists are by name, by visibility, in pages with the whole number', async (t, fixture) => {
    for (const [name, visibility] of [
      ['c', 'public'],
      ['B', 'public'],
      ['a', 'limited'],
      ['d', 'private'],
    ] as const) {
      await addOrganization(fixture, name, { visibility })
    }
    const names = async (visible: readonly ('public' | 'limited' | 'private')[], page = firstPage) => {
      const found = await fixture.organizations.list(visible, page)
      return [found.items.map((organization) => organization.name).join(''), found.total]
    }
    t.deepEqual(await names(['public']), ['Bc', 2])
    t.deepEqual(await names(['public', 'limited']), ['aBc', 3])
    t.deepEqual(await names(['public', 'limited', 'private']), ['aBcd', 4])
    t.deepEqual(await names(['public', 'limited'], { page: 2, limit: 2 }), ['c', 3])
    t.deepEqual(await names(['public'], { page: 9, limit: 2 }), ['', 2])
  })

  onBench("a user's organizations are all shown to the user, and to others what they may know", async (t, fixture) => {
    const [ada, eve] = [await fixture.user('ada'), await fixture.user('eve')]
    const open1 = await addOrganization(fixture, 'open-shown', { visibility: 'public' })
    const open2 = await addOrganization(fixture, 'open-hidden', { visibility: 'public' })
    const shared = await addOrganization(fixture, 'shared', { visibility: 'private' })
    const closed = await addOrganization(fixture, 'closed', { visibility: 'private' })
    for (const id of [open1, open2, shared, closed]) await fixture.memberships.add(id, ada, at)
    for (const id of [open1, closed]) await fixture.memberships.setPublic(id, ada, true)
    await fixture.memberships.add(shared, eve, at)
    await addOrganization(fixture, 'foreign', { visibility: 'public' })
    const namesOf = (page: { items: readonly { name: string }[] }) => page.items.map(({ name: found }) => found)
    t.deepEqual(namesOf(await fixture.organizations.listOfUser(ada, firstPage)), [
      'closed',
      'open-hidden',
      'open-shown',
      'shared',
    ])
    t.deepEqual(namesOf(await fixture.organizations.listOfUserSeenBy(ada, eve, ['public'], firstPage)), [
      'open-shown',
      'shared',
    ])
    t.deepEqual(namesOf(await fixture.organizations.listOfUserSeenBy(ada, undefined, ['public'], firstPage)), [
      'open-shown',
    ])
    t.is((await fixture.organizations.listOfUserSeenBy(eve, ada, ['public'], firstPage)).total, 1)
  })

  onBench('what belongs to the organization blocks, what belongs to another does not', async (t, fixture) => {
    const [id, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
    for (const cluster of ['b', 'a', 'c']) await fixture.cluster(id, cluster)
    t.deepEqual(await fixture.organizations.blockingObjects(id, 2), [
      { type: 'cluster', name: 'a' },
      { type: 'cluster', name: 'b' },
    ])
    t.deepEqual(await fixture.organizations.blockingObjects(other, 2), [])
  })

  onBench(
    'removing takes teams, memberships and confined tokens along, of this organization alone',
    async (t, fixture) => {
      const ada = await fixture.user('ada')
      const [id, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
      const [team, otherTeam] = [await addTeam(fixture, id, 'Ops'), await addTeam(fixture, other, 'Ops')]
      for (const orgId of [id, other]) await fixture.memberships.add(orgId, ada, at)
      await fixture.teams.addMember({ id: team, orgId: id }, ada, at)
      await fixture.teams.addMember({ id: otherTeam, orgId: other }, ada, at)
      await fixture.token(ada, 'mine', id)
      await fixture.token(ada, 'theirs', other)
      await fixture.organizations.remove(id)
      t.is(await fixture.organizations.findById(id), undefined)
      t.is(await fixture.teams.findById(team), undefined)
      t.is(await fixture.memberships.find(id, ada), undefined)
      t.is((await fixture.tokens.list(id, firstPage)).total, 0)
      t.not(await fixture.organizations.findById(other), undefined)
      t.true(await fixture.teams.hasMember(otherTeam, ada))
      t.is((await fixture.tokens.list(other, firstPage)).total, 1)
      await fixture.organizations.remove(ada as never)
      t.not(await fixture.memberships.findAccount('ada'), undefined, 'a user is not removed by an id of this kind')
    },
  )

  onBench('the lock returns whether the organization exists', async (t, fixture) => {
    const [ada, id] = [await fixture.user('ada'), await addOrganization(fixture, 'acme')]
    t.true(await fixture.organizations.lock(id))
    t.false(await fixture.organizations.lock(ada as never))
    t.false(await fixture.organizations.lock(999999 as never))
    t.true(await fixture.organizations.mayCreate(ada))
    t.false(await fixture.organizations.mayCreate(999999 as never))
  })
})
