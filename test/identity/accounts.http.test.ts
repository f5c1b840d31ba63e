import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import type { Either } from 'fp-ts/lib/Either.js'
import sharp from 'sharp'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { pathNames } from '../../composition/http/openapi/parameters.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import { makeGetMemberRights } from '../../core/organizations/members/members.ts'
import { makeListOrganizationsOfUser } from '../../core/organizations/organizations/organizations.ts'
import type { MailFolder } from '../mail/mail-folder.ts'
import { readMailFolder } from '../mail/mail-folder.ts'
import { callBy, firstPage, makeBench } from '../organizations/bench.ts'
import { makeCookieJar } from '../support/cookie-jar.ts'
import { eachDatabase } from '../support/databases.ts'
import { declaredRoutes } from '../support/declared-routes.ts'
import { shown, tagOf } from '../support/outcome.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import type { TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { makeLockingFixture } from './locking-world.ts'

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

test('a browser deletes the account that it is signed in with: out at once, cookies gone, mail sent, name still taken', async (t) => {
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

test('page sizes: ten until something was chosen, each user the own, and what is absent stays', async (t) => {
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

const picture = (color: string) =>
  sharp({ create: { width: 400, height: 300, channels: 3, background: color } })
    .jpeg()
    .toBuffer()

let avatarService: TestService
test.before(async () => {
  avatarService = await startService()
})
test.after.always(() => avatarService?.stop())

const ask = (method: string, path: string, init: RequestInit = {}) =>
  fetch(path.startsWith('http') ? path : `${avatarService.baseUrl}/api/v1${path}`, {
    method,
    ...init,
    headers: { authorization: `token ${avatarService.adminToken}`, ...(init.headers as Record<string, string>) },
  })
const askJson = (method: string, path: string, body: unknown) =>
  ask(method, path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
const avatarUrl = async (): Promise<string> =>
  ((await (await ask('GET', '/user')).json()) as { avatar_url: string }).avatar_url

test.serial('a picture given as base64 is served at its address, and can be removed', async (t) => {
  const drawn = await avatarUrl()
  t.is((await askJson('POST', '/user/avatar', { image: (await picture('red')).toString('base64') })).status, 204)
  const url = await avatarUrl()
  const shown = await fetch(url)
  t.deepEqual([shown.status, shown.headers.get('content-type')], [200, 'image/png'])
  const bytes = Buffer.from(await shown.arrayBuffer())
  const { width, height } = await sharp(bytes).metadata()
  t.is(width, height)
  t.is((await fetch(url, { headers: { 'if-none-match': shown.headers.get('etag') ?? '' } })).status, 304)
  t.is((await ask('DELETE', '/user/avatar')).status, 204)
  t.is(await avatarUrl(), drawn)
  t.is((await fetch(url)).status, 404)
  t.is((await ask('DELETE', '/user/avatar')).status, 204)
})

test.serial('a browser form does the same', async (t) => {
  const form = new FormData()
  form.set('source', 'local')
  form.set('avatar', new Blob([new Uint8Array(await picture('blue'))], { type: 'image/jpeg' }), 'me.jpg')
  t.is((await ask('POST', '/user/settings/avatar', { body: form })).status, 200)
  const settings = (await (await ask('GET', '/user/settings/avatar')).json()) as { source: string; avatar: string }
  t.deepEqual(settings, { source: 'local', avatar: await avatarUrl(), gravatar: '', federavatar: false } as never)
  t.is((await fetch(settings.avatar)).status, 200)
  t.is((await ask('POST', '/user/settings/avatar/delete')).status, 200)
  t.like(await (await ask('GET', '/user/settings/avatar')).json(), { source: '', avatar: await avatarUrl() })
})

test.serial('what is no picture changes nothing', async (t) => {
  t.is((await askJson('POST', '/user/avatar', { image: (await picture('green')).toString('base64') })).status, 204)
  const before = await avatarUrl()
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')
  for (const image of [svg, '', 'not base64!', 7, null])
    t.is((await askJson('POST', '/user/avatar', { image })).status, 422, String(image))
  const form = new FormData()
  form.set('avatar', new Blob(['%PDF-1.7']), 'me.png')
  t.is((await ask('POST', '/user/settings/avatar', { body: form })).status, 422)
  const broken = await ask('POST', '/user/settings/avatar', {
    body: '--x\r\nno form',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  })
  t.is(broken.status, 400)
  t.is((await ask('POST', '/user/avatar', { body: form })).status, 415)
  t.is(await avatarUrl(), before)
})

test('an address that no picture has', async (t) => {
  t.is((await fetch(`${avatarService.baseUrl}/api/v1/avatars/${'a'.repeat(43)}`)).status, 404)
  t.is((await fetch(`${avatarService.baseUrl}/api/v1/avatars/short`)).status, 404)
})

test('a search tells how many there are, and where the next page is', async (t) => {
  const answer = await ask('GET', '/users/search?q=&limit=1')
  t.is(answer.headers.get('x-total-count'), '1')
  const { ok, data } = (await answer.json()) as { ok: boolean; data: unknown[] }
  t.deepEqual([ok, data.length], [true, 1])
})

test.serial("an organization's picture is changed by who may edit it, and shown in its profile", async (t) => {
  t.is((await askJson('POST', '/orgs', { username: 'Pictured', visibility: 'private' })).status, 201)
  const shownUrl = async () =>
    ((await (await ask('GET', '/orgs/pictured')).json()) as { avatar_url: string }).avatar_url
  const drawn = await shownUrl()
  t.is(await (await ask('GET', '/orgs/pictured/avatar')).json(), drawn as never)
  t.is((await fetch(drawn)).headers.get('content-type'), 'image/png')
  const set = await askJson('POST', '/orgs/pictured/avatar', { image: (await picture('navy')).toString('base64') })
  t.deepEqual([set.status, await set.text()], [204, ''], 'as for a user')
  t.is((await fetch(await shownUrl())).status, 200)
  const form = new FormData()
  form.set('source', 'local')
  form.set('avatar', new Blob([new Uint8Array(await picture('teal'))], { type: 'image/jpeg' }), 'logo.jpg')
  const byForm = await ask('POST', '/orgs/pictured/avatar/', { body: form })
  t.is(byForm.status, 200)
  t.deepEqual(await byForm.json(), { avatar: await shownUrl() } as never)
  t.is(await (await ask('GET', '/orgs/pictured/avatar/')).json(), (await shownUrl()) as never)
  t.is((await askJson('POST', '/orgs/pictured/avatar', {})).status, 422)
  form.append('source', 'gravatar')
  const twice = await ask('POST', '/orgs/pictured/avatar/', { body: form })
  t.is(twice.status, 422)
  t.regex(await twice.text(), /\"source\\?"/, 'a repeated field is refused and named')
  t.is((await ask('POST', '/orgs/pictured/avatar/delete')).status, 200)
  t.is(await shownUrl(), drawn)
  t.is((await ask('DELETE', '/orgs/pictured/avatar')).status, 204)
})

test('a name has a picture, whether or not there is an account of that name', async (t) => {
  t.is(
    (
      await askJson('POST', '/admin/users', {
        username: 'hidden',
        email: 'hidden@example.org',
        password: 'a long passphrase',
        visibility: 'private',
      })
    ).status,
    201,
  )
  const url = ((await (await ask('GET', '/users/hidden')).json()) as { avatar_url: string }).avatar_url
  const shown = await fetch(url)
  const bytes = Buffer.from(await shown.arrayBuffer())
  t.deepEqual(
    [shown.status, shown.headers.get('content-type'), shown.headers.get('cache-control')],
    [200, 'image/png', 'public, max-age=86400'],
  )
  const { width, height } = await sharp(bytes).metadata()
  t.true(width > 64 && width === height)
  t.is((await fetch(url, { headers: { 'if-none-match': shown.headers.get('etag') ?? '' } })).status, 304)
  const missing = await fetch(url.replace('hidden', 'nobody-has-this'))
  const headersOf = (answer: Response) => [...answer.headers.keys()].sort()
  t.deepEqual([missing.status, headersOf(missing)], [200, headersOf(shown)])
  t.not(missing.headers.get('etag'), shown.headers.get('etag'), 'another name, another picture')
  t.is((await fetch(url.replace('hidden', 'HIDDEN'))).headers.get('etag'), shown.headers.get('etag'))
  for (const name of ['a%20b', 'x'.repeat(64), '%F0%9F%98%80'])
    t.is((await fetch(url.replace('hidden', name))).status, 404, name)
})

/** Counts every statement and transaction. */
const counted = (db: SqlDatabase) => {
  let count = 0
  const counting: SqlDatabase = {
    ...db,
    all: (...given) => (count++, db.all(...given)),
    first: (...given) => (count++, db.first(...given)),
    run: (...given) => (count++, db.run(...given)),
    query: (...given) => (count++, db.query(...given)),
    transaction: (work) => (count++, db.transaction(work)),
  }
  return { counting, count: () => count }
}

for (const database of eachDatabase()) {
  test(`${database.name}: an unknown name, a wrong password and a locked account cost the same hash, and known costs the queries of unknown`, async (t) => {
    const db = await database.open()
    const { counting, count } = counted(db)
    const world = makeLockingFixture(counting)
    // What goes on in the background needs the database.
    t.teardown(() => world.settled().finally(() => db.close()))
    await world.user('ada')
    for (const surface of ['basic', 'signIn'] as const) {
      const work = async (login: string, text: string, ip: string) => {
        const before = [world.verified(), count()] as const
        const answer = await world[surface](login, text, ip)
        return { answer: shown(answer), hashes: world.verified() - before[0], queries: count() - before[1] }
      }
      // Each pair at the same stage of its counters: first failure, further ones, the one that locks, locked.
      for (let attempt = 1; attempt <= 8; attempt++) {
        const known = await work('ada', 'wrong', '198.51.100.7')
        const unknown = await work('nobody', 'wrong', '198.51.100.8')
        t.deepEqual(known, unknown, `${surface} ${attempt}`)
        t.is(known.hashes, 1)
        if (attempt === 8)
          t.deepEqual(shown(await world[surface]('ada')), known.answer, 'the right password while locked')
      }
      t.is(await world.afterwards(), 1, 'the owner is notified after the response, once')
      await world.pass(3600)
      t.is((await world[surface]('ada'))._tag, 'Right')
    }
  })
}

for (const database of eachDatabase()) {
  test(`${database.name}: a question about a private user costs the statements of one about an unknown user`, async (t) => {
    const db = await database.open()
    t.teardown(() => db.close())
    const { counting, count } = counted(db)
    const bench = makeBench(counting)
    const [eve, hidden] = [await bench.user('eve'), await bench.user('hidden')]
    await bench.organization('evil', eve)
    await db.query((k) => k('users').where('id', hidden).update({ visibility: 'private' }))
    const [orgsOf, permissionsOf] = [makeListOrganizationsOfUser(bench), makeGetMemberRights(bench)]
    const cost = async (ask: (name: string) => Promise<Either<Failure, unknown>>, name: string) => {
      const before = count()
      return [tagOf(await ask(name)), count() - before]
    }
    for (const ask of [
      (name: string) => orgsOf(callBy(eve), { login: name, page: firstPage }),
      (name: string) => permissionsOf(callBy(eve), { login: name, orgName: 'evil' }),
    ]) {
      const [ofHidden, ofMissing] = [await cost(ask, 'hidden'), await cost(ask, 'absent')]
      t.deepEqual(ofHidden, ofMissing)
      t.is(ofHidden[0], 'MemberMissing')
    }
  })
}

const sameBytes = (answer: ServiceAnswer) => {
  const { 'x-request-id': _id, date: _date, ...headers } = answer.headers
  return { status: answer.status, headers, text: answer.text.replace(/"requestId":"[^"]*"/, '') }
}

test('at sign-in and at Basic, the responses for unknown, wrong and locked are equal byte for byte; only a blocked address gets 429', async (t) => {
  const service = await startService({ settings: { MOORAGE_TRUSTED_PROXIES: '127.0.0.1' } })
  try {
    const send: typeof service.send = (method, path, options) => service.send(method, `/api/v1${path}`, options)
    const password = 'a long passphrase'
    for (const username of ['ada', 'bob']) {
      await send('POST', '/admin/users', {
        token: service.adminToken,
        body: { username, email: `${username}@example.org`, password },
      })
    }
    const from = (ip: string) => ({ 'X-Forwarded-For': ip })
    const signIn = (username: string, text: string, ip: string) =>
      send('POST', '/user/signin', { body: { username, password: text }, headers: from(ip) })
    const signInWithCode = (username: string, text: string, ip: string) =>
      send('POST', '/user/signin/twofa', { body: { username, password: text, passCode: '123456' }, headers: from(ip) })
    const basic = (username: string, text: string, ip: string) =>
      send('GET', '/user', { basic: [username, text], headers: from(ip) })
    const surfaces = [
      [signIn, 404],
      [signInWithCode, 404],
      [basic, 401],
    ] as const
    for (const [surface, status] of surfaces) {
      const unknown = await surface('nobody', 'wrong', '198.51.100.1')
      t.is(unknown.status, status)
      t.deepEqual(sameBytes(await surface('bob', 'wrong', '198.51.100.1')), sameBytes(unknown))
    }
    for (let i = 0; i < 5; i++)
      await basic(['ada', 'ADA', 'ada@example.org'][i % 3] as string, 'wrong', `198.51.100.${10 + i}`)
    for (let i = 0; i < 5; i++) await basic('nobody', 'wrong', `198.51.100.${20 + i}`)
    for (const [surface] of surfaces) {
      const unknown = await surface('someone-else', 'wrong', '198.51.100.2')
      for (const [name, text] of [
        ['ada', 'wrong'],
        ['ada', password],
        ['Ada@example.org', password],
        ['nobody', 'wrong'],
      ] as const) {
        t.deepEqual(sameBytes(await surface(name, text, '198.51.100.3')), sameBytes(unknown), `${name} ${text}`)
      }
    }
    const token = await service.tokenFor('ada')
    t.is((await send('GET', '/user', { token })).status, 200, 'tokens go on working while the password is locked')

    for (let i = 0; i < 100; i++) await basic(`name-${i}`, 'wrong', '203.0.113.9')
    const blocked = await basic('bob', password, '203.0.113.9')
    t.is(blocked.status, 429)
    t.true(Number(blocked.headers['retry-after']) >= 1 && Number(blocked.headers['retry-after']) <= 600)
    t.deepEqual(sameBytes(await basic('no-such-name', 'wrong', '203.0.113.9')).text, sameBytes(blocked).text)
    t.is((await signIn('bob', password, '203.0.113.9')).status, 429)
    t.is((await basic('bob', password, '203.0.113.10')).status, 200)
    t.is(
      (await send('GET', '/user', { token, headers: from('203.0.113.9') })).status,
      200,
      'a token is nothing that is guessed',
    )
  } finally {
    await service.stop()
  }
})

/** Path parameters that may name a user. */
const naming = ['username', 'target', 'owner', 'org', 'orgname'] as const

test('a private user and a missing one get the same response from every route, for a caller who may not see the user', async (t) => {
  const service = await startService()
  try {
    const send: typeof service.send = (method, path, options) => service.send(method, `/api/v1${path}`, options)
    const password = 'a long passphrase'
    const ids = new Map<string, number>()
    for (const username of ['eve', 'sam', 'hidden']) {
      const body = {
        username,
        email: `${username}@example.org`,
        password,
        ...(username === 'hidden' ? { visibility: 'private' } : {}),
      }
      ids.set(username, (await send('POST', '/admin/users', { token: service.adminToken, body })).json.id)
    }
    const tokens = { eve: await service.tokenFor('eve'), sam: await service.tokenFor('sam'), nobody: undefined }
    t.is(
      (await send('POST', '/orgs', { token: tokens.eve, body: { username: 'evil', visibility: 'public' } })).status,
      201,
    )
    const { json: teams } = await send('GET', '/orgs/evil/teams', { token: tokens.eve })
    const fixed: Readonly<Record<string, string>> = {
      username: 'eve',
      target: 'sam',
      owner: 'eve',
      org: 'evil',
      orgname: 'evil',
      teamid: String(teams[0].id),
    }
    const filled = (path: string, slot: string, name: string) =>
      pathNames(path).reduce(
        (whole, key) => whole.replace(`{${key}}`, key === slot ? name : (fixed[key] ?? '1')),
        path.replace(/\*$/, 'api'),
      )
    const compared: string[] = []
    const compare = async (
      what: string,
      method: string,
      path: (name: string) => string,
      names: readonly [string, string],
      body?: unknown,
    ) => {
      for (const [caller, token] of Object.entries(tokens)) {
        const answers = await Promise.all(
          names.map(async (name) => {
            const answer = await service.send(method, path(name), {
              ...(token === undefined ? {} : { token }),
              ...(body === undefined ? {} : { body }),
            })
            return JSON.stringify(sameBytes(answer)).replaceAll(/hidden|absent/g, 'NAME')
          }),
        )
        t.is(answers[0], answers[1], `${what} as ${caller}`)
      }
      compared.push(what)
    }
    for (const { bound, fullPath } of declaredRoutes()) {
      const { id } = bound.route
      const method = bound.kind === 'json' ? bound.route.method : 'GET'
      const body = id === 'organizations.setMembership' ? { role: 'member' } : undefined
      for (const slot of naming.filter((name) => pathNames(fullPath).includes(name))) {
        await compare(`${id} {${slot}}`, method, (name) => filled(fullPath, slot, name), ['hidden', 'absent'], body)
      }
    }
    t.true(compared.length > 100, `${compared.length} compared`)
    const [hiddenId, absentId] = [String(ids.get('hidden')), String(Number(ids.get('hidden')) + 1000)]
    for (const path of [
      '/orgs/evil/members/action/public',
      '/orgs/evil/members/action/remove',
      `/orgs/evil/teams/${teams[0].id}/action/add`,
      '/users/search',
    ]) {
      await compare(path, path === '/users/search' ? 'GET' : 'POST', (id) => `/api/v1${path}?uid=${id}`, [
        hiddenId,
        absentId,
      ])
    }
    for (const name of ['hidden', 'absent']) {
      t.is(
        (await send('GET', `/users/${name}/orgs`, { token: tokens.sam })).json.message,
        `The user "${name}" does not exist.`,
      )
      t.is(
        (await send('GET', `/orgs/evil/members/${name}`, { token: tokens.eve })).json.message,
        'The user is not a member of this organization.',
      )
    }
    t.is(
      (
        await send('GET', '/users/hidden/orgs', {
          token: await service.tokenFor('hidden', ['public-only', 'read:organization', 'read:user']),
        })
      ).status,
      200,
      'oneself',
    )
    t.is(
      (await send('GET', '/users/hidden/orgs/evil/permissions', { token: await service.tokenFor('hidden') })).status,
      200,
      'oneself',
    )
    t.is((await send('GET', '/users/hidden/orgs', { token: service.adminToken })).status, 200)
    const role = { body: { role: 'member' }, token: service.adminToken }
    t.is((await send('PUT', '/orgs/evil/memberships/hidden', role)).status, 200)
    t.deepEqual(
      (await send('GET', '/users/hidden/orgs', { token: tokens.eve })).json.map(
        (org: { username: string }) => org.username,
      ),
      ['evil'],
      'fellow members know',
    )
    t.is((await send('GET', '/users/hidden/orgs', { token: tokens.sam })).status, 404)
    t.is((await send('GET', '/users/hidden/orgs/evil/permissions', { token: tokens.eve })).status, 200)
    t.is((await send('GET', '/orgs/evil/members/hidden', { token: tokens.eve })).status, 204)
  } finally {
    await service.stop()
  }
})
