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
import { callBy, firstPage, onEachDatabase } from './use-cases.fixture.ts'

const blankTeam = { description: '', permission: undefined, type: undefined, roleIds: [] }

onEachDatabase(
  'a new organization has three teams, its maker alone owns it, and one audit row says so',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const made = unwrap(await makeCreateOrganization(fixture)(callBy(ada), { name: 'Acme', visibility: 'private' }))
    const teams = (await fixture.teams.list(made.id, firstPage)).items.map(({ team }) => team)
    t.deepEqual(
      teams.map(({ name, permission, type }) => [name, permission, type]),
      [
        ['Owners', 'owner', 'kubernetes'],
        ['Editors', 'write', 'kubernetes'],
        ['Viewers', 'read', 'kubernetes'],
      ],
    )
    const members = await Promise.all(
      teams.map(async ({ id }) => (await fixture.teams.listMembers(id, firstPage)).items),
    )
    t.deepEqual(members, [[ada], [], []])
    t.deepEqual(await fixture.memberships.find(made.id, ada), { userId: ada, isPublic: false })
    t.deepEqual(
      fixture.entries.map(({ action, tenantId }) => [action, tenantId]),
      [['organization.created', made.id]],
    )
  },
)

onEachDatabase(
  'a name is taken by users and organizations alike, in any case, and nothing is left behind',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    await fixture.organization('Acme', ada)
    const create = makeCreateOrganization(fixture)
    for (const name of ['acme', 'ACME', 'Ada', 'ada'])
      t.is(tagOf(await create(callBy(ada), { name })), 'OrganizationNameTaken', name)
    for (const name of ['api', 'a..b', '', 'x'.repeat(41)])
      t.is(tagOf(await create(callBy(ada), { name })), 'OrganizationNameRefused', name)
    t.is(tagOf(await create(callBy(ada), { name: 'fine', orgType: 'client' })), 'OrganizationFieldRefused')
    t.is((await fixture.organizations.listOfUser(ada, firstPage)).total, 1)
  },
)

onEachDatabase('who may not create organizations is refused, a site admin never', async (t, fixture) => {
  const ada = await fixture.user('ada')
  await fixture.database.query((k) => k('users').where('id', ada).update({ allow_create_organization: 0 }))
  const create = makeCreateOrganization(fixture)
  t.is(tagOf(await create(callBy(ada), { name: 'acme' })), 'OrganizationCreationDenied')
  t.is(tagOf(await create(callBy(ada, { isSiteAdmin: true }), { name: 'acme' })), 'done')
})

onEachDatabase(
  'an edit is a merge: what is absent stays, empty text clears, an empty visibility changes nothing',
  async (t, fixture) => {
    const ada = await fixture.user('ada')
    const id = await fixture.organization('acme', ada)
    const other = await fixture.organization('other', ada)
    const edit = makeEditOrganization(fixture)
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
    t.is((await fixture.organizations.findById(other))?.fullName, '', 'the other organization keeps its profile')
    t.is(
      tagOf(await edit(callBy(ada), { id, change: { website: 'javascript:alert(1)' }, expectedVersion: undefined })),
      'OrganizationFieldRefused',
    )
    t.is(tagOf(await edit(callBy(ada), { id, change: { location: 'Y' }, expectedVersion: 1 })), 'OrganizationChanged')
    t.is(tagOf(await edit(callBy(ada), { id, change: { location: 'Y' }, expectedVersion: 3 })), 'done')
  },
)

