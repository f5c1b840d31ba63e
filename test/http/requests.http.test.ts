import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Script } from 'node:vm'
import test from 'ava'
import sharp from 'sharp'
import { Agent, request } from 'undici'
import { pageFiles } from '../../composition/part/pages/web-page.ts'
import type { TestService } from '../support/service.ts'
import { adminLogin, adminPassword, startService } from '../support/service.ts'

/** What a credential that is less than its user's whole self must not come to. */
let service: TestService
test.before(async () => {
  service = await startService()
})
test.after.always(() => service.stop())

test('an Idempotency-Key is bound to its token', async (t) => {
  const weak = await service.tokenFor(adminLogin, ['write:user'])
  const request = { body: { name: 'deploy', expTime: 0, scopes: ['write:user'] }, headers: { 'Idempotency-Key': '1' } }
  const first = await service.send('POST', '/api/v1/user/settings/tokens/access-tokens', {
    token: service.adminToken,
    ...request,
  })
  t.is(first.status, 201)
  const same = await service.send('POST', '/api/v1/user/settings/tokens/access-tokens', {
    token: service.adminToken,
    ...request,
  })
  t.is(same.json.token, first.json.token)
  const other = await service.send('POST', '/api/v1/user/settings/tokens/access-tokens', { token: weak, ...request })
  t.is(other.headers['idempotency-replayed'], undefined)
  t.not(other.json.token, first.json.token)
})

test('an Idempotency-Key is separate for a site admin who acts as a user', async (t) => {
  const body = {
    username: 'acted',
    email: 'acted@example.com',
    password: 'quiet-harbour-lantern-7',
    must_change_password: false,
  }
  t.is((await service.send('POST', '/api/v1/admin/users', { token: service.adminToken, body })).status, 201)
  const request = { body: { username: 'acted-org' }, headers: { 'Idempotency-Key': '1' } }
  t.is(
    (
      await service.send('POST', '/api/v1/orgs', {
        token: service.adminToken,
        ...request,
        headers: { ...request.headers, Sudo: 'acted' },
      })
    ).status,
    201,
  )
  const own = await service.send('POST', '/api/v1/orgs', { basic: ['acted', 'quiet-harbour-lantern-7'], ...request })
  t.is(own.headers['idempotency-replayed'], undefined)
})

test('a site admin’s token for public objects administers nothing', async (t) => {
  const token = await service.tokenFor(adminLogin, ['all', 'public-only'])
  t.is((await service.send('GET', '/api/v1/admin/users', { token })).status, 403)
  const body = { username: 'made', email: 'made@example.com', password: 'quiet-harbour-lantern-7' }
  t.is((await service.send('POST', '/api/v1/admin/users', { token, body })).status, 403)
})

for (const [what, credential] of [
  ['tokens', { token: 'a'.repeat(40) }],
  ['passwords', { basic: [adminLogin, 'wrong'] as const }],
] as const) {
  test(`guessing ${what} meets the rate limit of the address`, async (t) => {
    const limited = await startService({ settings: { MOORAGE_RATE_LIMIT_PER_MINUTE: '5' } })
    t.teardown(() => limited.stop())
    const statuses: number[] = []
    for (let i = 0; i < 7; i += 1) statuses.push((await limited.send('GET', '/api/v1/user', credential)).status)
    t.deepEqual(statuses.slice(0, 5), [401, 401, 401, 401, 401])
    t.is(statuses[6], 429)
    t.is(
      (await limited.send('GET', '/api/v1/user', { token: limited.adminToken })).status,
      200,
      'who is known is not held up',
    )
  })
}

const names = ['confirm-email', 'reset-password', 'sign-in', 'accept-invitation', 'usage-intake'] as const

/** The scripts of the pages of parts. That of the documentation is served beside it. */
const { 'docs.js': _, ...accountScripts } = pageFiles('scripts/')

let accountPagesService: TestService
test.before(async () => {
  accountPagesService = await startService({ settings: { MOORAGE_BILLING_ENABLED: 'true' } })
})
test.after.always(async () => accountPagesService?.stop())

