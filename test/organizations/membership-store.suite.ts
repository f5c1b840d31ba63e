import type { UserId } from '../../core/kernel/ids.ts'
import type { StoreBench } from './store-bench.ts'
import { addOrganization, addTeam, at, firstPage } from './store-bench.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const absent = 999_999 as UserId

const about: SuiteAbout = {
  name: 'membership-store',
  ports: ['MembershipStore'],
  needs: 'No accounts.',
}

/** What every MembershipStore and OrganizationTokenStore keeps. */
export const membershipStoreSuite = contractSuite<StoreBench>(about, (onBench) => {
  onBench('accounts are distinguished', async (t, bench) => {
    const ada = await bench.user('Ada')
    const id = await addOrganization(bench, 'acme')
    t.deepEqual(await bench.memberships.findAccount('ADA'), {
      id: ada,
      kind: 'user',
      name: 'Ada',
      isActive: true,
      seenAs: { visibility: 'public', isActive: true },
    })
    t.like(await bench.memberships.findAccountById(id), { id, kind: 'organization', name: 'acme' })
    t.is(await bench.memberships.findAccount('nobody'), undefined)
    t.is(await bench.memberships.findAccountById(999999), undefined)
  })

  onBench('a rights joins the highest level and all roles of one organization', async (t, bench) => {
    const ada = await bench.user('ada')
    const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
    const [low, high, custom] = [
      await addTeam(bench, orgId, 'a', 'read'),
      await addTeam(bench, orgId, 'b', 'admin'),
      await addTeam(bench, orgId, 'c', 'custom'),
    ]
    const [role, second] = [
      await bench.role(orgId, 'r', ['n/see', 'n/do it']),
      await bench.role(orgId, 's', ['n/see', 'm/x']),
    ]
    await bench.teams.replaceRoles({ id: low, orgId }, [role])
    await bench.teams.replaceRoles({ id: custom, orgId }, [role, second])
    const foreign = await addTeam(bench, other, 'boss', 'owner')
    await bench.teams.replaceRoles({ id: foreign, orgId: other }, [await bench.role(other, 'r', ['n/theirs'])])
    t.deepEqual(await bench.memberships.rights(orgId, ada), { isMember: false, level: 'none', permissions: new Set() })
    await bench.memberships.add(orgId, ada, at)
    t.deepEqual(await bench.memberships.rights(orgId, ada), { isMember: true, level: 'none', permissions: new Set() })
    await bench.teams.addMember({ id: custom, orgId }, ada, at)
    const held = await bench.memberships.rights(orgId, ada)
    t.deepEqual([held.isMember, held.level, [...held.permissions].sort()], [true, 'none', ['m/x', 'n/do it', 'n/see']])
    for (const id of [low, high]) await bench.teams.addMember({ id, orgId }, ada, at)
    t.is((await bench.memberships.rights(orgId, ada)).level, 'admin')
    await bench.memberships.add(other, ada, at)
    await bench.teams.addMember({ id: foreign, orgId: other }, ada, at)
    const rights = await bench.memberships.rights(orgId, ada)
    t.is(rights.level, 'admin', 'the level in the other organization counts there only')
    t.false(rights.permissions.has('n/theirs'))
  })

  onBench('teams without membership give nothing', async (t, bench) => {
    const ada = await bench.user('ada')
    const orgId = await addOrganization(bench, 'acme')
    await bench.teams.addMember({ id: await addTeam(bench, orgId, 'a', 'owner'), orgId }, ada, at)
    t.deepEqual(await bench.memberships.rights(orgId, ada), { isMember: false, level: 'none', permissions: new Set() })
  })

  onBench('members come by login, all or those who show it', async (t, bench) => {
    const [zoe, ada, eve] = [await bench.user('zoe'), await bench.user('Ada'), await bench.user('eve')]
    const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
    for (const userId of [zoe, ada]) await bench.memberships.add(orgId, userId, at)
    await bench.memberships.add(other, eve, at)
    await bench.memberships.setPublic(orgId, zoe, true)
    await bench.memberships.setPublic(other, eve, true)
    t.deepEqual(await bench.memberships.list(orgId, 'all', firstPage), { items: [ada, zoe], total: 2 })
    t.deepEqual(await bench.memberships.list(orgId, 'all', { page: 2, limit: 1 }), { items: [zoe], total: 2 })
    t.deepEqual(await bench.memberships.list(orgId, 'public', firstPage), { items: [zoe], total: 1 })
    t.deepEqual(await bench.memberships.find(orgId, zoe), { userId: zoe, isPublic: true })
    t.deepEqual((await bench.memberships.among(orgId, [zoe, eve, ada, absent])).toSorted(), [zoe, ada].toSorted())
    t.deepEqual(await bench.memberships.among(orgId, [eve]), [])
    t.deepEqual(await bench.memberships.among(orgId, []), [])
    await bench.memberships.setPublic(orgId, zoe, false)
    t.deepEqual(await bench.memberships.find(orgId, zoe), { userId: zoe, isPublic: false })
    t.is(await bench.memberships.find(orgId, eve), undefined)
  })

  onBench('a removal covers all teams of that organization and no other', async (t, bench) => {
    const ada = await bench.user('ada')
    const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
    const [team, second, foreign] = [
      await addTeam(bench, orgId, 'a'),
      await addTeam(bench, orgId, 'b'),
      await addTeam(bench, other, 'a'),
    ]
    for (const id of [orgId, other]) await bench.memberships.add(id, ada, at)
    for (const id of [team, second]) await bench.teams.addMember({ id, orgId }, ada, at)
    await bench.teams.addMember({ id: foreign, orgId: other }, ada, at)
    await bench.memberships.remove(orgId, ada)
    t.is(await bench.memberships.find(orgId, ada), undefined)
    t.deepEqual(await bench.teams.listOfMember(orgId, ada), [])
    t.true(await bench.teams.hasMember(foreign, ada))
    t.not(await bench.memberships.find(other, ada), undefined)
  })

  onBench('those without a team leave together, those of another organization stay', async (t, bench) => {
    const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
    const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
    for (const userId of [ada, bob]) await bench.memberships.add(orgId, userId, at)
    await bench.memberships.add(other, bob, at)
    await bench.teams.addMember({ id: await addTeam(bench, orgId, 'a'), orgId }, ada, at)
    await bench.teams.addMember({ id: await addTeam(bench, other, 'a'), orgId: other }, bob, at)
    t.is(await bench.memberships.removeWithoutTeam(orgId), 1)
    t.deepEqual((await bench.memberships.list(orgId, 'all', firstPage)).items, [ada])
    t.not(await bench.memberships.find(other, bob), undefined)
    t.is(await bench.memberships.removeWithoutTeam(orgId), 0)
  })

  onBench('only tokens that are confined to the organization are listed and revoked', async (t, bench) => {
    const ada = await bench.user('ada')
    const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
    const mine = await bench.token(ada, 'mine', orgId)
    const theirs = await bench.token(ada, 'theirs', other)
    const free = await bench.token(ada, 'free', undefined)
    const listed = await bench.tokens.list(orgId, firstPage)
    t.deepEqual(
      listed.items.map(({ id, userId, name: shown }) => [id, userId, shown]),
      [[mine, ada, 'mine']],
    )
    t.is(listed.total, 1)
    for (const id of [theirs, free]) {
      t.is(await bench.tokens.find(orgId, id), undefined)
      t.false(await bench.tokens.remove(orgId, id))
    }
    t.true(await bench.tokens.remove(orgId, mine))
    t.false(await bench.tokens.remove(orgId, mine))
    t.not(await bench.tokens.find(other, theirs), undefined)
  })
})