onEachDatabase('an old name leads to the organization until it is used again', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const id = await fixture.organization('acme', ada)
  const rename = makeRenameOrganization(fixture)
  unwrap(await rename(callBy(ada), { id, name: 'Beta' }))
  t.is((await fixture.organizations.findByFormerName('ACME'))?.id, id)
  t.is((await fixture.organizations.findByName('beta'))?.name, 'Beta')
  unwrap(await rename(callBy(ada), { id, name: 'BETA' }))
  t.is(await fixture.organizations.findByFormerName('beta'), undefined, 'a change of case leaves no redirect')
  unwrap(await rename(callBy(ada), { id, name: 'acme' }))
  t.is(await fixture.organizations.findByFormerName('acme'), undefined, 'the name is its own again')
  t.is((await fixture.organizations.findByFormerName('beta'))?.id, id)
  const newcomer = await fixture.organization('beta', ada)
  t.is(await fixture.organizations.findByFormerName('beta'), undefined)
  t.is(tagOf(await rename(callBy(ada), { id, name: 'beta' })), 'OrganizationNameTaken')
  t.is(tagOf(await rename(callBy(ada), { id, name: 'teams' })), 'OrganizationNameRefused')
  t.is((await fixture.organizations.findById(newcomer))?.name, 'beta')
})

onEachDatabase('an organization goes only when nothing belongs to it, and takes its rows along', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const id = await fixture.organization('acme', ada)
  const other = await fixture.organization('other', ada)
  const cluster = {
    provider: 'Generic',
    uid: 'u',
    endpoint: 'e',
    phase: 'Active',
    ref: 'r',
    display_name: 'c',
    created_at: 1,
  }
  await fixture.database.query((k) => k('clusters').insert({ ...cluster, owner_id: id, name: 'prod' }))
  await fixture.database.query((k) => k('clusters').insert({ ...cluster, owner_id: other, name: 'theirs' }))
  const remove = makeDeleteOrganization(fixture)
  const refused = await remove(callBy(ada), id)
  t.like(refused, { left: { tag: 'OrganizationInUse', errors: ['cluster prod'] } })
  await fixture.database.query((k) => k('clusters').where('owner_id', id).delete())
  unwrap(await remove(callBy(ada), id))
  t.is(await fixture.organizations.findById(id), undefined)
  for (const table of ['teams', 'team_members', 'org_members']) {
    const left = await fixture.database.query<{ org_id: number }>((k) => k(table).select('org_id'))
    t.true(left.length > 0 && left.every((row) => Number(row.org_id) === other), table)
  }
  t.is(tagOf(await remove(callBy(ada), id)), 'OrganizationMissing')
})