const get = (path: string) => accountPagesService.send('GET', path)
const idsIn = (html: string): readonly string[] => [...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1] ?? '')
/** The script and the files that it imports, as text. */
const scriptsOf = (file: string): readonly string[] => {
  const source = accountScripts[file]
  if (source === undefined) throw new Error(`there is no script ${file}`)
  return [source, ...[...source.matchAll(/ from '\.\/([^']+)'/g)].flatMap((match) => scriptsOf(match[1] ?? ''))]
}
const usedIds = (source: string): readonly string[] => [
  ...[...source.matchAll(/byId\('([^']+)'\)/g), ...source.matchAll(/onSubmit\('([^']+)'/g)].map(
    (match) => match[1] ?? '',
  ),
  ...[...source.matchAll(/show(?:Only|Part)\(([^()]*)\)/g), ...source.matchAll(/const parts = \[([^\]]*)\]/g)].flatMap(
    (match) => [...(match[1] ?? '').matchAll(/'([^']+)'/g)].map((quoted) => quoted[1] ?? ''),
  ),
]

for (const name of names) {
  test(`/${name} is a page that is not cached and runs scripts of this service only`, async (t) => {
    const { status, headers, text } = await get(`/${name}?code=Zk3vWq81`)
    t.is(status, 200)
    t.is(headers['content-type'], 'text/html; charset=utf-8')
    t.is(headers['cache-control'], 'no-store')
    t.is(headers['referrer-policy'], 'no-referrer')
    const policy = String(headers['content-security-policy'])
    for (const directive of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]) {
      t.true(policy.split('; ').includes(directive), directive)
    }
    t.false(policy.includes('unsafe'))
    t.false(text.includes('Zk3vWq81'), 'the code is not written into the page')
    t.notRegex(text, /<script>| on[a-z]+="| style="|(?:src|href|action)="(?:https?:)?\/\//)
    const script = /<script type="module" src="([^"]+)"><\/script>/.exec(text)?.[1] ?? ''
    t.is(script, `./account/${name}.js`)
  })

  test(`/${name}: every field has a label and a hint, and scripts find their fields`, async (t) => {
    const html = (await get(`/${name}`)).text
    const ids = idsIn(html)
    t.is(new Set(ids).size, ids.length, 'ids are unique')
    t.true(ids.includes('message'))
    t.regex(html, /id="message"[^>]*aria-live="polite"/)
    for (const [input] of html.matchAll(/<input[^>]*>/g)) {
      const id = / id="([^"]+)"/.exec(input)?.[1] ?? ''
      t.true(html.includes(`for="${id}"`), input)
      if (!input.includes('type="checkbox"')) t.regex(input, / autocomplete="[^"]+"/)
      const hint = / aria-describedby="([^"]+)"/.exec(input)?.[1]
      t.true(hint === undefined || ids.includes(hint), input)
      t.is(/password/.test(id), input.includes('type="password"'), input)
    }
    const used = scriptsOf(`${name}.js`).flatMap(usedIds)
    t.true(used.length > 3)
    for (const id of used) t.true(ids.includes(id), id)
  })
}

test('each kind of secret is marked for browsers', async (t) => {
  const hintsOn = async (name: string) =>
    [...(await get(`/${name}`)).text.matchAll(/ autocomplete="([^"]+)"/g)].flatMap((match) => match[1]?.split(' '))
  for (const hint of ['username', 'webauthn', 'current-password', 'new-password', 'one-time-code'])
    t.true((await hintsOn('sign-in')).includes(hint), hint)
  t.is((await hintsOn('reset-password')).filter((hint) => hint === 'new-password').length, 2)
})

