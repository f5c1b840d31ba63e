import type { UserId } from '../../core/kernel/ids.ts'
import { makeAddTeamMember, makeRemoveTeamMember } from '../../core/organizations/teams/team-members.ts'
import { makeCreateOrganization, makeDeleteOrganization } from '../../core/organizations/organizations/organizations.ts'
import { makeRemoveMember } from '../../core/organizations/members/members.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { callBy, firstPage, onEachDatabase } from './bench.ts'

const rounds = 8
const people = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `user${n}`)

onEachDatabase('of owners who all leave at once, one stays', async (t, bench) => {
  const owners: UserId[] = []
  for (const name of people(4)) owners.push(await bench.user(name))
  for (let round = 0; round < rounds; round++) {
    const id = await bench.organization(`org${round}`, owners[0] as UserId)
    const team = await bench.team(id, 'Owners')
    for (const name of people(4)) unwrap(await makeAddTeamMember(bench)(callBy(owners[0] as UserId), { teamId: team.id, user: { name }, whenMember: 'done' }))
    const outcomes = await Promise.all(
      owners.map((owner, n) =>
        n % 2 === 0
          ? makeRemoveTeamMember(bench)(callBy(owner), { teamId: team.id, user: { id: owner } })
          : makeRemoveMember(bench)(callBy(owner), { orgId: id, member: { id: owner } }),
      ),
    )
    t.deepEqual(outcomes.map(tagOf).sort(), ['LastOwner', 'done', 'done', 'done'])
    t.is((await bench.teams.listMembers(team.id, firstPage)).total, 1)
  }
})

onEachDatabase('of two owners who remove each other at once, one stays', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  for (let round = 0; round < rounds; round++) {
    const id = await bench.organization(`org${round}`, ada)
    const team = await bench.team(id, 'Owners')
    unwrap(await makeAddTeamMember(bench)(callBy(ada), { teamId: team.id, user: { name: 'bob' }, whenMember: 'done' }))
    const remove = makeRemoveMember(bench)
    const outcomes = await Promise.all([remove(callBy(ada), { orgId: id, member: { name: 'bob' } }), remove(callBy(bob), { orgId: id, member: { name: 'ada' } })])
    t.is(outcomes.filter((outcome) => tagOf(outcome) === 'done').length, 1)
    t.is((await bench.memberships.list(id, 'all', firstPage)).total, 1)
  }
})

onEachDatabase('a user who leaves the last two teams at once is no longer a member', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  for (let round = 0; round < rounds; round++) {
    const id = await bench.organization(`org${round}`, ada)
    const teams = [await bench.newTeam(id, 'A', 'read', [bob]), await bench.newTeam(id, 'B', 'read', [bob])]
    const outcomes = await Promise.all(teams.map((team) => makeRemoveTeamMember(bench)(callBy(bob), { teamId: team.id, user: { name: 'bob' } })))
    t.deepEqual(outcomes.map(tagOf), ['done', 'done'])
    t.is(await bench.memberships.find(id, bob), undefined)
  }
})

onEachDatabase('adding to a team while the organization is deleted leaves no half', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  for (let round = 0; round < rounds; round++) {
    const id = await bench.organization(`org${round}`, ada)
    const viewers = await bench.team(id, 'Viewers')
    const [added, deleted] = await Promise.all([
      makeAddTeamMember(bench)(callBy(ada), { teamId: viewers.id, user: { name: 'bob' }, whenMember: 'done' }),
      makeDeleteOrganization(bench)(callBy(ada), id),
    ])
    t.is(tagOf(deleted), 'done')
    t.true(['done', 'TeamMissing'].includes(tagOf(added)), tagOf(added))
    t.is(await bench.memberships.find(id, bob), undefined)
    t.is(await bench.teams.findById(viewers.id), undefined)
  }
})

onEachDatabase('a cluster that comes while its organization goes keeps it, or is refused', async (t, bench) => {
  const ada = await bench.user('ada')
  const cluster = { provider: 'Generic', uid: 'u', endpoint: 'e', phase: 'Active', ref: 'r', display_name: 'c', created_at: 1 }
  for (let round = 0; round < rounds; round++) {
    const id = await bench.organization(`org${round}`, ada)
    const coming = bench.database.query((k) => k('clusters').insert({ ...cluster, owner_id: id, name: 'prod' })).then(
      () => 'kept',
      () => 'refused',
    )
    const [came, gone] = await Promise.all([coming, makeDeleteOrganization(bench)(callBy(ada), id)])
    t.is(tagOf(gone), came === 'kept' ? 'OrganizationInUse' : 'done')
    t.is((await bench.organizations.findById(id)) !== undefined, came === 'kept')
  }
})

onEachDatabase('of many who take one name at once, one gets it', async (t, bench) => {
  const ada = await bench.user('ada')
  const create = makeCreateOrganization(bench)
  const outcomes = await Promise.all(Array.from({ length: 6 }, () => create(callBy(ada), { name: 'acme' })))
  t.deepEqual(outcomes.map(tagOf).sort(), [...Array.from({ length: 5 }, () => 'OrganizationNameTaken'), 'done'])
  t.is((await bench.organizations.listOfUser(ada, firstPage)).total, 1)
})

onEachDatabase('adding one user to one team many times at once adds once', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  const id = await bench.organization('acme', ada)
  const viewers = await bench.team(id, 'Viewers')
  const add = makeAddTeamMember(bench)
  const outcomes = await Promise.all(Array.from({ length: 6 }, () => add(callBy(ada), { teamId: viewers.id, user: { name: 'bob' }, whenMember: 'done' })))
  t.deepEqual([...new Set(outcomes.map(tagOf))], ['done'])
  t.deepEqual((await bench.teams.listMembers(viewers.id, firstPage)).items, [bob])
})
