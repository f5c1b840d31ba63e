import test from 'ava'
import type { TypeOf } from 'io-ts'
import { adminDeleteUser, adminEditUser } from '../../../plugins/identity/accounts/admin.routes.ts'
import type { EditUserOption } from '../../../plugins/identity/accounts/codecs.ts'
import type { Loose } from '../../../plugins/kit/client.ts'
import { valueOf } from '../../support/client-as.ts'
import { adminPassword } from '../../support/service.ts'
import { cookieValue, makeHttpFixture, newPassword, password } from './http-fixture.ts'

const fixture = makeHttpFixture()
const { clientOfAdmin, makeUser, send, signIn } = fixture
test.before(fixture.start)
test.after.always(fixture.stop)

test('a user is made with a name, an address and a password that are allowed', async (t) => {
  const token = fixture.service.adminToken
  const make = (body: object) =>
    send('POST', '/admin/users', { token, body: { username: 'fresh', email: 'fresh@example.org', password, ...body } })
  for (const [body, status] of [
    [{ password: 'short' }, 400],
    [{ username: 'api' }, 422],
    [{ username: 'ADA' }, 422],
    [{ username: 'a b' }, 422],
    [{ email: 'ADA@example.org' }, 422],
    [{ email: 'x' }, 422],
    [{ visibility: 'secret' }, 422],
    [{ password: 1 }, 422],
  ] as const)
    t.is((await make(body)).status, status, JSON.stringify(body))
  t.is((await make({ source_id: 0, login_name: 'fresh', send_notify: true, must_change_password: false })).status, 201)
})

test('a user is changed key by key, and the last site admin stays one', async (t) => {
  const token = fixture.service.adminToken
  await makeUser('edited')
  const edit = (body: object, name = 'edited') => send('PATCH', `/admin/users/${name}`, { token, body })
  const admin = clientOfAdmin()
  const params = { username: 'edited' }
  const change = (body: Loose<TypeOf<typeof EditUserOption>>) => valueOf(admin.call(adminEditUser, { params, body }))
  t.like(await change({ full_name: 'Edited', location: 'L' }), {
    full_name: 'Edited',
    location: 'L',
    email: 'edited@example.org',
  })
  t.like(await change({ location: '' }), { full_name: 'Edited', location: '' })
  t.is((await edit({ password: 'short' })).status, 400)
  t.is((await edit({ email: 'ada@example.org' })).status, 422)
  t.is((await edit({}, 'nobody')).status, 404)
  t.is((await edit({ admin: false }, 'admin')).status, 409)
})

test('a prohibited user has no working session, token or password', async (t) => {
  const token = fixture.service.adminToken
  await makeUser('shut')
  const edit = (body: object) => send('PATCH', '/admin/users/shut', { token, body })
  const own = await fixture.service.tokenFor('shut')
  const session = { Cookie: `moorage_session=${cookieValue(await signIn('shut'), 'moorage_session')}` }
  t.is((await edit({ prohibit_login: true })).status, 200)
  for (const credential of [{ token: own }, { headers: session }])
    t.is((await send('GET', '/user', credential)).status, 401)
  t.is((await send('GET', '/user', { basic: ['shut', password] })).status, 403)
  const shut = await signIn('shut')
  t.is(shut.status, 405)
  t.truthy(shut.headers['allow'])
  t.is((await signIn('shut', 'wrong')).status, 404)
  t.is((await edit({ prohibit_login: false })).status, 200)
  t.is((await signIn('shut')).status, 200)
})

test('a site admin sets a password that is allowed', async (t) => {
  const token = fixture.service.adminToken
  await makeUser('forgetful')
  t.is(
    (await send('POST', '/admin/users/forgetful/change-password', { token, body: { password: newPassword } })).status,
    200,
  )
  t.is((await signIn('forgetful', newPassword)).status, 200)
  t.is(
    (await send('POST', '/admin/users/forgetful/change-password', { token, body: { password: 'short' } })).status,
    422,
  )
})

test('a user is deleted once, and the last site admin is not', async (t) => {
  const token = fixture.service.adminToken
  await makeUser('gone')
  const admin = clientOfAdmin()
  const params = { username: 'gone' }
  t.is((await signIn('gone')).status, 200)
  t.is((await send('DELETE', '/admin/users/admin', { token })).status, 422)
  const remove = async () => (await admin.call(adminDeleteUser, { params })).status
  t.deepEqual([await remove(), await remove()], [204, 404])
  t.is((await signIn('gone')).status, 404)
})

test("admins act as another user with that user's rights, without credentials", async (t) => {
  const token = fixture.service.adminToken
  const acted = await send('GET', '/user?sudo=ada', { token })
  t.deepEqual([acted.json.login, acted.json.is_admin, acted.headers['x-sudo-by']], ['ada', false, 'admin'])
  t.is((await send('GET', '/user', { token, headers: { Sudo: 'Ada' } })).json.login, 'ada')
  t.is((await send('GET', '/admin/users?sudo=ada', { token })).status, 403)
  t.is((await send('GET', '/user?sudo=admin', { token: await fixture.service.tokenFor('ada') })).status, 403)
  t.is((await send('GET', '/user?sudo=nobody', { token })).status, 404)
  t.is((await send('POST', '/orgs', { token, body: { username: 'sudo-org' } })).status, 201)
  t.is((await send('GET', '/user?sudo=sudo-org', { token })).status, 422)
  t.is((await send('GET', '/users/ada/tokens?sudo=ada', { basic: ['admin', adminPassword] })).status, 403)
  for (const [method, path] of [
    ['GET', '/user/settings/tokens/access-tokens'],
    ['GET', '/user/settings/security/sessions'],
    ['POST', '/user/settings/account/password'],
    ['GET', '/user/signout'],
  ] as const) {
    t.is(
      (await send(method, `${path}?sudo=ada`, { token, ...(method === 'POST' ? { body: {} } : {}) })).status,
      403,
      path,
    )
  }
})
