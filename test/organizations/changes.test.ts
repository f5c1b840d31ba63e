import { makeAddTeamMember, makeRemoveTeamMember } from '../../core/organizations/teams/team-members.ts'
import {
  makeCreateOrganization,
  makeDeleteOrganization,
  makeEditOrganization,
  makeRenameOrganization,
} from '../../core/organizations/organizations/organizations.ts'
import { makeCreateTeam, makeDeleteTeam, makeEditTeam } from '../../core/organizations/teams/teams.ts'
import { makeRemoveMember, makeSetMemberVisibility } from '../../core/organizations/members/members.ts'
import { makeSetMembership } from '../../core/organizations/members/memberships.ts'
import { tagOf, unwrap } from '../support/outcome.ts'
import { callBy, firstPage, onEachDatabase } from './bench.ts'

const blankTeam = { description: '', permission: undefined, type: undefined, roleIds: [] }

onEachDatabase('a new organization has three teams, its maker alone owns it, and one audit row says so', async (t, bench) => {
  const ada = await bench.user('ada')
  const made = unwrap(await makeCreateOrganization(bench)(callBy(ada), { name: 'Acme', visibility: 'private' }))
  const teams = (await bench.teams.list(made.id, firstPage)).items.map(({ team }) => team)
  t.deepEqual(teams.map(({ name, permission, type }) => [name, permission, type]), [
    ['Owners', 'owner', 'kubernetes'],
    ['Editors', 'write', 'kubernetes'],
    ['Viewers', 'read', 'kubernetes'],
  ])
  const members = await Promise.all(teams.map(async ({ id }) => (await bench.teams.listMembers(id, firstPage)).items))
  t.deepEqual(members, [[ada], [], []])
  t.deepEqual(await bench.memberships.find(made.id, ada), { userId: ada, isPublic: false })
  t.deepEqual(bench.entries.map(({ action, tenantId }) => [action, tenantId]), [['organization.created', made.id]])
})

onEachDatabase('a name is taken by users and organizations alike, in any case, and nothing is left behind', async (t, bench) => {
  const ada = await bench.user('ada')
  await bench.organization('Acme', ada)
  const create = makeCreateOrganization(bench)
  for (const name of ['acme', 'ACME', 'Ada', 'ada']) t.is(tagOf(await create(callBy(ada), { name })), 'OrganizationNameTaken', name)
  for (const name of ['api', 'a..b', '', 'x'.repeat(41)]) t.is(tagOf(await create(callBy(ada), { name })), 'OrganizationNameRefused', name)
  t.is(tagOf(await create(callBy(ada), { name: 'fine', orgType: 'client' })), 'OrganizationFieldRefused')
  t.is((await bench.organizations.listOfUser(ada, firstPage)).total, 1)
})

onEachDatabase('who may not create organizations is refused, a site admin never', async (t, bench) => {
  const ada = await bench.user('ada')
  await bench.database.query((k) => k('users').where('id', ada).update({ allow_create_organization: 0 }))
  const create = makeCreateOrganization(bench)
  t.is(tagOf(await create(callBy(ada), { name: 'acme' })), 'OrganizationCreationDenied')
  t.is(tagOf(await create(callBy(ada, { isSiteAdmin: true }), { name: 'acme' })), 'done')
})

onEachDatabase('an edit is a merge: what is absent stays, empty text clears, an empty visibility changes nothing', async (t, bench) => {
  const ada = await bench.user('ada')
  const id = await bench.organization('acme', ada)
  const other = await bench.organization('other', ada)
  const edit = makeEditOrganization(bench)
  const full = { fullName: 'Acme Ltd', email: 'a@b.example', description: 'd', website: 'https://a.example', location: 'X' }
  unwrap(await edit(callBy(ada), id, { ...full, visibility: 'private' }, undefined))
  const changed = unwrap(await edit(callBy(ada), id, { website: '', visibility: '' }, undefined))
  t.like(changed, { ...full, website: '', visibility: 'private', version: 3 })
  t.is((await bench.organizations.findById(other))?.fullName, '', 'the other organization keeps its profile')
  t.is(tagOf(await edit(callBy(ada), id, { website: 'javascript:alert(1)' }, undefined)), 'OrganizationFieldRefused')
  t.is(tagOf(await edit(callBy(ada), id, { location: 'Y' }, 1)), 'OrganizationChanged')
  t.is(tagOf(await edit(callBy(ada), id, { location: 'Y' }, 3)), 'done')
})

