import { makeRemoveMember, makeSetMemberVisibility } from '../../core/organizations/members/members.ts'
import { makeSetMembership } from '../../core/organizations/members/memberships.ts'
import {
  makeCreateOrganization,
  makeDeleteOrganization,
  makeEditOrganization,
  makeRenameOrganization,
} from '../../core/organizations/organizations/organizations.ts'
import { makeAddTeamMember, makeRemoveTeamMember } from '../../core/organizations/teams/team-members.ts'
import { makeCreateTeam, makeDeleteTeam, makeEditTeam } from '../../core/organizations/teams/teams.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { callBy, firstPage, onEachDatabase } from './bench.ts'

const blankTeam = { description: '', permission: undefined, type: undefined, roleIds: [] }

onEachDatabase(
  'a new organization has three teams, its maker alone owns it, and one audit row says so',
  async (t, bench) => {
    const ada = await bench.user('ada')
    const made = unwrap(await makeCreateOrganization(bench)(callBy(ada), { name: 'Acme', visibility: 'private' }))
    const teams = (await bench.teams.list(made.id, firstPage)).items.map(({ team }) => team)
    t.deepEqual(
      teams.map(({ name, permission, type }) => [name, permission, type]),
      [
        ['Owners', 'owner', 'kubernetes'],
        ['Editors', 'write', 'kubernetes'],
        ['Viewers', 'read', 'kubernetes'],
      ],
    )
    const members = await Promise.all(teams.map(async ({ id }) => (await bench.teams.listMembers(id, firstPage)).items))
    t.deepEqual(members, [[ada], [], []])
    t.deepEqual(await bench.memberships.find(made.id, ada), { userId: ada, isPublic: false })
    t.deepEqual(
      bench.entries.map(({ action, tenantId }) => [action, tenantId]),
      [['organization.created', made.id]],
    )
  },
)

onEachDatabase(
  'a name is taken by users and organizations alike, in any case, and nothing is left behind',
  async (t, bench) => {
    const ada = await bench.user('ada')
    await bench.organization('Acme', ada)
    const create = makeCreateOrganization(bench)
    for (const name of ['acme', 'ACME', 'Ada', 'ada'])
      t.is(tagOf(await create(callBy(ada), { name })), 'OrganizationNameTaken', name)
    for (const name of ['api', 'a..b', '', 'x'.repeat(41)])
      t.is(tagOf(await create(callBy(ada), { name })), 'OrganizationNameRefused', name)
    t.is(tagOf(await create(callBy(ada), { name: 'fine', orgType: 'client' })), 'OrganizationFieldRefused')
    t.is((await bench.organizations.listOfUser(ada, firstPage)).total, 1)
  },
)

onEachDatabase('who may not create organizations is refused, a site admin never', async (t, bench) => {
  const ada = await bench.user('ada')
  await bench.database.query((k) => k('users').where('id', ada).update({ allow_create_organization: 0 }))
  const create = makeCreateOrganization(bench)
  t.is(tagOf(await create(callBy(ada), { name: 'acme' })), 'OrganizationCreationDenied')
  t.is(tagOf(await create(callBy(ada, { isSiteAdmin: true }), { name: 'acme' })), 'done')
})

onEachDatabase(
  'an edit is a merge: what is absent stays, empty text clears, an empty visibility changes nothing',
  async (t, bench) => {
    const ada = await bench.user('ada')
    const id = await bench.organization('acme', ada)
    const other = await bench.organization('other', ada)
    const edit = makeEditOrganization(bench)
    const full = {
      fullName: 'Acme Ltd',
      email: 'a@b.example',
      description: 'd',
      website: 'https://a.example',
      location: 'X',
    }
    unwrap(await edit(callBy(ada), { id, change: { ...full, visibility: 'private' }, expectedVersion: undefined }))
    const changed = unwrap(
      await edit(callBy(ada), { id, change: { website: '', visibility: '' }, expectedVersion: undefined }),
    )
    t.like(changed, { ...full, website: '', visibility: 'private', version: 3 })
    t.is((await bench.organizations.findById(other))?.fullName, '', 'the other organization keeps its profile')
    t.is(
      tagOf(await edit(callBy(ada), { id, change: { website: 'javascript:alert(1)' }, expectedVersion: undefined })),
      'OrganizationFieldRefused',
    )
    t.is(tagOf(await edit(callBy(ada), { id, change: { location: 'Y' }, expectedVersion: 1 })), 'OrganizationChanged')
    t.is(tagOf(await edit(callBy(ada), { id, change: { location: 'Y' }, expectedVersion: 3 })), 'done')
  },
)

