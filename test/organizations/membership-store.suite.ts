import type { UserId } from '../../core/kernel/ids.ts'
import type { StoresFixture } from './stores.fixture.ts'
import { addOrganization, addTeam, at, firstPage } from './stores.fixture.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const absent = 999_999 as UserId

const about: SuiteAbout = {
  name: 'membership-store',
  ports: ['MembershipStore'],
  needs: 'No accounts.',
}

/** What every MembershipStore and OrganizationTokenStore keeps. */
export const membershipStoreSuite = contractSuite<StoresFixture>(about, (onBench) => {
  onBench('accounts are distinguished', async (t, fixture) => {
    const ada = await fixture.user('Ada')
    const id = await addOrganization(fixture, 'acme')
    t.deepEqual(await fixture.memberships.findAccount('ADA'), {
      id: ada,
      kind: 'user',
      name: 'Ada',
      isActive: true,
      seenAs: { visibility: 'public', isActive: true },
    })
    t.like(await fixture.memberships.findAccountById(id), { id, kind: 'organization', name: 'acme' })
    t.is(await fixture.memberships.findAccount('nobody'), undefined)
    t.is(await fixture.memberships.findAccountById(999999), undefined)
  })

  onBench('a rights joins the highest level and all roles of one organization', async (t, fixture) => {
    const ada = await fixture.user('ada')
    const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
    const [low, high, custom] = [
      await addTeam(fixture, orgId, 'a', 'read'),
      await addTeam(fixture, orgId, 'b', 'admin'),
      await addTeam(fixture, orgId, 'c', 'custom'),
    ]
    const [role, second] = [
      await fixture.role(orgId, 'r', ['n/see', 'n/do it']),
      await fixture.role(orgId, 's', ['n/see', 'm/x']),
    ]
    await fixture.teams.replaceRoles({ id: low, orgId }, [role])
    await fixture.teams.replaceRoles({ id: custom, orgId }, [role, second])
    const foreign = await addTeam(fixture, other, 'boss', 'owner')
    await fixture.teams.replaceRoles({ id: foreign, orgId: other }, [await fixture.role(other, 'r', ['n/theirs'])])
    t.deepEqual(await fixture.memberships.rights(orgId, ada), {
      isMember: false,
      level: 'none',
      permissions: new Set(),
    })
    await fixture.memberships.add(orgId, ada, at)
    t.deepEqual(await fixture.memberships.rights(orgId, ada), { isMember: true, level: 'none', permissions: new Set() })
    await fixture.teams.addMember({ id: custom, orgId }, ada, at)
    const held = await fixture.memberships.rights(orgId, ada)
    t.deepEqual([held.isMember, held.level, [...held.permissions].sort()], [true, 'none', ['m/x', 'n/do it', 'n/see']])
    for (const id of [low, high]) await fixture.teams.addMember({ id, orgId }, ada, at)
    t.is((await fixture.memberships.rights(orgId, ada)).level, 'admin')
    await fixture.memberships.add(other, ada, at)
    await fixture.teams.addMember({ id: foreign, orgId: other }, ada, at)
    const rights = await fixture.memberships.rights(orgId, ada)
    t.is(rights.level, 'admin', 'the level in the other organization counts there only')
    t.false(rights.permissions.has('n/theirs'))
  })

  onBench('teams without membership give nothing', async (t, fixture) => {
    const ada = await fixture.user('ada')
    const orgId = await addOrganization(fixture, 'acme')
    await fixture.teams.addMember({ id: await addTeam(fixture, orgId, 'a', 'owner'), orgId }, ada, at)
    t.deepEqual(await fixture.memberships.rights(orgId, ada), {
      isMember: false,
      level: 'none',
      permissions: new Set(),
    })
  })

  onBench('members come by login, all or those who show it', async (t, fixture) => {
    const [zoe, ada, eve] = [await fixture.user('zoe'), await fixture.user('Ada'), await fixture.user('eve')]
    const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
    for (const userId of [zoe, ada]) await fixture.memberships.add(orgId, userId, at)
    await fixture.memberships.add(other, eve, at)
    await fixture.memberships.setPublic(orgId, zoe, true)
    await fixture.memberships.setPublic(other, eve, true)
    t.deepEqual(await fixture.memberships.list(orgId, 'all', firstPage), { items: [ada, zoe], total: 2 })
    t.deepEqual(await fixture.memberships.list(orgId, 'all', { page: 2, limit: 1 }), { items: [zoe], total: 2 })
    t.deepEqual(await fixture.memberships.list(orgId, 'public', firstPage), { items: [zoe], total: 1 })
    t.deepEqual(await fixture.memberships.find(orgId, zoe), { userId: zoe, isPublic: true })
    t.deepEqual((await fixture.memberships.among(orgId, [zoe, eve, ada, absent])).toSorted(), [zoe, ada].toSorted())
    t.deepEqual(await fixture.memberships.among(orgId, [eve]), [])
    t.deepEqual(await fixture.memberships.among(orgId, []), [])
    await fixture.memberships.setPublic(orgId, zoe, false)
    t.deepEqual(await fixture.memberships.find(orgId, zoe), { userId: zoe, isPublic: false })
    t.is(await fixture.memberships.find(orgId, eve), undefined)
  })

  onBench('a removal covers all teams of that organization and no other', async (t, fixture) => {
    const ada = await fixture.user('ada')
    const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
    const [team, second, foreign] = [
      await addTeam(fixture, orgId, 'a'),
      await addTeam(fixture, orgId, 'b'),
      await addTeam(fixture, other, 'a'),
    ]
    for (const id of [orgId, other]) await fixture.memberships.add(id, ada, at)
    for (const id of [team, second]) await fixture.teams.addMember({ id, orgId }, ada, at)
    await fixture.teams.addMember({ id: foreign, orgId: other }, ada, at)
    await fixture.memberships.remove(orgId, ada)
    t.is(await fixture.memberships.find(orgId, ada), undefined)
    t.deepEqual(await fixture.teams.listOfMember(orgId, ada), [])
    t.true(await fixture.teams.hasMember(foreign, ada))
    t.not(await fixture.memberships.find(other, ada), undefined)
  })

  onBench('those without a team leave together, those of another organization stay', async (t, fixture) => {
    const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
    const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
    for (const userId of [ada, bob]) await fixture.memberships.add(orgId, userId, at)
    await fixture.memberships.add(other, bob, at)
    await fixture.teams.addMember({ id: await addTeam(fixture, orgId, 'a'), orgId }, ada, at)
    await fixture.teams.addMember({ id: await addTeam(fixture, other, 'a'), orgId: other }, bob, at)
    t.is(await fixture.memberships.removeWithoutTeam(orgId), 1)
    t.deepEqual((await fixture.memberships.list(orgId, 'all', firstPage)).items, [ada])
    t.not(await fixture.memberships.find(other, bob), undefined)
    t.is(await fixture.memberships.removeWithoutTeam(orgId), 0)
  })

  onBench('only tokens that are confined to the organization are listed and revoked', async (t, fixture) => {
    const ada = await fixture.user('ada')
    const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
    const mine = await fixture.token(ada, 'mine', orgId)
    const theirs = await fixture.token(ada, 'theirs', other)
    const free = await fixture.token(ada, 'free', undefined)
    const listed = await fixture.tokens.list(orgId, firstPage)
    t.deepEqual(
      listed.items.map(({ id, userId, name: shown }) => [id, userId, shown]),
      [[mine, ada, 'mine']],
    )
    t.is(listed.total, 1)
    for (const id of [theirs, free]) {
      t.is(await fixture.tokens.find(orgId, id), undefined)
      t.false(await fixture.tokens.remove(orgId, id))
    }
    t.true(await fixture.tokens.remove(orgId, mine))
    t.false(await fixture.tokens.remove(orgId, mine))
    t.not(await fixture.tokens.find(other, theirs), undefined)
  })
})