onEachDatabase('an old name leads to the organization until it is used again', async (t, bench) => {
  const ada = await bench.user('ada')
  const id = await bench.organization('acme', ada)
  const rename = makeRenameOrganization(bench)
  unwrap(await rename(callBy(ada), id, 'Beta'))
  t.is((await bench.organizations.findByFormerName('ACME'))?.id, id)
  t.is((await bench.organizations.findByName('beta'))?.name, 'Beta')
  unwrap(await rename(callBy(ada), id, 'BETA'))
  t.is(await bench.organizations.findByFormerName('beta'), undefined, 'a change of case leaves no redirect')
  unwrap(await rename(callBy(ada), id, 'acme'))
  t.is(await bench.organizations.findByFormerName('acme'), undefined, 'the name is its own again')
  t.is((await bench.organizations.findByFormerName('beta'))?.id, id)
  const newcomer = await bench.organization('beta', ada)
  t.is(await bench.organizations.findByFormerName('beta'), undefined)
  t.is(tagOf(await rename(callBy(ada), id, 'beta')), 'OrganizationNameTaken')
  t.is(tagOf(await rename(callBy(ada), id, 'teams')), 'OrganizationNameRefused')
  t.is((await bench.organizations.findById(newcomer))?.name, 'beta')
})

onEachDatabase('an organization goes only when nothing belongs to it, and takes its rows along', async (t, bench) => {
  const ada = await bench.user('ada')
  const id = await bench.organization('acme', ada)
  const other = await bench.organization('other', ada)
  const cluster = { provider: 'Generic', uid: 'u', endpoint: 'e', phase: 'Active', ref: 'r', display_name: 'c', created_at: 1 }
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
  const asked = (changes: object) => create(callBy(ada), id, { ...blankTeam, name: 'Ops', ...changes })
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
  t.is(unwrap(await create(callBy(ada), other, { ...blankTeam, name: 'Ops' })).team.orgId, other, 'names are per organization')
})

onEachDatabase('the team Owners keeps its name, its level and itself', async (t, bench) => {
  const ada = await bench.user('ada')
  const id = await bench.organization('acme', ada)
  const owners = await bench.team(id, 'Owners')
  const edit = makeEditTeam(bench)
  t.is(tagOf(await edit(callBy(ada), owners.id, { name: 'Bosses' }, undefined)), 'OwnersTeamFixed')
  t.is(tagOf(await edit(callBy(ada), owners.id, { permission: 'admin' }, undefined)), 'OwnersTeamFixed')
  t.is(tagOf(await makeDeleteTeam(bench)(callBy(ada), owners.id)), 'OwnersTeamFixed')
  const same = await edit(callBy(ada), owners.id, { name: 'Owners', permission: 'owner', description: 'x' }, undefined)
  t.like(unwrap(same).team, { name: 'Owners', permission: 'owner', description: 'x' })
  const editors = await bench.team(id, 'Editors')
  t.is(tagOf(await edit(callBy(ada), editors.id, { permission: 'owner' }, undefined)), 'TeamLevelRefused')
  t.is(tagOf(await edit(callBy(ada), editors.id, { name: 'viewers' }, undefined)), 'TeamNameTaken')
  t.is(tagOf(await edit(callBy(ada), editors.id, { description: 'y' }, 7)), 'TeamChanged')
})

