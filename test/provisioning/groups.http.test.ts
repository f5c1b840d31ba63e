import test from 'ava'
import type { DirectoryFixture } from './directory-fixture.ts'
import { entraUser, groupOf, patch, startDirectoryFixture } from './directory-fixture.ts'

let fixture: DirectoryFixture
test.before(async () => {
  fixture = await startDirectoryFixture()
})
test.after.always(() => fixture?.stop())

const acme = (method: string, path: string, body?: unknown) => fixture.scim('acme', method, path, body)
const madeUser = async (name: string): Promise<string> =>
  ((await acme('POST', '/Users', entraUser(`${name}@example.org`))).json as { id: string }).id
const membersOf = async (id: string): Promise<readonly string[]> =>
  (((await acme('GET', `/Groups/${id}`)).json as { members?: { value: string }[] }).members ?? []).map(
    ({ value }) => value,
  )
const teamMembers = async (id: string): Promise<readonly string[]> =>
  ((await fixture.as('ada', 'GET', `/teams/${id}/members`)).json as { login: string }[]).map(({ login }) => login)

test.serial('a group is a team without rights, whose members the directory changes', async (t) => {
  const [ann, ben] = [await madeUser('ann'), await madeUser('ben')]
  const created = await acme('POST', '/Groups', groupOf('Platform Admins', [ann]))
  t.is(created.status, 201, created.text)
  const { id } = created.json as { id: string }
  t.like(created.json, { displayName: 'Platform Admins' })
  t.like((await fixture.as('ada', 'GET', `/teams/${id}`)).json, {
    name: 'Platform-Admins',
    permission: 'read',
    is_custom: true,
  })
  t.deepEqual(await teamMembers(id), ['ann'])
  t.like((await acme('POST', '/Groups', groupOf('platform admins'))).json, { status: '409', scimType: 'uniqueness' })

  const probe = await acme(
    'GET',
    '/Groups?excludedAttributes=members&filter=displayName%20eq%20%22Platform%20Admins%22',
  )
  t.like(probe.json, { totalResults: 1, Resources: [{ id }] })
  t.false('members' in (probe.json as { Resources: object[] }).Resources[0]!)

  t.is(
    (await acme('PATCH', `/Groups/${id}`, patch({ op: 'Add', path: 'members', value: [{ value: ben }] }))).status,
    200,
  )
  t.deepEqual(await membersOf(id), [ann, ben])
  const removal = { op: 'Remove', path: 'members', value: [{ value: ann }] }
  t.is((await acme('PATCH', `/Groups/${id}`, patch(removal))).status, 200)
  t.is((await acme('PATCH', `/Groups/${id}`, patch(removal))).status, 200, 'who is not in it need not be removed')
  t.deepEqual(await membersOf(id), [ben])
  t.is((await fixture.as('ada', 'GET', '/orgs/acme/members/ann')).status, 204, 'a user in no team stays a member')
  const byPath = patch(
    { op: 'remove', path: `members[value eq "${ben}"]` },
    { op: 'replace', value: { displayName: 'Admins 2' } },
  )
  t.is((await acme('PATCH', `/Groups/${id}`, byPath)).status, 200)
  t.deepEqual(await membersOf(id), [])
  t.like((await fixture.as('ada', 'GET', `/teams/${id}`)).json, { name: 'Admins-2' })

  const unknown = { op: 'add', path: 'members', value: [{ value: '999999' }, { value: 'no-id' }] }
  t.is((await acme('PATCH', `/Groups/${id}`, patch(unknown))).status, 200)
  t.deepEqual(await membersOf(id), [], 'a member that the directory has not made is left out')
  const replaced = await acme('PUT', `/Groups/${id}`, groupOf('Admins 2', [ann, ben]))
  t.is(replaced.status, 200, replaced.text)
  t.deepEqual(await membersOf(id), [ann, ben])
  t.like((await acme('GET', `/Groups?filter=${encodeURIComponent(`members.value eq "${ann}"`)}`)).json, {
    totalResults: 1,
  })
  t.like((await acme('GET', `/Groups?filter=${encodeURIComponent(`id eq "${id}" and members eq "${ann}"`)}`)).json, {
    totalResults: 1,
  })
  t.is((await acme('PATCH', `/Groups/${id}`, patch({ op: 'remove', path: 'members' }))).status, 200)
  t.deepEqual(await membersOf(id), [])

  t.is((await fixture.scim('evil', 'GET', `/Groups/${id}`)).status, 404)
  t.is((await fixture.scim('evil', 'PATCH', `/Groups/${id}`, patch({ op: 'remove', path: 'members' }))).status, 404)
  t.is((await acme('DELETE', `/Groups/${id}`)).status, 204)
  t.is((await fixture.as('ada', 'GET', `/teams/${id}`)).status, 404)
  t.is((await fixture.as('ada', 'GET', '/orgs/acme/members/ann')).status, 204)
})

