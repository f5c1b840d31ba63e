import test from 'ava'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

/** What client libraries of the family send with each change, and what they read. */
let service: TestService
test.before(async () => {
  service = await startService({
    settings: { MOORAGE_NEW_USER_EMAIL: 'shown', MOORAGE_NEW_USER_LANGUAGE: 'none', MOORAGE_PASSWORD_LIST: 'off' },
  })
  for (const login of ['ada', 'bob', 'eve', 'zoe']) await makeUser(login)
})
test.after.always(() => service?.stop())

const password = 'a long passphrase'
const send = (...args: Parameters<TestService['send']>) => service.send(args[0], `/api/v1${args[1]}`, args[2])
const makeUser = (username: string, extra: object = {}) =>
  send('POST', '/admin/users', {
    token: service.adminToken,
    body: { username, email: `${username}@example.org`, password, ...extra },
  })
const edit = (login: string, body: object) =>
  send('PATCH', `/admin/users/${login}`, { token: service.adminToken, body })

test('an empty password, address, visibility or null of a change is unchanged', async (t) => {
  const session = await send('POST', '/user/signin', { body: { username: 'ada', password } })
  const cookie = [session.headers['set-cookie'] ?? []]
    .flat()
    .map((each) => each.split(';')[0])
    .join('; ')
  const sent = {
    source_id: 0,
    login_name: '',
    email: null,
    full_name: 'Ada King',
    password: '',
    description: null,
    must_change_password: null,
    visibility: '',
    restricted: null,
    max_repo_creation: null,
  }
  const edited = await edit('ada', sent)
  t.like(edited, { status: 200, json: { full_name: 'Ada King', email: 'ada@example.org', visibility: 'public' } })
  t.is(edited.headers['x-ignored-fields'], 'source_id, login_name, max_repo_creation')
  t.like(await edit('ada', { email: '', password: '', full_name: 'Ada' }), {
    status: 200,
    json: { full_name: 'Ada', email: 'ada@example.org' },
  })
  t.is((await edit('ada', { password: '', admin: true })).json.is_admin, true)
  t.is((await edit('ada', { password: '', admin: false })).json.is_admin, false)
  t.is((await send('GET', '/user', { basic: ['ada', password] })).status, 200)
  t.is((await send('GET', '/user', { headers: { cookie } })).status, 200, 'no session ends')
  t.is((await edit('ada', { password: 'short' })).status, 400)
  t.is(
    (await makeUser('new', { login_name: '', full_name: '', visibility: '', must_change_password: null })).json
      .visibility,
    'public',
  )
})

test('an empty address of an organization and an empty name of a team are unchanged', async (t) => {
  const token = await service.tokenFor('zoe')
  t.is(
    (
      await send('POST', '/orgs', {
        token,
        body: { username: 'yachts', email: 'office@example.org', location: 'Kiel' },
      })
    ).status,
    201,
  )
  const sent = {
    full_name: 'Yachts',
    email: '',
    description: '',
    website: '',
    location: '',
    visibility: '',
    repo_admin_change_team_access: null,
  }
  const edited = await send('PATCH', '/orgs/yachts', { token, body: sent })
  t.like(edited, {
    status: 200,
    json: { full_name: 'Yachts', email: 'office@example.org', location: '', visibility: 'public' },
  })
  const made = await send('POST', '/orgs/yachts/teams', {
    token,
    body: { name: 'crew', permission: 'write', units: null, units_map: null },
  })
  const change = {
    name: '',
    description: null,
    permission: '',
    can_create_org_repo: null,
    units: null,
    units_map: null,
  }
  t.like(await send('PATCH', `/teams/${made.json.id}`, { token, body: change }), {
    status: 200,
    json: { name: 'crew', permission: 'write' },
  })
  const own = await send('POST', '/users/zoe/tokens', {
    basic: ['zoe', password],
    body: { name: 'plain', scopes: null },
  })
  t.deepEqual([own.status, own.json.scopes], [201, ['all']])
})

