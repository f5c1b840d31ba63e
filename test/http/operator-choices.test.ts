import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import test from 'ava'
import sharp from 'sharp'
import { Agent, request } from 'undici'
import { startService } from '../support/service.ts'

const freeAddress = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `127.0.0.1:${port}`
}

const trusting = new Agent({ connect: { rejectUnauthorized: false } })
test.after.always(() => trusting.close())

/** Asks by whatever scheme the URL names; the certificate is the service's own. */
const ask = async (url: string, headers: Readonly<Record<string, string>> = {}) => {
  const reply = await request(url, { headers, dispatcher: trusting })
  const text = await reply.body.text()
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  return { status: reply.statusCode, headers: reply.headers, text, json: (/^[[{]/.test(text) ? JSON.parse(text) : undefined) as any }
}

test('where the operator says so, no access token is taken from the query string', async (t) => {
  const service = await startService({ settings: { MOORAGE_QUERY_TOKENS: 'false' } })
  try {
    for (const name of ['token', 'access_token']) {
      const answer = await service.send('GET', `/api/v1/user?${name}=${service.adminToken}`)
      t.is(answer.status, 401, name)
      t.regex(answer.json.message, /query string/)
    }
    t.is((await service.send('GET', '/api/v1/user', { token: service.adminToken })).status, 200)
  } finally {
    await service.stop()
  }
})

test('every response has HSTS if the base URL is https', async (t) => {
  const address = await freeAddress()
  const service = await startService({ settings: { MOORAGE_BASE_URL: 'https://platform.example', MOORAGE_LISTEN: address } })
  const plain = await startService()
  try {
    for (const path of ['/', '/api/v1/version', '/api/v1/user', '/api/v1/nothing']) {
      t.is((await fetch(`http://${address}${path}`)).headers.get('strict-transport-security'), 'max-age=31536000', path)
    }
    t.is((await fetch(`${plain.baseUrl}/api/v1/version`)).headers.get('strict-transport-security'), null)
    // Where a base URL is set, answers name it however the request came.
    const forwarded = { 'x-forwarded-proto': 'http', 'x-forwarded-host': 'elsewhere.example' }
    for (const origin of [`http://${address}`, `https://${address}`]) {
      const refused = await ask(`${origin}/api/v1/user`, forwarded)
      t.is(refused.json.url, 'https://platform.example/api/v1/docs#operation/identity.getCaller', origin)
      t.is((await ask(`${origin}/api/v1/openapi.json`, forwarded)).json.servers[0].url, 'https://platform.example/api/v1', origin)
    }
  } finally {
    await service.stop()
    await plain.stop()
  }
})

test('without a base URL answers name the address that the request came by, and redirects keep to it', async (t) => {
  const service = await startService({ settings: { MOORAGE_TRUSTED_PROXIES: '127.0.0.1' } })
  const authorization = `token ${service.adminToken}`
  const post = (path: string, body: object) => service.send('POST', `/api/v1${path}`, { token: service.adminToken, body })
  try {
    const image = (await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } }).png().toBuffer()).toString('base64')
    t.is((await post('/user/avatar', { image })).status, 204)
    t.is((await post('/orgs', { username: 'before' })).status, 201)
    t.is((await post('/orgs', { username: 'second' })).status, 201)
    t.is((await post('/orgs/before/avatar', { image })).status, 204)
    t.is((await post('/orgs/before/rename', { new_name: 'after' })).status, 204)
    const { host } = new URL(service.baseUrl)
    const ways: readonly [origin: string, headers: Record<string, string>, named: string][] = [
      [`http://${host}`, {}, `http://${host}`],
      [`https://${host}`, {}, `https://${host}`],
      [`https://${host}`, { host: 'Platform.Example:8443' }, 'https://platform.example:8443'],
      [`http://${host}`, { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'platform.example' }, 'https://platform.example'],
      [`http://${host}`, { 'x-forwarded-proto': 'gopher, HTTPS', 'x-forwarded-host': 'evil.example, platform.example' }, 'https://platform.example'],
      [`https://${host}`, { 'x-forwarded-proto': 'http' }, `http://${host}`],
      [`http://${host}`, { 'x-forwarded-proto': 'gopher', 'x-forwarded-host': 'a/b' }, `http://${host}`],
    ]
    for (const [origin, more, named] of ways) {
      const headers = { authorization, ...more }
      const what = `${origin} ${JSON.stringify(more)}`
      const list = await ask(`${origin}/api/v1/user/orgs?limit=1`, headers)
      t.true(String(list.headers['link']).startsWith(`<${named}/api/v1/user/orgs?`), `${what}: ${list.headers['link']}`)
      const user = (await ask(`${origin}/api/v1/user`, headers)).json
      t.true(user.avatar_url.startsWith(`${named}/api/v1/avatars/`), `${what}: ${user.avatar_url}`)
      t.is(user.html_url, `${named}/admin`, what)
      t.true((await ask(`${origin}/api/v1/orgs/after`, headers)).json.avatar_url.startsWith(`${named}/api/v1/avatars/`), what)
      t.is((await ask(`${origin}/api/v1/orgs/nothing`, headers)).json.url, `${named}/api/v1/docs#operation/organizations.getOrganization`, what)
      const moved = await ask(`${origin}/api/v1/orgs/before`, headers)
      t.deepEqual([moved.status, moved.headers['location']], [307, '/api/v1/orgs/after'], what)
      t.is((await ask(`${origin}/api/v1/openapi.json`, headers)).json.servers[0].url, '/api/v1', what)
      t.true((await ask(`${origin}/`, headers)).text.includes(`curl -u admin ${named}/api/v1/users`), what)
    }
    // What is refused for its Host names no host that was sent.
    t.is((await ask(`https://${host}/api/v1/user`, { host: 'a@b' })).json.url, `https://${host}/api/v1/docs`)
  } finally {
    await service.stop()
  }
})