onEachDatabase('a caller gives only rights that the caller has', async (t, bench) => {
  const [ada, adam, cleo, dan] = await Promise.all(['ada', 'adam', 'cleo', 'dan'].map((name) => bench.user(name))) as [never, never, never, never]
  const id = await bench.organization('acme', ada)
  const admins = await bench.newTeam(id, 'Admins', 'admin', [adam])
  const helpers = await bench.newTeam(id, 'Helpers', 'custom', [cleo])
  const manage = ['org_mgmt/view teams', 'org_mgmt/add team members', 'org_mgmt/create teams', 'org_mgmt/edit teams', 'org_mgmt/remove team members']
  const helping = await bench.role(id, 'helping', manage, [helpers.id])
  const deleting = await bench.role(id, 'deleting', ['org_mgmt/delete'])
  const owners = await bench.team(id, 'Owners')
  const editors = await bench.team(id, 'Editors')
  const [create, edit, add, remove] = [makeCreateTeam(bench), makeEditTeam(bench), makeAddTeamMember(bench), makeRemoveTeamMember(bench)]
  const byAdmin = callBy(adam)
  const byHelper = callBy(cleo)

  t.is(tagOf(await add(byAdmin, owners.id, { name: 'dan' }, 'done')), 'BeyondOwnRights', 'an admin makes no owner')
  t.is(tagOf(await edit(byAdmin, owners.id, { description: 'mine' }, undefined)), 'BeyondOwnRights')
  t.is(tagOf(await edit(byAdmin, admins.id, { description: 'mine' }, undefined)), 'BeyondOwnRights', "a team of one's own level")
  t.is(tagOf(await edit(byAdmin, editors.id, { roleIds: [deleting] }, undefined)), 'BeyondOwnRights', 'an owner permission')
  t.is(tagOf(await create(byAdmin, id, { ...blankTeam, name: 'T', roleIds: [deleting] })), 'BeyondOwnRights')
  t.is(tagOf(await edit(byAdmin, editors.id, { roleIds: [helping] }, undefined)), 'done', 'an admin holds what helpers hold')
  t.is(tagOf(await remove(byAdmin, owners.id, { name: 'ada' })), 'BeyondOwnRights')

  t.is(tagOf(await create(byHelper, id, { ...blankTeam, name: 'T', permission: 'read' })), 'BeyondOwnRights')
  t.is(tagOf(await create(byHelper, id, { ...blankTeam, name: 'T', roleIds: [deleting] })), 'BeyondOwnRights')
  t.is(tagOf(await create(byHelper, id, { ...blankTeam, name: 'T', roleIds: [helping] })), 'done')
  t.is(tagOf(await add(byHelper, editors.id, { name: 'dan' }, 'done')), 'BeyondOwnRights')
  t.is(tagOf(await edit(byHelper, helpers.id, { permission: 'admin' }, undefined)), 'BeyondOwnRights')
  t.is(tagOf(await add(byHelper, helpers.id, { name: 'dan' }, 'done')), 'done')
  t.is(tagOf(await add(callBy(dan), editors.id, { name: 'dan' }, 'done')), 'BeyondOwnRights')
  await bench.database.query((k) => k('users').where('id', dan).update({ is_admin: 1 }))
  t.is(tagOf(await add(callBy(dan, { isSiteAdmin: true }), owners.id, { name: 'dan' }, 'done')), 'done')
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
  t.is(tagOf(await remove(callBy(adam), id, { name: 'ada' })), 'BeyondOwnRights')
  t.is(tagOf(await remove(callBy(adam), id, { name: 'bea' })), 'BeyondOwnRights')
  t.is(tagOf(await remove(callBy(bea), id, { name: 'cleo' })), 'BeyondOwnRights', 'an admin alone does not remove members')
  t.is(tagOf(await remove(callBy(adam), id, { name: 'cleo' })), 'done')
  t.is(tagOf(await remove(callBy(dan), id, { name: 'dan' })), 'done')
  t.deepEqual((await bench.memberships.list(id, 'all', firstPage)).items, [ada, adam, bea])
})

onEachDatabase('rights in one organization are none in another', async (t, bench) => {
  const [ada, eve] = [await bench.user('ada'), await bench.user('eve')]
  const id = await bench.organization('acme', ada)
  await bench.organization('evil', eve)
  const editors = await bench.team(id, 'Editors')
  const byEve = callBy(eve)
  t.is(tagOf(await makeCreateTeam(bench)(byEve, id, { ...blankTeam, name: 'T' })), 'BeyondOwnRights')
  t.is(tagOf(await makeEditTeam(bench)(byEve, editors.id, { name: 'x' }, undefined)), 'BeyondOwnRights')
  t.is(tagOf(await makeDeleteTeam(bench)(byEve, editors.id)), 'BeyondOwnRights')
  t.is(tagOf(await makeAddTeamMember(bench)(byEve, editors.id, { name: 'eve' }, 'done')), 'BeyondOwnRights')
  t.is(tagOf(await makeRemoveMember(bench)(byEve, id, { name: 'ada' })), 'BeyondOwnRights')
  t.is(tagOf(await makeSetMembership(bench)(byEve, id, 'eve', 'member')), 'BeyondOwnRights')
  t.is(tagOf(await makeSetMemberVisibility(bench)(byEve, id, { name: 'ada' }, true)), 'BeyondOwnRights')
})