test('a prohibited user is 403 with the right password and 401 with a wrong one', async (t) => {
  for (const change of [{ prohibit_login: true }, { prohibit_login: false, active: false }]) {
    t.is((await edit('eve', change)).status, 200)
    const right = await send('GET', '/user', { basic: ['eve', password] })
    t.deepEqual([right.status, right.json.code], [403, 'NotPermitted'])
    t.is((await send('GET', '/user', { basic: ['eve', 'wrong'] })).status, 401)
    t.is((await send('GET', '/users/eve/tokens', { basic: ['eve', password] })).status, 403)
  }
})

test('a new user gets the default language and hidden address of the settings', async (t) => {
  const made = await makeUser('common', { password: 'qwerty123456' })
  t.deepEqual([made.status, made.json.language], [201, ''])
  t.is((await send('GET', '/users/common', { token: await service.tokenFor('bob') })).json.email, 'common@example.org')
  t.is((await send('GET', '/user/settings', { token: await service.tokenFor('common') })).json.hide_email, false)
})

test('a token whose name has a slash is deleted by its name', async (t) => {
  const made = await send('POST', '/users/bob/tokens', {
    basic: ['bob', password],
    body: { name: 'a/b %', scopes: ['all'] },
  })
  t.is(made.status, 201)
  t.is((await send('DELETE', '/users/bob/tokens/a%2Fx', { basic: ['bob', password] })).status, 404)
  t.is((await send('DELETE', '/users/bob/tokens/a%2fb%20%25', { basic: ['bob', password] })).status, 204)
  t.is((await send('GET', '/user', { token: made.json.sha1 })).status, 401)
  t.is((await send('GET', '/users/bob%2Fx')).status, 400, 'only there')
})

test('lists of repositories are empty, of objects that the caller may see', async (t) => {
  const [bob, zoe] = [await service.tokenFor('bob'), await service.tokenFor('zoe')]
  t.is((await send('POST', '/orgs', { token: bob, body: { username: 'boats', visibility: 'private' } })).status, 201)
  const team = (await send('GET', '/orgs/boats/teams', { token: bob })).json[0].id as number
  for (const path of ['/user/repos', '/users/ada/repos', '/orgs/boats/repos', `/teams/${team}/repos?page=1&limit=50`]) {
    const { status, text } = await send('GET', path, { token: bob })
    t.deepEqual([status, text], [200, '[]\n'], path)
  }
  for (const path of ['/orgs/boats/repos', `/teams/${team}/repos`, '/users/nobody/repos', '/orgs/nothing/repos'])
    t.is((await send('GET', path, { token: zoe })).status, 404, path)
})

test('a picture in base64 may have line breaks', async (t) => {
  const token = await service.tokenFor('bob')
  const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
  const broken = (picture.match(/.{1,20}/g) ?? []).join('\r\n')
  t.is((await send('POST', '/user/avatar', { token, body: { image: broken } })).status, 204)
  t.is(
    (await send('POST', '/user/avatar', { token, body: { image: `data:image/png;base64,${broken}\n` } })).status,
    204,
  )
  for (const image of ['', '\n', 'ab\u00a0cd', 'abc'])
    t.is((await send('POST', '/user/avatar', { token, body: { image } })).status, 422, image)
})

test('a follower count excludes private users and disabled accounts', async (t) => {
  for (const follower of ['ada', 'bob'])
    t.is((await send('PUT', '/user/following/zoe', { token: await service.tokenFor(follower) })).status, 204)
  await makeUser('hid')
  const hidden = await service.tokenFor('hid')
  t.is((await send('PUT', '/user/following/zoe', { token: hidden })).status, 204)
  const seen = async () => {
    const token = await service.tokenFor('zoe')
    const { json } = await send('GET', '/users/zoe', { token })
    return [json.followers_count, (await send('GET', '/users/zoe/followers', { token })).json.length]
  }
  t.deepEqual(await seen(), [3, 3])
  t.is((await edit('hid', { visibility: 'private' })).status, 200)
  t.deepEqual(await seen(), [2, 2])
  t.is((await edit('hid', { visibility: 'limited' })).status, 200)
  t.deepEqual(await seen(), [3, 3])
  t.is((await edit('hid', { active: false })).status, 200)
  t.deepEqual(await seen(), [2, 2])
})

