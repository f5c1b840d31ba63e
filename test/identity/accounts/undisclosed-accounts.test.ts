import test from 'ava'
import type { Either } from 'fp-ts/lib/Either.js'
import type { SqlDatabase } from '../../../adapters/sql/kit/statement.ts'
import { pathNames } from '../../../composition/runtime/http/openapi/parameters.ts'
import type { Failure } from '../../../core/kernel/failure.ts'
import { makeGetMemberRights } from '../../../core/organizations/members/members.ts'
import { makeListOrganizationsOfUser } from '../../../core/organizations/organizations/organizations.ts'
import { callBy, firstPage, makeOrganizationsFixture } from '../../organizations/use-cases.fixture.ts'
import { eachDatabase } from '../../support/databases.ts'
import { declaredRoutes } from '../../support/declared-routes.ts'
import { shown, tagOf } from '../../support/outcome.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import { startService } from '../../support/service.ts'
import { makeLockingFixture } from '../locking-fixture.ts'

/** Counts every statement and transaction. */
const counted = (db: SqlDatabase) => {
  let count = 0
  const counting: SqlDatabase = {
    ...db,
    all: (statement, binds) => (count++, db.all(statement, binds)),
    first: (statement, binds) => (count++, db.first(statement, binds)),
    run: (statement, binds) => (count++, db.run(statement, binds)),
    query: (...given) => (count++, db.query(...given)),
    transaction: (work) => (count++, db.transaction(work)),
  }
  return { counting, count: () => count }
}

for (const database of eachDatabase()) {
  test(`${database.name}: unknown, wrong and locked sign-ins cost the same`, async (t) => {
    const db = await database.open()
    const { counting, count } = counted(db)
    const fixture = makeLockingFixture(counting)
    // What goes on in the background needs the database.
    t.teardown(() => fixture.settled().finally(() => db.close()))
    await fixture.user('ada')
    for (const surface of ['basic', 'signIn'] as const) {
      const work = async (login: string, text: string, ip: string) => {
        const before = [fixture.verified(), count()] as const
        const answer = await fixture[surface](login, text, ip)
        return { answer: shown(answer), hashes: fixture.verified() - before[0], queries: count() - before[1] }
      }
      // Each pair at the same stage of its counters: first failure, further ones, the one that locks, locked.
      for (let attempt = 1; attempt <= 8; attempt++) {
        const known = await work('ada', 'wrong', '198.51.100.7')
        const unknown = await work('nobody', 'wrong', '198.51.100.8')
        t.deepEqual(known, unknown, `${surface} ${attempt}`)
        t.is(known.hashes, 1)
        if (attempt === 8)
          t.deepEqual(shown(await fixture[surface]('ada')), known.answer, 'the right password while locked')
      }
      t.is(await fixture.afterwards(), 1, 'the owner is notified after the response, once')
      await fixture.pass(3600)
      t.is((await fixture[surface]('ada'))._tag, 'Right')
    }
  })
}

for (const database of eachDatabase()) {
  test(`${database.name}: private and unknown users cost the same statements`, async (t) => {
    const db = await database.open()
    t.teardown(() => db.close())
    const { counting, count } = counted(db)
    const bench = makeOrganizationsFixture(counting)
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

test('unknown, wrong and locked sign-ins get identical responses', async (t) => {
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
    for (let i = 0; i < 20; i++)
      await basic(['ada', 'ADA', 'ada@example.org'][i % 3] as string, 'wrong', `198.51.100.${10 + i}`)
    for (let i = 0; i < 20; i++) await basic('nobody', 'wrong', `198.51.100.${30 + i}`)
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

test('a private user and a missing one get identical responses', async (t) => {
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