onEachDatabase('an old name leads to the organization until it is used again', async (t, bench) => {
  const ada = await bench.user('ada')
  const id = await bench.organization('acme', ada)
  const rename = makeRenameOrganization(bench)
  unwrap(await rename(callBy(ada), { id, name: 'Beta' }))
  t.is((await bench.organizations.findByFormerName('ACME'))?.id, id)
  t.is((await bench.organizations.findByName('beta'))?.name, 'Beta')
  unwrap(await rename(callBy(ada), { id, name: 'BETA' }))
  t.is(await bench.organizations.findByFormerName('beta'), undefined, 'a change of case leaves no redirect')
  unwrap(await rename(callBy(ada), { id, name: 'acme' }))
  t.is(await bench.organizations.findByFormerName('acme'), undefined, 'the name is its own again')
  t.is((await bench.organizations.findByFormerName('beta'))?.id, id)
  const newcomer = await bench.organization('beta', ada)
  t.is(await bench.organizations.findByFormerName('beta'), undefined)
  t.is(tagOf(await rename(callBy(ada), { id, name: 'beta' })), 'OrganizationNameTaken')
  t.is(tagOf(await rename(callBy(ada), { id, name: 'teams' })), 'OrganizationNameRefused')
  t.is((await bench.organizations.findById(newcomer))?.name, 'beta')
})

onEachDatabase('an organization goes only when nothing belongs to it, and takes its rows along', async (t, bench) => {
  const ada = await bench.user('ada')
  const id = await bench.organization('acme', ada)
  const other = await bench.organization('other', ada)
  const cluster = {
    provider: 'Generic',
    uid: 'u',
    endpoint: 'e',
    phase: 'Active',
    ref: 'r',
    display_name: 'c',
    created_at: 1,
  }
  await bench.database.query((k) => k('clusters').insert({ ...cluster, owner_id: id, name: 'prod' }))
  await bench.database.query((k) => k('clusters').insert({ ...cluster, owner_id: other, name: 'theirs' }))
  const remove = makeDeleteOrganization(bench)
  const refused = await remove(callBy(ada), id)
  t.like(refused, { left: { tag: 'OrganizationInUse', errors: ['cluster prod'] } })
  await bench.database.query((k) => k('clusters').where('owner_id', id).delete())
  unwrap(await remove(callBy(ada), id))
  t.is(await bench.organizations.findById(id), undefined)
  for (const table of ['teams', 'team_members', 'org_members']) {
    const left = await bench.database.query<{ org_id: number }>((k) => k(table).select('org_id'))
    t.true(left.length > 0 && left.every((row) => Number(row.org_id) === other), table)
  }
  t.is(tagOf(await remove(callBy(ada), id)), 'OrganizationMissing')
})

onEachDatabase('a team takes a free name, a known type and roles of its own organization', async (t, bench) => {
  const ada = await bench.user('ada')
  const id = await bench.organization('acme', ada)
  const other = await bench.organization('other', ada)
  const mine = await bench.role(id, 'mine', ['cluster_mgmt/view clusters'])
  const theirs = await bench.role(other, 'theirs', ['cluster_mgmt/view clusters'])
  const create = makeCreateTeam(bench)
  const asked = (changes: object) => create(callBy(ada), { orgId: id, ...blankTeam, name: 'Ops', ...changes })
  const { team } = unwrap(await asked({ roleIds: [mine, mine] }))
  t.like(team, { permission: 'custom', type: 'kubernetes', roleIds: [mine] })
  t.is(unwrap(await asked({ name: 'Plain' })).team.permission, 'read')
  t.is(tagOf(await asked({ name: 'ops' })), 'TeamNameTaken')
  t.is(tagOf(await asked({ name: 'owners' })), 'TeamNameTaken')
  t.is(tagOf(await asked({ name: 'New' })), 'TeamNameRefused')
  t.is(tagOf(await asked({ name: 'a b' })), 'TeamNameRefused')
  t.is(tagOf(await asked({ name: 'T', type: 'nomad' })), 'TeamTypeUnknown')
  t.is(tagOf(await asked({ name: 'T', permission: 'owner' })), 'TeamLevelRefused')
  t.is(tagOf(await asked({ name: 'T', roleIds: [theirs] })), 'TeamRolesRefused')
  t.is(tagOf(await asked({ name: 'T', roleIds: [mine, 999999] })), 'TeamRolesRefused')
  t.is(tagOf(await asked({ name: 'T', roleIds: Array.from({ length: 51 }, (_, n) => n + 1) })), 'TeamRolesRefused')
  t.is(
    unwrap(await create(callBy(ada), { orgId: other, ...blankTeam, name: 'Ops' })).team.orgId,
    other,
    'names are per organization',
  )
})