onEachDatabase('a team takes a free name, a known type and roles of its own organization', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const id = await fixture.organization('acme', ada)
  const other = await fixture.organization('other', ada)
  const mine = await fixture.role(id, 'mine', ['cluster_mgmt/view clusters'])
  const theirs = await fixture.role(other, 'theirs', ['cluster_mgmt/view clusters'])
  const create = makeCreateTeam(fixture)
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

onEachDatabase('the team Owners keeps its name, its level and itself', async (t, fixture) => {
  const ada = await fixture.user('ada')
  const id = await fixture.organization('acme', ada)
  const owners = await fixture.team(id, 'Owners')
  const edit = makeEditTeam(fixture)
  t.is(
    tagOf(await edit(callBy(ada), { id: owners.id, change: { name: 'Bosses' }, expectedVersion: undefined })),
    'OwnersTeamFixed',
  )
  t.is(
    tagOf(await edit(callBy(ada), { id: owners.id, change: { permission: 'admin' }, expectedVersion: undefined })),
    'OwnersTeamFixed',
  )
  t.is(tagOf(await makeDeleteTeam(fixture)(callBy(ada), owners.id)), 'OwnersTeamFixed')
  const same = await edit(callBy(ada), {
    id: owners.id,
    change: { name: 'Owners', permission: 'owner', description: 'x' },
    expectedVersion: undefined,
  })
  t.like(unwrap(same).team, { name: 'Owners', permission: 'owner', description: 'x' })
  const editors = await fixture.team(id, 'Editors')
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

onEachDatabase('a caller gives only rights that the caller has', async (t, fixture) => {
  const [ada, adam, cleo, dan] = (await Promise.all(
    ['ada', 'adam', 'cleo', 'dan'].map((name) => fixture.user(name)),
  )) as [never, never, never, never]
  const id = await fixture.organization('acme', ada)
  const admins = await fixture.newTeam(id, 'Admins', 'admin', [adam])
  const helpers = await fixture.newTeam(id, 'Helpers', 'custom', [cleo])
  const manage = [
    'org_mgmt/view teams',
    'org_mgmt/add team members',
    'org_mgmt/create teams',
    'org_mgmt/edit teams',
    'org_mgmt/remove team members',
  ]
  const helping = await fixture.role(id, 'helping', manage, [helpers.id])
  const deleting = await fixture.role(id, 'deleting', ['org_mgmt/delete'])
  const owners = await fixture.team(id, 'Owners')
  const editors = await fixture.team(id, 'Editors')
  const [create, edit, add, remove] = [
    makeCreateTeam(fixture),
    makeEditTeam(fixture),
    makeAddTeamMember(fixture),
    makeRemoveTeamMember(fixture),
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
  await fixture.database.query((k) => k('users').where('id', dan).update({ is_admin: 1 }))
  t.is(
    tagOf(
      await add(callBy(dan, { isSiteAdmin: true }), { teamId: owners.id, user: { name: 'dan' }, whenMember: 'done' }),
    ),
    'done',
  )
})

onEachDatabase('the right to remove members reaches those below, and oneself', async (t, fixture) => {
  const [ada, adam, bea] = [await fixture.user('ada'), await fixture.user('adam'), await fixture.user('bea')]
  const [cleo, dan] = [await fixture.user('cleo'), await fixture.user('dan')]
  const id = await fixture.organization('acme', ada)
  await fixture.newTeam(id, 'Admins', 'admin', [adam, bea])
  await fixture.newTeam(id, 'Writers', 'write', [cleo, dan])
  const removers = await fixture.newTeam(id, 'Removers', 'custom', [adam])
  await fixture.role(id, 'removing', ['org_mgmt/view members', 'org_mgmt/remove members'], [removers.id])
  const remove = makeRemoveMember(fixture)
  t.is(tagOf(await remove(callBy(adam), { orgId: id, member: { name: 'ada' } })), 'BeyondOwnRights')
  t.is(tagOf(await remove(callBy(adam), { orgId: id, member: { name: 'bea' } })), 'BeyondOwnRights')
  t.is(
    tagOf(await remove(callBy(bea), { orgId: id, member: { name: 'cleo' } })),
    'BeyondOwnRights',
    'an admin alone does not remove members',
  )
  t.is(tagOf(await remove(callBy(adam), { orgId: id, member: { name: 'cleo' } })), 'done')
  t.is(tagOf(await remove(callBy(dan), { orgId: id, member: { name: 'dan' } })), 'done')
  t.deepEqual((await fixture.memberships.list(id, 'all', firstPage)).items, [ada, adam, bea])
})

onEachDatabase('rights in one organization are none in another', async (t, fixture) => {
  const [ada, eve] = [await fixture.user('ada'), await fixture.user('eve')]
  const id = await fixture.organization('acme', ada)
  await fixture.organization('evil', eve)
  const editors = await fixture.team(id, 'Editors')
  const byEve = callBy(eve)
  t.is(tagOf(await makeCreateTeam(fixture)(byEve, { orgId: id, ...blankTeam, name: 'T' })), 'BeyondOwnRights')
  t.is(
    tagOf(await makeEditTeam(fixture)(byEve, { id: editors.id, change: { name: 'x' }, expectedVersion: undefined })),
    'BeyondOwnRights',
  )
  t.is(tagOf(await makeDeleteTeam(fixture)(byEve, editors.id)), 'BeyondOwnRights')
  t.is(
    tagOf(await makeAddTeamMember(fixture)(byEve, { teamId: editors.id, user: { name: 'eve' }, whenMember: 'done' })),
    'BeyondOwnRights',
  )
  t.is(tagOf(await makeRemoveMember(fixture)(byEve, { orgId: id, member: { name: 'ada' } })), 'BeyondOwnRights')
  t.is(tagOf(await makeSetMembership(fixture)(byEve, { orgId: id, login: 'eve', role: 'member' })), 'BeyondOwnRights')
  t.is(
    tagOf(await makeSetMemberVisibility(fixture)(byEve, { orgId: id, member: { name: 'ada' }, isPublic: true })),
    'BeyondOwnRights',
  )
})

onEachDatabase('joining a team makes a member, leaving the last one ends it, and the grants go', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const id = await fixture.organization('acme', ada)
  const other = await fixture.organization('other', ada)
  const [editors, viewers] = [await fixture.team(id, 'Editors'), await fixture.team(id, 'Viewers')]
  const add = makeAddTeamMember(fixture)
  const remove = makeRemoveTeamMember(fixture)
  unwrap(await add(callBy(ada), { teamId: editors.id, user: { name: 'BOB' }, whenMember: 'done' }))
  unwrap(await add(callBy(ada), { teamId: editors.id, user: { name: 'bob' }, whenMember: 'done' }))
  t.is(
    tagOf(await add(callBy(ada), { teamId: editors.id, user: { name: 'bob' }, whenMember: 'refused' })),
    'AlreadyTeamMember',
  )
  unwrap(await add(callBy(ada), { teamId: viewers.id, user: { id: bob }, whenMember: 'done' }))
  unwrap(
    await add(callBy(ada), {
      teamId: (await fixture.team(other, 'Viewers')).id,
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
  await fixture.database.query((k) => k('object_grants').insert({ ...grant, org_id: id }))
  await fixture.database.query((k) => k('object_grants').insert({ ...grant, object_id: 2, org_id: other }))
  t.deepEqual(await fixture.memberships.rights(id, bob), { isMember: true, level: 'write', permissions: new Set() })
  unwrap(await remove(callBy(bob), { teamId: editors.id, user: { name: 'bob' } }))
  t.is((await fixture.memberships.rights(id, bob)).level, 'read')
  unwrap(await remove(callBy(ada), { teamId: viewers.id, user: { name: 'bob' } }))
  t.is(await fixture.memberships.find(id, bob), undefined)
  t.not(await fixture.memberships.find(other, bob), undefined, 'the other membership stays')
  const grants = await fixture.database.query<{ org_id: number }>((k) => k('object_grants').select('org_id'))
  t.deepEqual(
    grants.map((row) => Number(row.org_id)),
    [other],
  )
  const again = { teamId: viewers.id, user: { name: 'bob' } }
  t.is(tagOf(await remove(callBy(ada), again)), 'MemberMissing')
  t.is(tagOf(await remove(callBy(ada), { ...again, whenAbsent: 'done' })), 'done')
  t.is(tagOf(await remove(callBy(ada), { ...again, user: { name: 'nobody' }, whenAbsent: 'done' })), 'MemberMissing')
})

onEachDatabase('organizations, ghosts and the switched off become no members', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const id = await fixture.organization('acme', ada)
  const viewers = await fixture.team(id, 'Viewers')
  const add = makeAddTeamMember(fixture)
  t.is(
    tagOf(await add(callBy(ada), { teamId: viewers.id, user: { name: 'acme' }, whenMember: 'done' })),
    'AccountNotEligible',
  )
  t.is(
    tagOf(await add(callBy(ada), { teamId: viewers.id, user: { name: 'nobody' }, whenMember: 'done' })),
    'MemberMissing',
  )
  await fixture.database.query((k) => k('users').where('id', bob).update({ is_active: 0 }))
  t.is(
    tagOf(await add(callBy(ada), { teamId: viewers.id, user: { name: 'bob' }, whenMember: 'done' })),
    'AccountNotEligible',
  )
  t.is(
    tagOf(await makeSetMembership(fixture)(callBy(ada), { orgId: id, login: 'bob', role: 'member' })),
    'AccountNotEligible',
  )
})

onEachDatabase('the last owner stays, by every way out', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const id = await fixture.organization('acme', ada)
  const owners = await fixture.team(id, 'Owners')
  const [leave, removeMember, set] = [
    makeRemoveTeamMember(fixture),
    makeRemoveMember(fixture),
    makeSetMembership(fixture),
  ]
  t.is(tagOf(await leave(callBy(ada), { teamId: owners.id, user: { name: 'ada' } })), 'LastOwner')
  t.is(tagOf(await removeMember(callBy(ada), { orgId: id, member: { name: 'ada' } })), 'LastOwner')
  t.is(tagOf(await set(callBy(ada), { orgId: id, login: 'ada', role: 'member' })), 'LastOwner')
  t.is((await fixture.memberships.rights(id, ada)).level, 'owner', 'a refused change leaves nothing behind')
  t.is((await fixture.teams.listOfMember(id, ada)).length, 1)
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'owner' }))
  unwrap(await removeMember(callBy(bob), { orgId: id, member: { name: 'ada' } }))
  t.is(await fixture.memberships.find(id, ada), undefined)
  t.is(tagOf(await removeMember(callBy(bob), { orgId: id, member: { name: 'bob' } })), 'LastOwner')
})

onEachDatabase('a role settles the teams: into one of its level, out of those above', async (t, fixture) => {
  const [ada, bob] = [await fixture.user('ada'), await fixture.user('bob')]
  const id = await fixture.organization('acme', ada)
  const set = makeSetMembership(fixture)
  const namesOfBob = async () => (await fixture.teams.listOfMember(id, bob)).map(({ name }) => name)
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'member' }))
  t.deepEqual(await namesOfBob(), ['Viewers'])
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'admin' }))
  t.deepEqual(await namesOfBob(), ['Viewers', 'Admins'], 'a team of level admin is made where there is none')
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'owner' }))
  t.deepEqual(await namesOfBob(), ['Owners', 'Viewers', 'Admins'])
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'member' }))
  t.deepEqual(await namesOfBob(), ['Viewers'])
  const recorded = fixture.entries.length
  unwrap(await set(callBy(ada), { orgId: id, login: 'bob', role: 'member' }))
  t.is(fixture.entries.length, recorded, 'no change, no audit row')
})

