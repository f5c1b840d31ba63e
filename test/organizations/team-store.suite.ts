import type { RoleId } from '../../core/kernel/ids.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import type { StoreBench } from './store-bench.ts'
import { addOrganization, addTeam, at, firstPage } from './store-bench.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

const about: SuiteAbout = {
  name: 'team-store',
  ports: ['TeamStore'],
  needs: 'No accounts.',
}

/** What every TeamStore keeps. */
export const teamStoreSuite = contractSuite<StoreBench>(about, (onBench) => {
  onBench('a team reads back as it was inserted', async (t, bench) => {
    const orgId = await addOrganization(bench, 'acme')
    const id = await addTeam(bench, orgId, 'Ops', 'write')
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
    t.deepEqual(await bench.teams.findById(id), expected as never)
    t.deepEqual(await bench.teams.findByPermission(orgId, 'write'), expected as never)
    t.is(await bench.teams.findByPermission(orgId, 'admin'), undefined)
    t.is(await bench.teams.findById(999999 as never), undefined)
  })

  onBench('a name is unique in its organization without regard to case, also by update', async (t, bench) => {
    const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
    const id = await addTeam(bench, orgId, 'Ops')
    const second = await addTeam(bench, orgId, 'Dev')
    await addTeam(bench, other, 'ops')
    const again = { orgId, name: 'OPS', description: '', permission: 'read', type: '', createdAt: at } as const
    t.is(tagOf(await bench.teams.insert(again)), 'TeamNameTaken')
    t.is(tagOf(await bench.teams.update(second, { name: 'oPS' }, undefined)), 'TeamNameTaken')
    t.true(unwrap(await bench.teams.update(id, { name: 'OPS' }, undefined)), 'its own name in another case')
  })

  onBench('an update changes what is given, and only at the expected version', async (t, bench) => {
    const orgId = await addOrganization(bench, 'acme')
    const id = await addTeam(bench, orgId, 'Ops')
    const other = await addTeam(bench, orgId, 'Dev')
    t.true(unwrap(await bench.teams.update(id, { permission: 'custom', description: '' }, 1)))
    t.like(await bench.teams.findById(id), {
      name: 'Ops',
      permission: 'custom',
      description: '',
      type: 'kubernetes',
      version: 2,
    })
    t.false(unwrap(await bench.teams.update(id, { name: 'X' }, 1)))
    t.like(await bench.teams.findById(other), { name: 'Dev', version: 1 })
  })

  onBench('the owners come first, then by name, in pages', async (t, bench) => {
    const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
    for (const team of ['b', 'C', 'a']) await addTeam(bench, orgId, team)
    await addTeam(bench, orgId, 'Owners', 'owner')
    await addTeam(bench, other, 'foreign')
    const listed = await bench.teams.list(orgId, firstPage)
    t.deepEqual(
      listed.items.map(({ team }) => team.name),
      ['Owners', 'a', 'b', 'C'],
    )
    for (const { organization } of listed.items) t.deepEqual(organization, await bench.organizations.findById(orgId))
    t.is(listed.total, 4)
    t.deepEqual(
      (await bench.teams.list(orgId, { page: 2, limit: 3 })).items.map(({ team }) => team.name),
      ['C'],
    )
  })

  onBench(
    'a search finds literal parts of names, on request of descriptions, on request own teams only',
    async (t, bench) => {
      const ada = await bench.user('ada')
      const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
      const operators = await addTeam(bench, orgId, 'Operators')
      await addTeam(bench, orgId, 'DevOps')
      await addTeam(bench, orgId, 'x_y')
      await addTeam(bench, other, 'Operators')
      await bench.memberships.add(orgId, ada, at)
      await bench.teams.addMember({ id: operators, orgId }, ada, at)
      const find = async (text: string, includesDescription = false, memberId = undefined as typeof ada | undefined) =>
        (await bench.teams.search(orgId, { text, includesDescription, memberId }, firstPage)).items.map(
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
    async (t, bench) => {
      const [zoe, ada] = [await bench.user('zoe'), await bench.user('Ada')]
      const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
      const [team, second, foreign] = [
        await addTeam(bench, orgId, 'Ops'),
        await addTeam(bench, orgId, 'Dev'),
        await addTeam(bench, other, 'Ops'),
      ]
      for (const userId of [zoe, ada]) await bench.teams.addMember({ id: team, orgId }, userId, at)
      await bench.teams.addMember({ id: second, orgId }, ada, at)
      await bench.teams.addMember({ id: foreign, orgId: other }, ada, at)
      t.deepEqual(await bench.teams.listMembers(team, firstPage), { items: [ada, zoe], total: 2 })
      t.deepEqual(await bench.teams.listMembers(team, { page: 2, limit: 1 }), { items: [zoe], total: 2 })
      t.true(await bench.teams.staysLedWithout(team, zoe))
      t.false(await bench.teams.staysLedWithout(second, ada), 'nobody else')
      t.true(await bench.teams.staysLedWithout(second, zoe), 'no member')
      await bench.organizations.update(other, { visibility: 'public' }, undefined)
      const mine = async (onlyOrgId: typeof orgId | undefined, onlyPublic = false) =>
        (
          await bench.teams.listOfUser(
            ada,
            { onlyOrgId, onlyPublic, entry: { at: new Date(), tokenLifeDays: 0 } },
            firstPage,
          )
        ).items.map(({ team: { id } }) => id)
      t.deepEqual(await mine(undefined), [team, second, foreign])
      t.deepEqual(await mine(orgId), [team, second])
      t.deepEqual(await mine(undefined, true), [foreign])
      t.deepEqual(await mine(orgId, true), [])
      t.deepEqual(
        (await bench.teams.listOfMember(other, ada)).map(({ id }) => id),
        [foreign],
      )
      await bench.teams.removeMember(team, ada)
      t.false(await bench.teams.hasMember(team, ada))
      t.true(await bench.teams.hasMember(team, zoe))
      t.true(await bench.teams.hasMember(second, ada))
    },
  )

  onBench('roles are replaced as a whole, and those of another organization are not known', async (t, bench) => {
    const [orgId, other] = [await addOrganization(bench, 'acme'), await addOrganization(bench, 'other')]
    const id = await addTeam(bench, orgId, 'Ops')
    const look = await bench.role(orgId, 'look', ['a/see', 'b/see it all'])
    const bare = await bench.role(orgId, 'bare', [])
    const foreign = await bench.role(other, 'foreign', ['a/see'])
    await bench.teams.replaceRoles({ id, orgId }, [bare, look])
    t.deepEqual((await bench.teams.findById(id))?.roleIds, [look, bare])
    await bench.teams.replaceRoles({ id, orgId }, [bare])
    t.deepEqual((await bench.teams.list(orgId, firstPage)).items[0]?.team.roleIds, [bare])
    const known = await bench.teams.rolePermissions(orgId, [look, bare, foreign, 999999 as RoleId])
    t.deepEqual([...known.keys()].sort(), [look, bare])
    const carried = [...(known.get(look) ?? [])].sort((x, y) => x.namespace.localeCompare(y.namespace))
    t.deepEqual(carried, [
      { namespace: 'a', action: 'see' },
      { namespace: 'b', action: 'see it all' },
    ])
    t.deepEqual(known.get(bare), [])
    await bench.teams.remove(id)
    t.is(await bench.teams.findById(id), undefined)
    t.is((await bench.teams.rolePermissions(orgId, [look])).size, 1, 'a role outlives its team')
  })
})
