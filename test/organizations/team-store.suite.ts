import type { RoleId } from '../../core/kernel/ids.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { StoresFixture } from './stores.fixture.ts'
import { addOrganization, addTeam, at, firstPage } from './stores.fixture.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const about: SuiteAbout = {
  name: 'team-store',
  ports: ['TeamStore'],
  needs: 'No accounts.',
}

/** What every TeamStore keeps. */
export const teamStoreSuite = contractSuite<StoresFixture>(about, (onBench) => {
  onBench('a team reads back as it was inserted', async (t, fixture) => {
    const orgId = await addOrganization(fixture, 'acme')
    const id = await addTeam(fixture, orgId, 'Ops', 'write')
    const expected = {
      id,
      orgId,
      name: 'Ops',
      description: 'the Ops',
      permission: 'write',
      type: 'kubernetes',
      roleIds: [],
      createdAt: at,
      version: 1,
    }
    t.deepEqual(await fixture.teams.findById(id), expected as never)
    t.deepEqual(await fixture.teams.findByPermission(orgId, 'write'), expected as never)
    t.is(await fixture.teams.findByPermission(orgId, 'admin'), undefined)
    t.is(await fixture.teams.findById(999999 as never), undefined)
  })

  onBench('a name is unique in its organization without regard to case, also by update', async (t, fixture) => {
    const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
    const id = await addTeam(fixture, orgId, 'Ops')
    const second = await addTeam(fixture, orgId, 'Dev')
    await addTeam(fixture, other, 'ops')
    const again = { orgId, name: 'OPS', description: '', permission: 'read', type: '', createdAt: at } as const
    t.is(tagOf(await fixture.teams.insert(again)), 'TeamNameTaken')
    t.is(tagOf(await fixture.teams.update(second, { name: 'oPS' }, undefined)), 'TeamNameTaken')
    t.true(unwrap(await fixture.teams.update(id, { name: 'OPS' }, undefined)), 'its own name in another case')
  })

  onBench('an update changes what is given, and only at the expected version', async (t, fixture) => {
    const orgId = await addOrganization(fixture, 'acme')
    const id = await addTeam(fixture, orgId, 'Ops')
    const other = await addTeam(fixture, orgId, 'Dev')
    t.true(unwrap(await fixture.teams.update(id, { permission: 'custom', description: '' }, 1)))
    t.like(await fixture.teams.findById(id), {
      name: 'Ops',
      permission: 'custom',
      description: '',
      type: 'kubernetes',
      version: 2,
    })
    t.false(unwrap(await fixture.teams.update(id, { name: 'X' }, 1)))
    t.like(await fixture.teams.findById(other), { name: 'Dev', version: 1 })
  })

  onBench('the owners come first, then by name, in pages', async (t, fixture) => {
    const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
    for (const team of ['b', 'C', 'a']) await addTeam(fixture, orgId, team)
    await addTeam(fixture, orgId, 'Owners', 'owner')
    await addTeam(fixture, other, 'foreign')
    const listed = await fixture.teams.list(orgId, firstPage)
    t.deepEqual(
      listed.items.map(({ team }) => team.name),
      ['Owners', 'a', 'b', 'C'],
    )
    for (const { organization } of listed.items) t.deepEqual(organization, await fixture.organizations.findById(orgId))
    t.is(listed.total, 4)
    t.deepEqual(
      (await fixture.teams.list(orgId, { page: 2, limit: 3 })).items.map(({ team }) => team.name),
      ['C'],
    )
  })

  onBench(
    'a search finds literal parts of names, on request of descriptions, on request own teams only',
    async (t, fixture) => {
      const ada = await fixture.user('ada')
      const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
      const operators = await addTeam(fixture, orgId, 'Operators')
      await addTeam(fixture, orgId, 'DevOps')
      await addTeam(fixture, orgId, 'x_y')
      await addTeam(fixture, other, 'Operators')
      await fixture.memberships.add(orgId, ada, at)
      await fixture.teams.addMember({ id: operators, orgId }, ada, at)
      const find = async (text: string, includesDescription = false, memberId = undefined as typeof ada | undefined) =>
        (await fixture.teams.search(orgId, { text, includesDescription, memberId }, firstPage)).items.map(
          ({ team }) => team.name,
        )
      t.deepEqual(await find('OP'), ['DevOps', 'Operators'])
      t.deepEqual(await find(''), ['DevOps', 'Operators', 'x_y'])
      t.deepEqual(await find('_'), ['x_y'])
      t.deepEqual(await find('%'), [])
      t.deepEqual(await find('!'), [])
      t.deepEqual(await find('the dev'), [])
      t.deepEqual(await find('the dev', true), ['DevOps'])
      t.deepEqual(await find('op', false, ada), ['Operators'])
    },
  )

  onBench(
    'members come by login, each once in one place; the teams of a user in all or one organization',
    async (t, fixture) => {
      const [zoe, ada] = [await fixture.user('zoe'), await fixture.user('Ada')]
      const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
      const [team, second, foreign] = [
        await addTeam(fixture, orgId, 'Ops'),
        await addTeam(fixture, orgId, 'Dev'),
        await addTeam(fixture, other, 'Ops'),
      ]
      for (const userId of [zoe, ada]) await fixture.teams.addMember({ id: team, orgId }, userId, at)
      await fixture.teams.addMember({ id: second, orgId }, ada, at)
      await fixture.teams.addMember({ id: foreign, orgId: other }, ada, at)
      t.deepEqual(await fixture.teams.listMembers(team, firstPage), { items: [ada, zoe], total: 2 })
      t.deepEqual(await fixture.teams.listMembers(team, { page: 2, limit: 1 }), { items: [zoe], total: 2 })
      t.true(await fixture.teams.staysLedWithout(team, zoe))
      t.false(await fixture.teams.staysLedWithout(second, ada), 'nobody else')
      t.true(await fixture.teams.staysLedWithout(second, zoe), 'no member')
      await fixture.organizations.update(other, { visibility: 'public' }, undefined)
      const mine = async (onlyOrgId: typeof orgId | undefined, onlyPublic = false) =>
        (
          await fixture.teams.listOfUser(
            ada,
            { onlyOrgId, onlyPublic, entry: { at: new Date(), tokenLifeDays: 0, passkeyProof: 'none' } },
            firstPage,
          )
        ).items.map(({ team: { id } }) => id)
      t.deepEqual(await mine(undefined), [team, second, foreign])
      t.deepEqual(await mine(orgId), [team, second])
      t.deepEqual(await mine(undefined, true), [foreign])
      t.deepEqual(await mine(orgId, true), [])
      t.deepEqual(
        (await fixture.teams.listOfMember(other, ada)).map(({ id }) => id),
        [foreign],
      )
      await fixture.teams.removeMember(team, ada)
      t.false(await fixture.teams.hasMember(team, ada))
      t.true(await fixture.teams.hasMember(team, zoe))
      t.true(await fixture.teams.hasMember(second, ada))
    },
  )

  onBench('roles are replaced as a whole, and those of another organization are not known', async (t, fixture) => {
    const [orgId, other] = [await addOrganization(fixture, 'acme'), await addOrganization(fixture, 'other')]
    const id = await addTeam(fixture, orgId, 'Ops')
    const look = await fixture.role(orgId, 'look', ['a/see', 'b/see it all'])
    const bare = await fixture.role(orgId, 'bare', [])
    const foreign = await fixture.role(other, 'foreign', ['a/see'])
    await fixture.teams.replaceRoles({ id, orgId }, [bare, look])
    t.deepEqual((await fixture.teams.findById(id))?.roleIds, [look, bare])
    await fixture.teams.replaceRoles({ id, orgId }, [bare])
    t.deepEqual((await fixture.teams.list(orgId, firstPage)).items[0]?.team.roleIds, [bare])
    const known = await fixture.teams.rolePermissions(orgId, [look, bare, foreign, 999999 as RoleId])
    t.deepEqual([...known.keys()].sort(), [look, bare])
    const carried = [...(known.get(look) ?? [])].sort((x, y) => x.namespace.localeCompare(y.namespace))
    t.deepEqual(carried, [
      { namespace: 'a', action: 'see' },
      { namespace: 'b', action: 'see it all' },
    ])
    t.deepEqual(known.get(bare), [])
    await fixture.teams.remove(id)
    t.is(await fixture.teams.findById(id), undefined)
    t.is((await fixture.teams.rolePermissions(orgId, [look])).size, 1, 'a role outlives its team')
  })
})