test('a custom team keeps its type when its known level is sent back', async (t) => {
  const token = await service.tokenFor('bob')
  t.is((await send('POST', '/orgs', { token, body: { username: 'crews' } })).status, 201)
  const role = (
    await send('POST', '/authz/roles?org=crews', {
      token,
      body: { name: 'viewers', permissions: [{ namespace: 'cluster_mgmt', action: 'view clusters' }], teamIDs: [] },
    })
  ).json.id as number
  const made = await send('POST', '/orgs/crews/teams', {
    token,
    body: { name: 'crew', permission: 'custom', assignedRoleIDs: [role] },
  })
  t.like(made, { status: 201, json: { permission: 'read', is_custom: true } })
  const path = `/teams/${made.json.id}`
  const patch = async (body: object) => {
    const { status, json } = await send('PATCH', path, { token, body })
    return [status, json.permission, json.is_custom]
  }
  t.deepEqual(await patch(made.json), [200, 'read', true])
  t.deepEqual(
    await patch({ name: 'crew', permission: 'read', units: ['repo.code'] }),
    [200, 'read', true],
    'a typed client',
  )
  t.deepEqual(await patch({ name: 'crew', permission: '' }), [200, 'read', true])
  t.deepEqual(await patch({ permission: 'write', is_custom: true }), [422, undefined, undefined])
  t.deepEqual(await patch({ permission: 'custom', is_custom: false }), [422, undefined, undefined])
  t.deepEqual(await patch({ is_custom: false }), [200, 'read', false])
  t.deepEqual(await patch({ permission: 'custom' }), [200, 'read', true])
  t.deepEqual(await patch({ permission: 'write' }), [200, 'write', false])
  t.deepEqual(await patch({ is_custom: true }), [200, 'read', true])
  const owners = (await send('GET', '/orgs/crews/teams', { token })).json[0]
  t.is((await send('PATCH', `/teams/${owners.id}`, { token, body: { is_custom: true } })).status, 409)
  t.like((await send('PATCH', `/teams/${owners.id}`, { token, body: owners })).json, {
    permission: 'owner',
    is_custom: false,
  })
  t.like((await send('POST', '/orgs/crews/teams', { token, body: { name: 'other', is_custom: true } })).json, {
    permission: 'read',
    is_custom: true,
  })
  t.like((await send('POST', '/orgs/crews/teams', { token, body: { name: 'plain', permission: '' } })).json, {
    permission: 'read',
    is_custom: false,
  })
})

test('the last owner who can sign in stays', async (t) => {
  for (const login of ['own', 'idle']) await makeUser(login)
  const [token, idle] = [await service.tokenFor('own'), await service.tokenFor('idle')]
  t.is((await send('POST', '/orgs', { token, body: { username: 'pair' } })).status, 201)
  const team = (await send('GET', '/orgs/pair/teams', { token })).json[0].id as number
  t.is((await send('PUT', `/teams/${team}/members/idle`, { token })).status, 204)
  for (const change of [{ prohibit_login: true }, { prohibit_login: false, active: false }]) {
    t.is((await edit('idle', change)).status, 200)
    t.is((await send('DELETE', '/orgs/pair/members/own', { token })).status, 409)
    t.is((await send('DELETE', `/teams/${team}/members/own`, { token })).status, 409)
  }
  t.is((await edit('idle', { active: true })).status, 200)
  t.is((await send('GET', '/user', { token: idle })).status, 200)
  t.is((await send('DELETE', '/orgs/pair/members/own', { token })).status, 204)
})
