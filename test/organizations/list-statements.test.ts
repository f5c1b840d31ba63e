import { makeSqlRoleStore } from '../../adapters/sql/authz/role-store.ts'
import { countingRunner } from '../authz/counting-runner.ts'
import { unwrap } from '../support/outcome.ts'
import { at, firstPage, makeOrganizationsFixture, onEachDatabase } from './use-cases.fixture.ts'

onEachDatabase(
  'a page of a list takes at most two statements, however much belongs to its rows',
  async (t, fixture) => {
    const { database } = fixture
    const [ada, grace] = [await fixture.user('ada'), await fixture.user('grace')]
    const orgId = await fixture.organization('acme', ada)
    const [ops, dev] = [
      await fixture.newTeam(orgId, 'Ops', 'read', [ada, grace]),
      await fixture.newTeam(orgId, 'Dev', 'read', [ada]),
    ]
    const look = await fixture.role(orgId, 'look', ['a/see', 'b/see'], [ops.id, dev.id])
    await fixture.role(orgId, 'see', ['a/see', 'b/see'], [ops.id, dev.id])
    for (const name of ['robot', 'other']) {
      const id = unwrap(await fixture.robots.insert({ orgId, orgName: 'acme', name, description: '', createdAt: at }))
      for (const team of [ops, dev]) await fixture.teams.addMember(team, id, at)
      const address = { text: `${name}@example.org`, key: `${name}@example.org` }
      const expiresAt = new Date(at.getTime() + 1000)
      await fixture.invitations.put({
        orgId,
        address,
        role: 'member',
        teamIds: [ops.id, dev.id],
        inviterId: ada,
        hash: Buffer.alloc(32, name),
        createdAt: at,
        expiresAt,
      })
    }
    const runner = countingRunner(database)
    const counted = makeOrganizationsFixture({
      ...database,
      all: runner.all,
      first: runner.first,
      run: runner.run,
      query: runner.query,
    })
    const roles = makeSqlRoleStore(database)(runner)
    const entry = { at, tokenLifeDays: 0, passkeyProof: 'none' } as const
    const lists = {
      teams: () => counted.teams.list(orgId, firstPage),
      'found teams': () =>
        counted.teams.search(orgId, { text: 'o', includesDescription: false, memberId: ada }, firstPage),
      'own teams': () => counted.teams.listOfUser(ada, { onlyOrgId: undefined, onlyPublic: false, entry }, firstPage),
      'robot accounts': () => counted.robots.list(orgId, firstPage),
      invitations: () => counted.invitations.list(orgId, at, firstPage),
      roles: () => roles.list(orgId, firstPage),
    }
    for (const [title, list] of Object.entries(lists)) {
      t.true((await list()).items.length >= 2, title)
      t.is(runner.taken(), 2, title)
    }
    const plain = {
      members: () => counted.memberships.list(orgId, 'all', firstPage),
      'team members': () => counted.teams.listMembers(ops.id, firstPage),
      organizations: () => counted.organizations.listOfUser(ada, firstPage),
      'principals of a role': () => roles.principals(orgId, look, firstPage),
    }
    for (const [title, list] of Object.entries(plain)) {
      t.true((await list()).items.length >= 1, title)
      t.is(runner.taken(), 1, title)
    }
  },
)