onEachDatabase('the team Owners keeps its name, its level and itself', async (t, bench) => {
  const ada = await bench.user('ada')
  const id = await bench.organization('acme', ada)
  const owners = await bench.team(id, 'Owners')
  const edit = makeEditTeam(bench)
  t.is(
    tagOf(await edit(callBy(ada), { id: owners.id, change: { name: 'Bosses' }, expectedVersion: undefined })),
    'OwnersTeamFixed',
  )
  t.is(
    tagOf(await edit(callBy(ada), { id: owners.id, change: { permission: 'admin' }, expectedVersion: undefined })),
    'OwnersTeamFixed',
  )
  t.is(tagOf(await makeDeleteTeam(bench)(callBy(ada), owners.id)), 'OwnersTeamFixed')
  const same = await edit(callBy(ada), {
    id: owners.id,
    change: { name: 'Owners', permission: 'owner', description: 'x' },
    expectedVersion: undefined,
  })
  t.like(unwrap(same).team, { name: 'Owners', permission: 'owner', description: 'x' })
  const editors = await bench.team(id, 'Editors')
  t.is(
    tagOf(await edit(callBy(ada), { id: editors.id, change: { permission: 'owner' }, expectedVersion: undefined })),
    'TeamLevelRefused',
  )
  t.is(
    tagOf(await edit(callBy(ada), { id: editors.id, change: { name: 'viewers' }, expectedVersion: undefined })),
    'TeamNameTaken',
  )
  t.is(
    tagOf(await edit(callBy(ada), { id: editors.id, change: { description: 'y' }, expectedVersion: 7 })),
    'TeamChanged',
  )
})

