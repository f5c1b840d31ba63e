import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import type { MailFolder } from '../../mail/mail-folder.ts'
import { readMailFolder } from '../../mail/mail-folder.ts'
import { makeCookieJar } from '../../support/cookie-jar.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'

let service: TestService
let mails: MailFolder
const folder = mkdtempSync(join(tmpdir(), 'moorage-mails-'))
const password = 'a long passphrase'
const removal = '/user/settings/account/delete'

test.before(async () => {
  service = await startService({ settings: { MOORAGE_MAIL: `folder:${folder}` } })
  mails = readMailFolder(folder)
})
test.after.always(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const send = (...args: Parameters<TestService['send']>) => service.send(args[0], `/api/v1${args[1]}`, args[2])
const makeUser = async (login: string): Promise<void> => {
  const made = await send('POST', '/admin/users', {
    token: service.adminToken,
    body: { username: login, email: `${login}@example.org`, password, must_change_password: false, send_notify: false },
  })
  if (made.status !== 201) throw new Error(made.text)
}
const as = (login: string) => ({ basic: [login, password] as const })

test('deleting the own account signs the browser out and keeps the name taken', async (t) => {
  await makeUser('ada')
  const jar = makeCookieJar()
  jar.take((await send('POST', '/user/signin', { body: { username: 'ada', password, remember: true } })).headers)
  const token = await service.tokenFor('ada')
  const wrong = await send('POST', removal, { headers: jar.headers(), body: { password: 'another long phrase' } })
  t.is(wrong.status, 403)
  t.is((await send('GET', '/user', { headers: jar.headers() })).status, 200)
  const before = jar.copy()
  const done = await send('POST', removal, { headers: jar.headers(), body: { password } })
  t.is(`${done.status} ${done.text}`, '200 ')
  jar.take(done.headers)
  t.deepEqual(jar.names(), [])
  t.is((await send('GET', '/user', { headers: before.headers() })).status, 401)
  t.is((await send('GET', '/user', { token })).status, 401)
  t.is((await send('POST', '/user/signin', { body: { username: 'ada', password } })).status, 405)
  t.is((await mails.nth('ada@example.org', 1)).subject, 'Your account was deleted')
  t.is(
    (
      await send('POST', '/admin/users', {
        token: service.adminToken,
        body: { username: 'ada', email: 'new@example.org', password },
      })
    ).status,
    422,
  )
})

test('the password counts in the body alone, whatever proved the caller', async (t) => {
  await makeUser('bob')
  const [asked, empty, basic] = [
    await send('POST', `${removal}?password=${encodeURIComponent(password)}`, as('bob')),
    await send('POST', removal, { ...as('bob'), body: {} }),
    await send('POST', removal, { ...as('bob'), body: { password: 'another long phrase' } }),
  ]
  t.deepEqual(
    [asked, empty].map(({ status, json }) => `${status} ${json.code}`),
    ['422 PasswordNeeded', '422 PasswordNeeded'],
  )
  t.is(basic.status, 403)
  t.false(service.logText().includes(password))
  const token = await service.tokenFor('bob', ['read:user'])
  t.is((await send('POST', removal, { token, body: { password } })).status, 403, 'a token that may only read')
  t.is((await send('POST', `${removal}?sudo=bob`, { token: service.adminToken, body: { password } })).status, 403)
  t.is((await send('GET', '/user', as('bob'))).status, 200)
  t.is(
    (await send('POST', removal, { token: await service.tokenFor('bob', ['write:user']), body: { password } })).status,
    200,
  )
  t.is((await send('GET', '/user', as('bob'))).status, 403, 'the password is right, the account is disabled')
})

test('the reasons against a deletion are listed', async (t) => {
  await makeUser('cyd')
  t.is((await send('POST', '/orgs', { ...as('cyd'), body: { username: 'cyds' } })).status, 201)
  const refused = await send('POST', removal, { ...as('cyd'), body: { password } })
  t.is(refused.status, 422)
  t.deepEqual(refused.json.errors, ['organization cyds'])
  t.is((await send('GET', '/user', as('cyd'))).status, 200)
})

test('page sizes default to ten and are saved for each user', async (t) => {
  await makeUser('dan')
  await makeUser('eve')
  const read = async (login: string) => (await send('GET', '/user/settings/pagination', as(login))).json
  const change = (login: string, body: unknown) => send('POST', '/user/settings/pagination', { ...as(login), body })
  t.deepEqual(await read('dan'), { productUI: 10, consoleUI: 10, platformUI: 10 })
  t.deepEqual((await change('dan', { platformUI: 25 })).json, { productUI: 10, consoleUI: 10, platformUI: 25 })
  t.deepEqual((await change('dan', { productUI: 1, consoleUI: 1000 })).json, {
    productUI: 1,
    consoleUI: 1000,
    platformUI: 25,
  })
  t.deepEqual(await read('dan'), { productUI: 1, consoleUI: 1000, platformUI: 25 })
  t.deepEqual(await read('eve'), { productUI: 10, consoleUI: 10, platformUI: 10 })
  for (const bad of [0, -1, 1001, 2 ** 53, 1.5, '10'])
    t.is((await change('dan', { consoleUI: bad })).status, 422, String(bad))
  t.deepEqual(await read('dan'), { productUI: 1, consoleUI: 1000, platformUI: 25 })
})

test('the organizations in the settings are those of /user/orgs, in pages', async (t) => {
  await makeUser('fay')
  for (const username of ['fay-one', 'fay-two', 'fay-three'])
    await send('POST', '/orgs', { ...as('fay'), body: { username } })
  const [here, there] = [
    await send('GET', '/user/settings/organizations?limit=2', as('fay')),
    await send('GET', '/user/orgs?limit=2', as('fay')),
  ]
  t.deepEqual(here.json, there.json)
  t.is(here.json.length, 2)
  t.is(here.headers['x-total-count'], '3')
  t.regex(String(here.headers['link']), /\/user\/settings\/organizations\?.*page=2.*rel="next"/)
})

test('teams are found in pages, with their number', async (t) => {
  await makeUser('gus')
  await send('POST', '/orgs', { ...as('gus'), body: { username: 'gusorg' } })
  const { status, headers, json } = await send('GET', '/orgs/gusorg/teams/search?limit=2', as('gus'))
  t.is(status, 200)
  t.is(json.ok, true)
  t.is(json.data.length, 2)
  t.is(headers['x-total-count'], '3')
  t.regex(String(headers['link']), /rel="next"/)
  const last = await send('GET', '/orgs/gusorg/teams/search?limit=2&page=2', as('gus'))
  t.is(last.json.data.length, 1)
})
