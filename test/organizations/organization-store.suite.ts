import { tagOf, unwrap } from '../support/outcome.ts'
import type { StoreBench } from './store-bench.ts'
import { addOrganization, addTeam, at, firstPage, profile } from './store-bench.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const about: SuiteAbout = {
  name: 'organization-store',
  ports: ['OrganizationStore', 'OrganizationTokenStore'],
  needs: 'No accounts.',
}

/** What every OrganizationStore keeps. */
export const organizationStoreSuite = contractSuite<StoreBench>(about, (onBench) => {
  onBench('an organization reads back as it was inserted, by id and by name in any case', async (t, bench) => {
    const id = await addOrganization(bench, 'Acme.Corp')
    const expected = {
      ...profile,
      id,
      name: 'Acme.Corp',
      orgType: 0,
      avatarDigest: undefined,
      createdAt: at,
      version: 1,
    }
    t.deepEqual(await bench.organizations.findById(id), expected)
    t.deepEqual(await bench.organizations.findByName('acme.CORP'), expected)
    t.is(await bench.organizations.findByName('acme'), undefined)
    t.is(await bench.organizations.findByName("acme.corp' or '1'='1"), undefined)
    const user = await bench.user('ada')
    t.is(await bench.organizations.findByName('ada'), undefined, 'a user is no organization')
    t.is(await bench.organizations.findById(user as never), undefined)
  })

  onBench('a name is unique over users and organizations, without regard to case', async (t, bench) => {
    await bench.user('Ada')
    await addOrganization(bench, 'acme')
    for (const taken of ['ada', 'ACME']) {
      const outcome = await bench.organizations.insert({ ...profile, name: taken, orgType: 0, createdAt: at })
      t.is(tagOf(outcome), 'OrganizationNameTaken')
    }
  })

  onBench('an organization is orphaned while it has no owner', async (t, bench) => {
    const [cared, left, other] = [
      await addOrganization(bench, 'cared'),
      await addOrganization(bench, 'left'),
      await addOrganization(bench, 'other'),
    ]
    const ada = await bench.user('ada')
    for (const [orgId, permission] of [
      [cared, 'owner'],
      [left, 'write'],
      [other, 'owner'],
    ] as const) {
      const id = await addTeam(bench, orgId, 'team', permission)
      if (orgId === other) continue
      await bench.memberships.add(orgId, ada, at)
      await bench.teams.addMember({ id, orgId }, ada, at)
    }
    const orphaned = await bench.organizations.listOrphaned(firstPage)
    t.deepEqual([orphaned.items.map(({ name }) => name), orphaned.total], [['left', 'other'], 2])
    t.deepEqual(
      [
        await bench.organizations.isOrphaned(cared),
        await bench.organizations.isOrphaned(left),
        await bench.organizations.isOrphaned(other),
      ],
      [false, true, true],
    )
    t.false(await bench.organizations.isOrphaned(999999 as never))
  })

  onBench('an update changes what is given, and only at the expected version', async (t, bench) => {
    const id = await addOrganization(bench, 'acme')
    const other = await addOrganization(bench, 'other')
    t.true(await bench.organizations.update(id, { description: '', visibility: 'limited' }, undefined))
    t.like(await bench.organizations.findById(id), { ...profile, description: '', visibility: 'limited', version: 2 })
    t.false(await bench.organizations.update(id, { location: 'x' }, 1))
    t.true(await bench.organizations.update(id, { location: 'x' }, 2))
    t.true(await bench.organizations.update(id, { location: 'x' }, 3), 'an equal value is an update')
    t.like(await bench.organizations.findById(other), { ...profile, version: 1 })
    t.false(await bench.organizations.update(999999 as never, { location: 'x' }, undefined))
  })

  onBench('a rename leaves a redirect, which goes when the name is taken', async (t, bench) => {
    const id = await addOrganization(bench, 'acme')
    unwrap(await bench.organizations.rename(id, 'acme', 'beta'))
    t.is((await bench.organizations.findByFormerName('ACME'))?.name, 'beta')
    t.is(await bench.organizations.findByName('acme'), undefined)
    const other = await addOrganization(bench, 'gamma')
    unwrap(await bench.organizations.rename(other, 'gamma', 'acme'))
    t.is(await bench.organizations.findByFormerName('acme'), undefined)
    t.is((await bench.organizations.findByFormerName('gamma'))?.id, other)
    t.is(tagOf(await bench.organizations.rename(other, 'acme', 'BETA')), 'OrganizationNameTaken')
    await bench.organizations.remove(other)
    t.is(await bench.organizations.findByFormerName('gamma'), undefined, 'a redirect goes with its organization')
  })

  onBench('lists are by name, by visibility, in pages with the whole number', async (t, bench) => {
    for (const [name, visibility] of [
      ['c', 'public'],
      ['B', 'public'],
      ['a', 'limited'],
      ['d', 'private'],
    ] as const) {
      await addOrganization(bench, name, { visibility })
    }
    const names = async (visible: readonly ('public' | 'limited' | 'private')[], page = firstPage) => {
      const found = await bench.organizations.list(visible, page)
      return [found.items.map((organization) => organization.name).join(''), found.total]
    }
    t.deepEqual(await names(['public']), ['Bc', 2])
    t.deepEqual(await names(['public', 'limited']), ['aBc', 3])
    t.deepEqual(await names(['public', 'limited', 'private']), ['aBcd', 4])
    t.deepEqual(await names(['public', 'limited'], { page: 2, limit: 2 }), ['c', 3])
    t.deepEqual(await names(['public'], { page: 9, limit: 2 }), ['', 2])
  })

  onBench("a user's organizations are all shown to the user, and to others what they may know", async (t, bench) => {
    const [ada, eve] = [await bench.user('ada'), await bench.user('eve')]
    const open1 = await addOrganization(bench, 'open-shown', { visibility: 'public' })
    const open2 = await addOrganization(bench, 'open-hidden', { visibility: 'public' })
    const shared = await addOrganization(bench, 'shared', { visibility: 'private' })
    const closed = await addOrganization(bench, 'closed', { visibility: 'private' })
    for (const id of [open1, open2, shared, closed]) await bench.memberships.add(id, ada, at)
    for (const id of [open1, closed]) await bench.memberships.setPublic(id, ada, true)
    await bench.memberships.add(shared, eve, at)
    await addOrganization(bench, 'foreign', { visibility: 'public' })
    const namesOf = (page: { items: readonly { name: string }[] }) => page.items.map(({ name: found }) => found)
    t.deepEqual(namesOf(await bench.organizations.listOfUser(ada, firstPage)), [
      'closed',
      'open-hidden',
      'open-shown',
      'shared',
    ])
    t.deepEqual(namesOf(await bench.organizations.listOfUserSeenBy(ada, eve, ['public'], firstPage)), [
      'open-shown',
      'shared',
    ])
    t.deepEqual(namesOf(await bench.organizations.listOfUserSeenBy(ada, undefined, ['public'], firstPage)), [
      'open-shown',
    ])
    t.is((await bench.organizations.listOfUserSeenBy(eve, ada, ['public'], firstPage)).total, 1)
  })

  onBench('what belongs to the organization blocks, what belongs to another does not', async (t, bench) => {
    const [id, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
    for (const cluster of ['b', 'a', 'c']) await bench.cluster(id, cluster)
    t.deepEqual(await bench.organizations.blockingObjects(id, 2), [
      { type: 'cluster', name: 'a' },
      { type: 'cluster', name: 'b' },
    ])
    t.deepEqual(await bench.organizations.blockingObjects(other, 2), [])
  })

  onBench(
    'removing takes teams, memberships and confined tokens along, of this organization alone',
    async (t, bench) => {
      const ada = await bench.user('ada')
      const [id, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
      const [team, otherTeam] = [await addTeam(bench, id, 'Ops'), await addTeam(bench, other, 'Ops')]
      for (const orgId of [id, other]) await bench.memberships.add(orgId, ada, at)
      await bench.teams.addMember({ id: team, orgId: id }, ada, at)
      await bench.teams.addMember({ id: otherTeam, orgId: other }, ada, at)
      await bench.token(ada, 'mine', id)
      await bench.token(ada, 'theirs', other)
      await bench.organizations.remove(id)
      t.is(await bench.organizations.findById(id), undefined)
      t.is(await bench.teams.findById(team), undefined)
      t.is(await bench.memberships.find(id, ada), undefined)
      t.is((await bench.tokens.list(id, firstPage)).total, 0)
      t.not(await bench.organizations.findById(other), undefined)
      t.true(await bench.teams.hasMember(otherTeam, ada))
      t.is((await bench.tokens.list(other, firstPage)).total, 1)
      await bench.organizations.remove(ada as never)
      t.not(await bench.memberships.findAccount('ada'), undefined, 'a user is not removed by an id of this kind')
    },
  )

  onBench('the lock returns whether the organization exists', async (t, bench) => {
    const [ada, id] = [await bench.user('ada'), await addOrganization(bench, 'acme')]
    t.true(await bench.organizations.lock(id))
    t.false(await bench.organizations.lock(ada as never))
    t.false(await bench.organizations.lock(999999 as never))
    t.true(await bench.organizations.mayCreate(ada))
    t.false(await bench.organizations.mayCreate(999999 as never))
  })
})