onEachDatabase('deleting a team ends the memberships that hung on it alone', async (t, fixture) => {
  const [ada, bob, cleo] = [await fixture.user('ada'), await fixture.user('bob'), await fixture.user('cleo')]
  const id = await fixture.organization('acme', ada)
  const other = await fixture.organization('other', ada)
  const ops = await fixture.newTeam(id, 'Ops', 'write', [bob, cleo])
  await fixture.newTeam(id, 'More', 'read', [cleo])
  await fixture.newTeam(other, 'Ops', 'write', [bob])
  unwrap(await makeDeleteTeam(fixture)(callBy(ada), ops.id))
  t.is(await fixture.memberships.find(id, bob), undefined)
  t.not(await fixture.memberships.find(id, cleo), undefined)
  t.not(await fixture.memberships.find(other, bob), undefined)
  t.deepEqual(fixture.entries.at(-1)?.changes, { membersWhoLeft: 1 })
})

onEachDatabase("a membership's visibility is the member's own choice, and the owners'", async (t, fixture) => {
  const [ada, bob, cleo] = [await fixture.user('ada'), await fixture.user('bob'), await fixture.user('cleo')]
  const id = await fixture.organization('acme', ada)
  await fixture.newTeam(id, 'Ops', 'admin', [bob, cleo])
  const set = makeSetMemberVisibility(fixture)
  t.is(tagOf(await set(callBy(bob), { orgId: id, member: { name: 'cleo' }, isPublic: true })), 'BeyondOwnRights')
  unwrap(await set(callBy(bob), { orgId: id, member: { name: 'bob' }, isPublic: true }))
  t.deepEqual((await fixture.memberships.list(id, 'public', firstPage)).items, [bob])
  unwrap(await set(callBy(ada), { orgId: id, member: { name: 'bob' }, isPublic: false }))
  t.is((await fixture.memberships.list(id, 'public', firstPage)).total, 0)
  t.is(tagOf(await set(callBy(ada), { orgId: id, member: { name: 'nobody' }, isPublic: true })), 'MemberMissing')
})