onEachDatabase('a caller gives only rights that the caller has', async (t, bench) => {
  const [ada, adam, cleo, dan] = (await Promise.all(
    ['ada', 'adam', 'cleo', 'dan'].map((name) => bench.user(name)),
  )) as [never, never, never, never]
  const id = await bench.organization('acme', ada)
  const admins = await bench.newTeam(id, 'Admins', 'admin', [adam])
  const helpers = await bench.newTeam(id, 'Helpers', 'custom', [cleo])
  const manage = [
    'org_mgmt/view teams',
    'org_mgmt/add team members',
    'org_mgmt/create teams',
    'org_mgmt/edit teams',
    'org_mgmt/remove team members',
  ]
  const helping = await bench.role(id, 'helping', manage, [helpers.id])
  const deleting = await bench.role(id, 'deleting', ['org_mgmt/delete'])
  const owners = await bench.team(id, 'Owners')
  const editors = await bench.team(id, 'Editors')
  const [create, edit, add, remove] = [
    makeCreateTeam(bench),
    makeEditTeam(bench),
    makeAddTeamMember(bench),
    makeRemoveTeamMember(bench),
  ]
  const byAdmin = callBy(adam)
  const byHelper = callBy(cleo)

  t.is(
    tagOf(await add(byAdmin, { teamId: owners.id, user: { name: 'dan' }, whenMember: 'done' })),
    'BeyondOwnRights',
    'an admin makes no owner',
  )
  t.is(
    tagOf(await edit(byAdmin, { id: owners.id, change: { description: 'mine' }, expectedVersion: undefined })),
    'BeyondOwnRights',
  )
  t.is(
    tagOf(await edit(byAdmin, { id: admins.id, change: { description: 'mine' }, expectedVersion: undefined })),
    'BeyondOwnRights',
    "a team of one's own level",
  )
  t.is(
    tagOf(await edit(byAdmin, { id: editors.id, change: { roleIds: [deleting] }, expectedVersion: undefined })),
    'BeyondOwnRights',
    'an owner permission',
  )
  t.is(tagOf(await create(byAdmin, { orgId: id, ...blankTeam, name: 'T', roleIds: [deleting] })), 'BeyondOwnRights')
  t.is(
    tagOf(await edit(byAdmin, { id: editors.id, change: { roleIds: [helping] }, expectedVersion: undefined })),
    'done',
    'an admin holds what helpers hold',
  )
  t.is(tagOf(await remove(byAdmin, { teamId: owners.id, user: { name: 'ada' } })), 'BeyondOwnRights')

  t.is(tagOf(await create(byHelper, { orgId: id, ...blankTeam, name: 'T', permission: 'read' })), 'BeyondOwnRights')
  t.is(tagOf(await create(byHelper, { orgId: id, ...blankTeam, name: 'T', roleIds: [deleting] })), 'BeyondOwnRights')
  t.is(tagOf(await create(byHelper, { orgId: id, ...blankTeam, name: 'T', roleIds: [helping] })), 'done')
  t.is(tagOf(await add(byHelper, { teamId: editors.id, user: { name: 'dan' }, whenMember: 'done' })), 'BeyondOwnRights')
  t.is(
    tagOf(await edit(byHelper, { id: helpers.id, change: { permission: 'admin' }, expectedVersion: undefined })),
    'BeyondOwnRights',
  )
  t.is(tagOf(await add(byHelper, { teamId: helpers.id, user: { name: 'dan' }, whenMember: 'done' })), 'done')
  t.is(
    tagOf(await add(callBy(dan), { teamId: editors.id, user: { name: 'dan' }, whenMember: 'done' })),
    'BeyondOwnRights',
  )
  await bench.database.query((k) => k('users').where('id', dan).update({ is_admin: 1 }))
  t.is(
    tagOf(
      await add(callBy(dan, { isSiteAdmin: true }), { teamId: owners.id, user: { name: 'dan' }, whenMember: 'done' }),
    ),
    'done',
  )
})

onEachDatabase('the right to remove members reaches those below, and oneself', async (t, bench) => {
  const [ada, adam, bea] = [await bench.user('ada'), await bench.user('adam'), await bench.user('bea')]
  const [cleo, dan] = [await bench.user('cleo'), await bench.user('dan')]
  const id = await bench.organization('acme', ada)
  await bench.newTeam(id, 'Admins', 'admin', [adam, bea])
  await bench.newTeam(id, 'Writers', 'write', [cleo, dan])
  const removers = await bench.newTeam(id, 'Removers', 'custom', [adam])
  await bench.role(id, 'removing', ['org_mgmt/view members', 'org_mgmt/remove members'], [removers.id])
  const remove = makeRemoveMember(bench)
  t.is(tagOf(await remove(callBy(adam), { orgId: id, member: { name: 'ada' } })), 'BeyondOwnRights')
  t.is(tagOf(await remove(callBy(adam), { orgId: id, member: { name: 'bea' } })), 'BeyondOwnRights')
  t.is(
    tagOf(await remove(callBy(bea), { orgId: id, member: { name: 'cleo' } })),
    'BeyondOwnRights',
    'an admin alone does not remove members',
  )
  t.is(tagOf(await remove(callBy(adam), { orgId: id, member: { name: 'cleo' } })), 'done')
  t.is(tagOf(await remove(callBy(dan), { orgId: id, member: { name: 'dan' } })), 'done')
  t.deepEqual((await bench.memberships.list(id, 'all', firstPage)).items, [ada, adam, bea])
})