test('the scripts are served as scripts, parse, and make no HTML out of text', async (t) => {
  for (const [file, source] of Object.entries(accountScripts)) {
    const answer = await get(`/account/${file}`)
    t.is(answer.headers['content-type'], 'text/javascript; charset=utf-8', file)
    t.is(answer.text, source)
    // As a module it may import, export and await at its top, which a plain script may not.
    const plain = source
      .replaceAll(/^import .*$/gm, '')
      .replaceAll(/^export /gm, '')
      .replaceAll('import.meta', 'meta')
    t.notThrows(() => new Script(`(async () => {${plain}\n})`), file)
    t.notRegex(source, /innerHTML|insertAdjacent|document\.write|eval\(|https?:/, file)
  }
})

test('opening a page of a mail does not use up its code: a GET changes nothing', async (t) => {
  for (const file of ['confirm-email.js', 'reset-password.js']) {
    const atOnce = (accountScripts[file] ?? '').split(/^onSubmit\(/m)[0] ?? ''
    t.notRegex(atOnce, /ask\(/, file)
  }
  t.notRegex((accountScripts['accept-invitation.js'] ?? '').split(/^const show = /m)[1] ?? '', /'PUT'/)
})

test('an unknown page is 404 with the start page', async (t) => {
  for (const path of ['/account/none', '/account/x/', '/sign-in/x', '/account/__proto__']) {
    const { status, text, headers } = await get(path)
    t.is(status, 404, path)
    t.is(headers['content-type'], 'text/html; charset=utf-8', path)
    const linked = [...text.matchAll(/href="([^"]+)"/g)].map(
      (found) => new URL(found[1] ?? '', `http://host${path}`).pathname,
    )
    t.true(linked.includes('/sign-in') && linked.includes('/api/v1/docs'), path)
  }
  for (const path of ['/.env', '/.git/config', '/etc/passwd', '/account/none.js']) {
    const { status, json } = await get(path)
    t.deepEqual([status, json.code], [404, 'NotFound'], path)
  }
})

/** A body that is held back must not carry a right over the moment in which it is taken away. */
let heldBodyService: TestService
test.before(async () => {
  heldBodyService = await startService()
})
test.after.always(() => heldBodyService.stop())

const personPassword = 'quiet-harbour-lantern-7'
const makePerson = async (login: string): Promise<string> => {
  const body = { username: login, email: `${login}@example.com`, password: personPassword, must_change_password: false }
  const made = await heldBodyService.send('POST', '/api/v1/admin/users', { basic: [adminLogin, adminPassword], body })
  if (made.status !== 201) throw new Error(made.text)
  return heldBodyService.tokenFor(login)
}

/** Sends a request but for the last bytes of its body. Answers how to send those and hear the status. */
const hold = async (method: string, path: string, token: string, value: object): Promise<() => Promise<number>> => {
  const body = JSON.stringify(value)
  const socket = connect(Number(new URL(heldBodyService.baseUrl).port), '127.0.0.1')
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: token ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    '',
  ]
  socket.write(lines.join('\r\n') + body.slice(0, 5))
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = once(socket, 'close')
  await sleep(300)
  return async () => {
    await sleep(1_200)
    socket.write(body.slice(5))
    await closed
    return Number(Buffer.concat(chunks).toString('latin1').split(' ')[1])
  }
}

test('a token that is revoked while a body is held back makes no other token', async (t) => {
  const token = await makePerson('holder')
  const other = await heldBodyService.tokenFor('holder')
  const release = await hold('POST', '/api/v1/user/settings/tokens/access-tokens', token, {
    name: 'planted',
    expTime: 0,
  })
  const changed = await heldBodyService.send('POST', '/api/v1/user/settings/account/password', {
    token: other,
    body: { old_password: personPassword, password: 'another-lantern-over-water-18', revoke_tokens: true },
  })
  t.is(changed.status, 200)
  t.is(await release(), 401)
})

test('a right that is taken away while a body is held back changes nothing any more', async (t) => {
  const [owner, editor] = [await makePerson('keeper'), await makePerson('former')]
  t.is((await heldBodyService.send('POST', '/api/v1/orgs', { token: owner, body: { username: 'held' } })).status, 201)
  const role = (name: string) =>
    heldBodyService.send('PUT', '/api/v1/orgs/held/memberships/former', { token: owner, body: { role: name } })
  t.is((await role('owner')).status, 200)
  const release = await hold('PATCH', '/api/v1/orgs/held', editor, { description: 'mine' })
  t.is((await role('member')).status, 200)
  t.is(await release(), 403)
})

test('a slow body of someone who may is taken', async (t) => {
  const token = await makePerson('patient')
  const release = await hold('POST', '/api/v1/user/settings/tokens/access-tokens', token, { name: 'slow', expTime: 0 })
  t.is(await release(), 201)
})

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
  const json = /^[[{]/.test(text) ? (JSON.parse(text) as object) : undefined
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  return { status: reply.statusCode, headers: reply.headers, text, json: json as any }
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
  const service = await startService({
    settings: { MOORAGE_BASE_URL: 'https://platform.example', MOORAGE_LISTEN: address },
  })
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
      t.is(
        (await ask(`${origin}/api/v1/openapi.json`, forwarded)).json.servers[0].url,
        'https://platform.example/api/v1',
        origin,
      )
    }
  } finally {
    await service.stop()
    await plain.stop()
  }
})

test('without a base URL, answers use the address of the request', async (t) => {
  const service = await startService({ settings: { MOORAGE_TRUSTED_PROXIES: '127.0.0.1' } })
  const authorization = `token ${service.adminToken}`
  const post = (path: string, body: object) =>
    service.send('POST', `/api/v1${path}`, { token: service.adminToken, body })
  try {
    const image = (
      await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
        .png()
        .toBuffer()
    ).toString('base64')
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
      [
        `http://${host}`,
        { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'platform.example' },
        'https://platform.example',
      ],
      [
        `http://${host}`,
        { 'x-forwarded-proto': 'gopher, HTTPS', 'x-forwarded-host': 'evil.example, platform.example' },
        'https://platform.example',
      ],
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
      t.true(
        (await ask(`${origin}/api/v1/orgs/after`, headers)).json.avatar_url.startsWith(`${named}/api/v1/avatars/`),
        what,
      )
      t.is(
        (await ask(`${origin}/api/v1/orgs/nothing`, headers)).json.url,
        `${named}/api/v1/docs#operation/organizations.getOrganization`,
        what,
      )
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
