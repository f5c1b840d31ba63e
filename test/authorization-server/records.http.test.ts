import test from 'ava'
import * as client from 'openid-client'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { runJob } from '../bus/bus-fixture.ts'
import type { FlowFixture, Registered } from './flow.fixture.ts'
import { startFlowFixture } from './flow.fixture.ts'

let fixture: FlowFixture
let application: Registered

test.before(async () => {
  fixture = await startFlowFixture()
  application = await fixture.register('ada')
})
test.after.always(() => fixture.stop())

type Database = Awaited<ReturnType<typeof openDatabase>>
const within = async <A>(work: (database: Database) => Promise<A>): Promise<A> => {
  const database = await openDatabase(fixture.service.databaseUrl)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

const status = async (token: string): Promise<number> =>
  (await fixture.service.send('GET', '/api/v1/user', { token })).status

const refreshed = async (refreshToken: string): Promise<string> => {
  const config = await fixture.configOf(application)
  return client.refreshTokenGrant(config, refreshToken).then(
    () => 'accepted',
    (error: { readonly error?: string }) => error.error ?? String(error),
  )
}

const offline = async (login: string) => {
  const tokens = await fixture.tokensFor(application, login, 'openid offline_access read:user')
  return { access: tokens.access_token, refresh: tokens.refresh_token ?? '' }
}

const rowsOf = (database: Database, table: string, login: string) =>
  database.query((k) => k(table).where('user_id', fixture.idOf(login)).whereNotNull('application_id').select('*'))

test.serial('a copy of the database has no code, token or secret in it', async (t) => {
  const { access, refresh } = await offline('ed')
  const held = await within(async (database) => {
    const tables = ['oauth_records', 'oauth_applications', 'oauth_keys', 'access_tokens']
    const rows = await Promise.all(tables.map((table) => database.query((k) => k(table).select('*'))))
    return rows
      .flat()
      .flatMap((row) => Object.values(row as object))
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
      .join('\n')
  })
  for (const value of [access, refresh, application.clientSecret, '"kty"']) t.false(held.includes(value))
})

test.serial('a grant ends at its time, and what has expired is removed with its tokens', async (t) => {
  const { access, refresh } = await offline('vic')
  await within((database) =>
    database.query((k) => k('oauth_records').where('user_id', fixture.idOf('vic')).update({ expires_at: 1 })),
  )
  t.is(await refreshed(refresh), 'invalid_grant')
  await runJob(fixture.service, 'authorizationServer.removeExpired')
  t.is(await status(access), 401)
  await within(async (database) => {
    for (const table of ['oauth_records', 'access_tokens']) t.deepEqual(await rowsOf(database, table, 'vic'), [])
  })
})

test.serial('a new password by an administrator ends refresh and access tokens', async (t) => {
  const { access, refresh } = await offline('cleo')
  await fixture.as('admin', 'PATCH', '/admin/users/cleo', { password: 'quiet-lantern-over-water-17' })
  const isOver = [await status(access), await refreshed(refresh)]
  const personal = await fixture.as('cleo', 'GET', '/user')
  // What ends personal tokens ends those of applications, and nothing else does.
  t.deepEqual(isOver, personal.status === 200 ? [200, 'accepted'] : [401, 'invalid_grant'])
})

test.serial('the tokens of applications are not among the personal ones', async (t) => {
  await offline('adam')
  const listed = await fixture.as('adam', 'GET', '/user/settings/tokens/access-tokens/')
  t.notRegex(listed.text, /application-/)
})

test.serial('a removed account takes its consents and records along', async (t) => {
  await offline('sam')
  const id = fixture.idOf('sam')
  t.is((await fixture.as('admin', 'DELETE', '/admin/users/sam')).status, 204)
  await within(async (database) => {
    for (const table of ['oauth_records', 'oauth_consents', 'access_tokens'])
      t.deepEqual(await database.query((k) => k(table).where('user_id', id).select('id')), [])
  })
})

test.serial('a token that an application makes ends with its consent, and with its session', async (t) => {
  const make = async (token: string) => {
    const body = { name: `made ${token.slice(-6)}`, expTime: 0 }
    const path = '/api/v1/user/settings/tokens/access-tokens/'
    const { status: code, json } = await fixture.service.send('POST', path, { token, body })
    t.is(code, 201)
    return (json as unknown as { token: string }).token
  }
  const browser = fixture.browser()
  await browser.signIn('adam')
  const bound = await fixture.tokensFor(application, 'adam', 'write:user', browser)
  const lasting = await fixture.tokensFor(application, 'adam', 'offline_access write:user')
  const [first, second] = [await make(bound.access_token), await make(lasting.access_token)]
  t.is(await status(first), 200)
  await browser.send('GET', '/user/signout')
  t.deepEqual([await status(first), await status(second)], [401, 200])
  await fixture.as('adam', 'POST', `/user/settings/applications/oauth2/${application.id}/revoke`)
  t.is(await status(second), 401)
})