onEachDatabase('rights in one organization are none in another', async (t, bench) => {
  const [ada, eve] = [await bench.user('ada'), await bench.user('eve')]
  const id = await bench.organization('acme', ada)
  await bench.organization('evil', eve)
  const editors = await bench.team(id, 'Editors')
  const byEve = callBy(eve)
  t.is(tagOf(await makeCreateTeam(bench)(byEve, { orgId: id, ...blankTeam, name: 'T' })), 'BeyondOwnRights')
  t.is(
    tagOf(await makeEditTeam(bench)(byEve, { id: editors.id, change: { name: 'x' }, expectedVersion: undefined })),
    'BeyondOwnRights',
  )
  t.is(tagOf(await makeDeleteTeam(bench)(byEve, editors.id)), 'BeyondOwnRights')
  t.is(
    tagOf(await makeAddTeamMember(bench)(byEve, { teamId: editors.id, user: { name: 'eve' }, whenMember: 'done' })),
    'BeyondOwnRights',
  )
  t.is(tagOf(await makeRemoveMember(bench)(byEve, { orgId: id, member: { name: 'ada' } })), 'BeyondOwnRights')
  t.is(tagOf(await makeSetMembership(bench)(byEve, { orgId: id, login: 'eve', role: 'member' })), 'BeyondOwnRights')
  t.is(
    tagOf(await makeSetMemberVisibility(bench)(byEve, { orgId: id, member: { name: 'ada' }, isPublic: true })),
    'BeyondOwnRights',
  )
})

onEachDatabase('joining a team makes a member, leaving the last one ends it, and the grants go', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  const id = await bench.organization('acme', ada)
  const other = await bench.organization('other', ada)
  const [editors, viewers] = [await bench.team(id, 'Editors'), await bench.team(id, 'Viewers')]
  const add = makeAddTeamMember(bench)
  const remove = makeRemoveTeamMember(bench)
  unwrap(await add(callBy(ada), { teamId: editors.id, user: { name: 'BOB' }, whenMember: 'done' }))
  unwrap(await add(callBy(ada), { teamId: editors.id, user: { name: 'bob' }, whenMember: 'done' }))
  t.is(
    tagOf(await add(callBy(ada), { teamId: editors.id, user: { name: 'bob' }, whenMember: 'refused' })),
    'AlreadyTeamMember',
  )
  unwrap(await add(callBy(ada), { teamId: viewers.id, user: { id: bob }, whenMember: 'done' }))
  unwrap(
    await add(callBy(ada), {
      teamId: (await bench.team(other, 'Viewers')).id,
      user: { name: 'bob' },
      whenMember: 'done',
    }),
  )
  const grant = {
    object_type: 'cluster',
    object_id: 1,
    relation: 'viewer',
    subject_type: 'user',
    subject_id: bob,
    created_at: 1,
  }
  await bench.database.query((k) => k('object_grants').insert({ ...grant, org_id: id }))
  await bench.database.query((k) => k('object_grants').insert({ ...grant, object_id: 2, org_id: other }))
  t.deepEqual(await bench.memberships.rights(id, bob), { isMember: true, level: 'write', permissions: new Set() })
  unwrap(await remove(callBy(bob), { teamId: editors.id, user: { name: 'bob' } }))
  t.is((await bench.memberships.rights(id, bob)).level, 'read')
  unwrap(await remove(callBy(ada), { teamId: viewers.id, user: { name: 'bob' } }))
  t.is(await bench.memberships.find(id, bob), undefined)
  t.not(await bench.memberships.find(other, bob), undefined, 'the other membership stays')
  const grants = await bench.database.query<{ org_id: number }>((k) => k('object_grants').select('org_id'))
  t.deepEqual(
    grants.map((row) => Number(row.org_id)),
    [other],
  )
  const again = { teamId: viewers.id, user: { name: 'bob' } }
  t.is(tagOf(await remove(callBy(ada), again)), 'MemberMissing')
  t.is(tagOf(await remove(callBy(ada), { ...again, whenAbsent: 'done' })), 'done')
  t.is(tagOf(await remove(callBy(ada), { ...again, user: { name: 'nobody' }, whenAbsent: 'done' })), 'MemberMissing')
})

onEachDatabase('organizations, ghosts and the switched off become no members', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  const id = await bench.organization('acme', ada)
  const viewers = await bench.team(id, 'Viewers')
  const add = makeAddTeamMember(bench)
  t.is(
    tagOf(await add(callBy(ada), { teamId: viewers.id, user: { name: 'acme' }, whenMember: 'done' })),
    'AccountNotEligible',
  )
  t.is(
    tagOf(await add(callBy(ada), { teamId: viewers.id, user: { name: 'nobody' }, whenMember: 'done' })),
    'MemberMissing',
  )
  await bench.database.query((k) => k('users').where('id', bob).update({ is_active: 0 }))
  t.is(
    tagOf(await add(callBy(ada), { teamId: viewers.id, user: { name: 'bob' }, whenMember: 'done' })),
    'AccountNotEligible',
  )
  t.is(
    tagOf(await makeSetMembership(bench)(callBy(ada), { orgId: id, login: 'bob', role: 'member' })),
    'AccountNotEligible',
  )
})