test.serial('a provisioned user stays a member when an owner takes the last team away', async (t) => {
  const id = await madeUser('mover')
  const viewers = await fixture.teamId('Viewers')
  t.is((await fixture.as('ada', 'PUT', `/teams/${viewers}/members/mover`)).status, 204)
  t.is((await fixture.as('ada', 'DELETE', `/teams/${viewers}/members/mover`)).status, 204)
  t.is((await fixture.as('ada', 'GET', '/orgs/acme/members/mover')).status, 204)
  t.is((await fixture.as('ada', 'DELETE', '/orgs/acme/members/mover')).status, 204)
  t.like((await acme('GET', `/Users/${id}`)).json, { active: false }, 'a removal by hand counts')
  t.is((await acme('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: false }))).status, 200)
  t.like((await fixture.as('admin', 'GET', '/users/mover')).json, { active: false }, 'the account is disabled, too')
  t.is((await acme('PATCH', `/Users/${id}`, patch({ op: 'replace', path: 'active', value: true }))).status, 200)
  t.is((await fixture.as('ada', 'GET', '/orgs/acme/members/mover')).status, 204)
})

test.serial('a PATCH of a group with many members answers without a body', async (t) => {
  const names = Array.from({ length: 101 }, (_, index) => `many${index}`)
  const ids = await Promise.all(names.map(madeUser))
  const created = await acme('POST', '/Groups', groupOf('Many', ids))
  const { id } = created.json as { id: string }
  const change = (verb: string) =>
    acme('PATCH', `/Groups/${id}`, patch({ op: verb, path: 'members', value: [{ value: ids[0] }] }))
  t.is((await change('remove')).status, 200)
  const changed = await change('add')
  t.deepEqual([changed.status, changed.text], [204, ''])
  t.is((await membersOf(id)).length, 101)
})

test.serial('teams that people made are no groups of the directory', async (t) => {
  const owners = await fixture.teamId('Owners')
  const ann = await madeUser('outsider')
  t.is((await acme('GET', `/Groups/${owners}`)).status, 404)
  t.is(
    (await acme('PATCH', `/Groups/${owners}`, patch({ op: 'add', path: 'members', value: [{ value: ann }] }))).status,
    404,
  )
  const { id } = (await acme('POST', '/Groups', groupOf('Owners'))).json as { id: string }
  t.like((await fixture.as('ada', 'GET', `/teams/${id}`)).json, {
    name: 'Owners-2',
    permission: 'read',
    is_custom: true,
  })
})

test.serial('people of other organizations are not put into a group', async (t) => {
  const { id: foreign } = (await fixture.scim('evil', 'POST', '/Users', entraUser('foreign@example.net'))).json as {
    id: string
  }
  const created = await acme('POST', '/Groups', groupOf('Mixed', [foreign]))
  t.is(created.status, 201, created.text)
  const { id } = created.json as { id: string }
  t.deepEqual([await membersOf(id), await teamMembers(id)], [[], []])
  t.is(
    (await acme('PATCH', `/Groups/${id}`, patch({ op: 'add', path: 'members', value: [{ value: foreign }] }))).status,
    200,
  )
  t.deepEqual([await membersOf(id), await teamMembers(id)], [[], []])
})