onEachDatabase('joining a team makes a member, leaving the last one ends it, and the grants go', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  const id = await bench.organization('acme', ada)
  const other = await bench.organization('other', ada)
  const [editors, viewers] = [await bench.team(id, 'Editors'), await bench.team(id, 'Viewers')]
  const add = makeAddTeamMember(bench)
  const remove = makeRemoveTeamMember(bench)
  unwrap(await add(callBy(ada), editors.id, { name: 'BOB' }, 'done'))
  unwrap(await add(callBy(ada), editors.id, { name: 'bob' }, 'done'))
  t.is(tagOf(await add(callBy(ada), editors.id, { name: 'bob' }, 'refused')), 'AlreadyTeamMember')
  unwrap(await add(callBy(ada), viewers.id, { id: bob }, 'done'))
  unwrap(await add(callBy(ada), (await bench.team(other, 'Viewers')).id, { name: 'bob' }, 'done'))
  const grant = { object_type: 'cluster', object_id: 1, relation: 'viewer', subject_type: 'user', subject_id: bob, created_at: 1 }
  await bench.database.query((k) => k('object_grants').insert({ ...grant, org_id: id }))
  await bench.database.query((k) => k('object_grants').insert({ ...grant, object_id: 2, org_id: other }))
  t.deepEqual(await bench.memberships.rights(id, bob), { isMember: true, level: 'write', permissions: new Set() })
  unwrap(await remove(callBy(bob), editors.id, { name: 'bob' }))
  t.is((await bench.memberships.rights(id, bob)).level, 'read')
  unwrap(await remove(callBy(ada), viewers.id, { name: 'bob' }))
  t.is(await bench.memberships.find(id, bob), undefined)
  t.not(await bench.memberships.find(other, bob), undefined, 'the other membership stays')
  const grants = await bench.database.query<{ org_id: number }>((k) => k('object_grants').select('org_id'))
  t.deepEqual(grants.map((row) => Number(row.org_id)), [other])
  t.is(tagOf(await remove(callBy(ada), viewers.id, { name: 'bob' })), 'MemberMissing')
})

onEachDatabase('organizations, ghosts and the switched off become no members', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  const id = await bench.organization('acme', ada)
  const viewers = await bench.team(id, 'Viewers')
  const add = makeAddTeamMember(bench)
  t.is(tagOf(await add(callBy(ada), viewers.id, { name: 'acme' }, 'done')), 'AccountNotEligible')
  t.is(tagOf(await add(callBy(ada), viewers.id, { name: 'nobody' }, 'done')), 'MemberMissing')
  await bench.database.query((k) => k('users').where('id', bob).update({ is_active: 0 }))
  t.is(tagOf(await add(callBy(ada), viewers.id, { name: 'bob' }, 'done')), 'AccountNotEligible')
  t.is(tagOf(await makeSetMembership(bench)(callBy(ada), id, 'bob', 'member')), 'AccountNotEligible')
})

onEachDatabase('the last owner stays, by every way out', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  const id = await bench.organization('acme', ada)
  const owners = await bench.team(id, 'Owners')
  const [leave, removeMember, set] = [makeRemoveTeamMember(bench), makeRemoveMember(bench), makeSetMembership(bench)]
  t.is(tagOf(await leave(callBy(ada), owners.id, { name: 'ada' })), 'LastOwner')
  t.is(tagOf(await removeMember(callBy(ada), id, { name: 'ada' })), 'LastOwner')
  t.is(tagOf(await set(callBy(ada), id, 'ada', 'member')), 'LastOwner')
  t.is((await bench.memberships.rights(id, ada)).level, 'owner', 'a refused change leaves nothing behind')
  t.is((await bench.teams.listOfMember(id, ada)).length, 1)
  unwrap(await set(callBy(ada), id, 'bob', 'owner'))
  unwrap(await removeMember(callBy(bob), id, { name: 'ada' }))
  t.is(await bench.memberships.find(id, ada), undefined)
  t.is(tagOf(await removeMember(callBy(bob), id, { name: 'bob' })), 'LastOwner')
})

onEachDatabase('a role settles the teams: into one of its level, out of those above', async (t, bench) => {
  const [ada, bob] = [await bench.user('ada'), await bench.user('bob')]
  const id = await bench.organization('acme', ada)
  const set = makeSetMembership(bench)
  const namesOfBob = async () => (await bench.teams.listOfMember(id, bob)).map(({ name }) => name)
  unwrap(await set(callBy(ada), id, 'bob', 'member'))
  t.deepEqual(await namesOfBob(), ['Viewers'])
  unwrap(await set(callBy(ada), id, 'bob', 'admin'))
  t.deepEqual(await namesOfBob(), ['Viewers', 'Admins'], 'a team of level admin is made where there is none')
  unwrap(await set(callBy(ada), id, 'bob', 'owner'))
  t.deepEqual(await namesOfBob(), ['Owners', 'Viewers', 'Admins'])
  unwrap(await set(callBy(ada), id, 'bob', 'member'))
  t.deepEqual(await namesOfBob(), ['Viewers'])
  const recorded = bench.entries.length
  unwrap(await set(callBy(ada), id, 'bob', 'member'))
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
  t.is(tagOf(await set(callBy(bob), id, { name: 'cleo' }, true)), 'BeyondOwnRights')
  unwrap(await set(callBy(bob), id, { name: 'bob' }, true))
  t.deepEqual((await bench.memberships.list(id, 'public', firstPage)).items, [bob])
  unwrap(await set(callBy(ada), id, { name: 'bob' }, false))
  t.is((await bench.memberships.list(id, 'public', firstPage)).total, 0)
  t.is(tagOf(await set(callBy(ada), id, { name: 'nobody' }, true)), 'MemberMissing')
})