onEachDatabase('the last owner stays, by every way out', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  const id = await bench.organization('acme', ada)
  const owners = await bench.team(id, 'Owners')
  const [leave, removeMember, set] = [makeRemoveTeamMember(bench), makeRemoveMember(bench), makeSetMembership(bench)]
  t.is(tagOf(await leave(callBy(ada), { teamId: owners.id, user: { name: 'ada' } })), 'LastOwner')
  t.is(tagOf(await removeMember(callBy(ada), { orgId: id, member: { name: 'ada' } })), 'LastOwner')
  t.is(tagOf(await set(callBy(ada), { orgId: id, login: 'ada', role: 'member' })), 'LastOwner')
  t.is((await bench.memberships.rights(id, ada)).level, 'owner', 'a refused change leaves nothing behind')
  t.is((await bench.teams.listOfMember(id, ada)).length, 1)
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'owner' }))
  unwrap(await removeMember(callBy(bob), { orgId: id, member: { name: 'ada' } }))
  t.is(await bench.memberships.find(id, ada), undefined)
  t.is(tagOf(await removeMember(callBy(bob), { orgId: id, member: { name: 'bob' } })), 'LastOwner')
})

onEachDatabase('a role settles the teams: into one of its level, out of those above', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  const id = await bench.organization('acme', ada)
  const set = makeSetMembership(bench)
  const namesOfBob = async () => (await bench.teams.listOfMember(id, bob)).map(({ name }) => name)
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'member' }))
  t.deepEqual(await namesOfBob(), ['Viewers'])
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'admin' }))
  t.deepEqual(await namesOfBob(), ['Viewers', 'Admins'], 'a team of level admin is made where there is none')
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'owner' }))
  t.deepEqual(await namesOfBob(), ['Owners', 'Viewers', 'Admins'])
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'member' }))
  t.deepEqual(await namesOfBob(), ['Viewers'])
  const recorded = bench.entries.length
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'member' }))
  t.is(bench.entries.length, recorded, 'no change, no audit row')
})

onEachDatabase('deleting a team ends the memberships that hung on it alone', async (t, bench) => {
  const [ada, bob, cleo] = [await bench.user('ada'), await bench.user('bob'), await bench.user('cleo')]
  const id = await bench.organization('acme', ada)
  const other = await bench.organization('other', ada)
  const ops = await bench.newTeam(id, 'Ops', 'write', [bob, cleo])
  await bench.newTeam(id, 'More', 'read', [cleo])
  await bench.newTeam(other, 'Ops', 'write', [bob])
  unwrap(await makeDeleteTeam(bench)(callBy(ada), ops.id))
  t.is(await bench.memberships.find(id, bob), undefined)
  t.not(await bench.memberships.find(id, cleo), undefined)
  t.not(await bench.memberships.find(other, bob), undefined)
  t.deepEqual(bench.entries.at(-1)?.changes, { membersWhoLeft: 1 })
})

onEachDatabase("a membership's visibility is the member's own choice, and the owners'", async (t, bench) => {
  const [ada, bob, cleo] = [await bench.user('ada'), await bench.user('bob'), await bench.user('cleo')]
  const id = await bench.organization('acme', ada)
  await bench.newTeam(id, 'Ops', 'admin', [bob, cleo])
  const set = makeSetMemberVisibility(bench)
  t.is(tagOf(await set(callBy(bob), { orgId: id, member: { name: 'cleo' }, isPublic: true })), 'BeyondOwnRights')
  unwrap(await set(callBy(bob), { orgId: id, member: { name: 'bob' }, isPublic: true }))
  t.deepEqual((await bench.memberships.list(id, 'public', firstPage)).items, [bob])
  unwrap(await set(callBy(ada), { orgId: id, member: { name: 'bob' }, isPublic: false }))
  t.is((await bench.memberships.list(id, 'public', firstPage)).total, 0)
  t.is(tagOf(await set(callBy(ada), { orgId: id, member: { name: 'nobody' }, isPublic: true })), 'MemberMissing')
})
