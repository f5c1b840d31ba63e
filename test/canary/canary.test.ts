// process: own - starts a service as a process
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { sha256TokenDigest } from '../../adapters/security/digests.ts'
import { hasAccessTokenForm } from '../../core/identity/tokens/access-tokens.ts'
import { sample as clusters } from '../clusters/sample.ts'
import { codeAt } from '../identity/one-time-code-of.ts'
import type { MailFolder } from '../mail/mail-folder.ts'
import { codeIn, readMailFolder } from '../mail/mail-folder.ts'
import { startPopulatedService } from '../support/populated-service.ts'
import type { PopulatedService } from '../support/populated-service.ts'
import { targetOf } from '../support/route-targets.ts'
import type { SendOptions } from '../support/send-json.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { leaks, makeCanaries } from './canaries.ts'

const basic = (login: string, word: string): string => `Basic ${Buffer.from(`${login}:${word}`).toString('base64')}`

const kubeconfig = (token: string, key: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'a', user: { token, 'client-key-data': Buffer.from(key).toString('base64'), password: token } }],
  })

type Said = { readonly where: string; readonly text: string }

/** Sends secrets wherever the service takes one, rightly and wrongly, and gathers all that it says meanwhile. */
const sendSecrets = async (
  service: PopulatedService,
  mails: MailFolder,
  canaries: ReturnType<typeof makeCanaries>,
): Promise<readonly Said[]> => {
  const said: Said[] = []
  const ask = async (
    method: string,
    path: string,
    options: SendOptions = {},
    isShownOnce = false,
  ): Promise<{ status: number; json: unknown }> => {
    const answer = await service.send(method, path, options)
    if (!isShownOnce)
      said.push({
        where: `${method} ${path.split('?')[0] ?? ''}: ${answer.status}`,
        text:
          answer.text +
          JSON.stringify(
            Object.entries(answer.headers).filter(([name]) => !['set-cookie', 'x-ignored-fields'].includes(name)),
          ),
      })
    return { status: answer.status, json: answer.json as unknown }
  }
  const admin = { token: service.adminToken }
  const word = canaries.fresh('password')
  await ask('POST', '/api/v1/admin/users', {
    ...admin,
    body: { username: 'carol', email: 'carol@example.com', password: word, must_change_password: false },
  })
  await ask('POST', '/api/v1/admin/users', {
    ...admin,
    body: { username: 'carol', email: 7, password: canaries.fresh('password of a refused user') },
  })
  await ask('POST', '/api/v1/user/signin', {
    body: { username: 'carol', password: canaries.fresh('wrong password'), remember: false },
  })
  await ask('POST', '/api/v1/user/signin', {
    body: { username: canaries.fresh('password as the name'), password: word },
  })
  await ask('POST', '/api/v1/user/signin', {
    body: `{"username":"carol","password":"${canaries.fresh('password in broken JSON')}"`,
  })
  const signedIn = await service.send('POST', '/api/v1/user/signin', {
    body: { username: 'carol', password: word, remember: true },
  })
  const cookies = [signedIn.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0] ?? '')
  for (const cookie of cookies)
    canaries.keep(`cookie ${cookie.split('=')[0] ?? ''}`, decodeURIComponent(cookie.split('=')[1] ?? ''))
  await ask('GET', '/api/v1/user', { headers: { cookie: cookies.join('; ') } })
  await ask('GET', '/api/v1/user', { headers: { cookie: `moorage_session=${canaries.fresh('forged cookie')}` } })
  await ask('PATCH', '/api/v1/user/settings', {
    headers: { cookie: cookies.join('; '), 'x-csrf-token': canaries.fresh('forged CSRF value') },
    body: {},
  })
  const made = await ask(
    'POST',
    '/api/v1/users/carol/tokens',
    { basic: ['carol', word], body: { name: 'first' } },
    true,
  )
  const token = canaries.keep('access token', (made.json as { sha1: string }).sha1)
  await ask('GET', '/api/v1/users/carol/tokens', { basic: ['carol', word] })
  const spare = (
    await ask(
      'POST',
      '/api/v1/user/settings/tokens/access-tokens',
      { basic: ['carol', word], body: { name: 'spare' } },
      true,
    )
  ).json as { id: number; token: string }
  canaries.keep('access token to be rotated', spare.token)
  const rotated = await ask(
    'POST',
    `/api/v1/user/settings/tokens/access-tokens/${spare.id}/rotate`,
    { token: spare.token, headers: { 'idempotency-key': 'rotated' } },
    true,
  )
  canaries.keep('rotated access token', (rotated.json as { token: string }).token)
  await ask('GET', `/api/v1/user?token=${token}`)
  await ask('GET', `/api/v1/users/${encodeURIComponent('carol')}/followers?access_token=${token}`)
  await ask('GET', `/api/v1/orgs?page=1&limit=1&token=${token}`)
  await ask('GET', `/api/v1/user?token=${canaries.fresh('forged query token')}`)
  await ask('GET', '/api/v1/user', { headers: { authorization: `token ${canaries.fresh('forged token')}` } })
  await ask('GET', '/api/v1/user', { headers: { authorization: `Digest ${canaries.fresh('other scheme')}` } })
  await ask('GET', '/api/v1/user', {
    headers: { authorization: basic('carol', canaries.fresh('wrong Basic password')) },
  })
  await ask('GET', '/api/v1/users/carol/tokens', {
    headers: { authorization: basic('carol', word), 'x-otp': canaries.fresh('one-time code') },
  })
  await ask('POST', '/api/v1/user/settings/account/password', {
    token,
    body: { old_password: word, password: canaries.fresh('new password'), retype: canaries.fresh('other retype') },
  })
  const next = canaries.fresh('changed password')
  await ask('POST', '/api/v1/user/settings/account/password', {
    token,
    body: { old_password: word, password: next, retype: next },
  })
  const deletion = '/api/v1/user/settings/account/delete'
  await ask('POST', deletion, {
    token,
    body: {
      password: canaries.fresh('wrong password for a deletion'),
      passCode: canaries.fresh('code for a deletion'),
    },
  })
  await ask('POST', `${deletion}?password=${canaries.fresh('password in the query')}`, { token })
  await ask('POST', '/api/v1/admin/users/carol/change-password', {
    ...admin,
    body: { password: canaries.fresh('password set by an admin') },
  })
  const security = '/api/v1/user/settings/security/twofa'
  const offered = await ask('GET', `${security}/enroll`, { token }, true)
  const seed = canaries.keep('seed of the second factor', (offered.json as { twoFASecret: string }).twoFASecret)
  await ask('POST', `${security}/enroll`, { token, body: { passCode: canaries.fresh('wrong first code') } })
  const enrolled = await ask(
    'POST',
    `${security}/enroll`,
    { token, body: { passCode: codeAt(seed, new Date()) } },
    true,
  )
  const recoveryCodes = (enrolled.json as string).split('\n')
  for (const code of recoveryCodes)
    for (const form of [code, code.replaceAll('-', '')]) canaries.keep('recovery code', form)
  await ask('GET', '/api/v1/user/settings/security', { token })
  await ask('GET', `${security}/enroll`, { token })
  await ask('GET', '/api/v1/user', {
    headers: { authorization: basic('carol', next), 'x-otp': canaries.fresh('wrong recovery code') },
  })
  await ask('GET', '/api/v1/user', {
    headers: { authorization: basic('carol', next), 'x-gitea-otp': recoveryCodes[0] ?? '' },
  })
  await ask('POST', `${security}/disable`, {
    token,
    body: { password: canaries.fresh('wrong password as proof'), passCode: canaries.fresh('wrong code as proof') },
  })
  await ask('POST', '/api/v1/user/emails', { basic: ['carol', 'x'], body: { emails: ['carol@second.example'] } })
  await ask('POST', '/api/v1/user/emails', { token, body: { emails: ['carol@second.example'] } })
  const confirmation = canaries.keep('confirmation code', codeIn(await mails.nth('carol@second.example', 1)))
  await ask('POST', `/api/v1/user/activate?code=${canaries.fresh('code in the query')}`, {
    body: { code: canaries.fresh('wrong confirmation code') },
  })
  await ask('POST', '/api/v1/user/activate', { body: { code: confirmation } })
  await ask('POST', '/api/v1/user/forgot-password', {
    body: { email: canaries.fresh('password where the address belongs') },
  })
  await ask('POST', '/api/v1/user/forgot-password', { body: { email: 'carol@second.example' } })
  const reset = canaries.keep('reset code', codeIn(await mails.nth('carol@second.example', 2)))
  await ask('POST', '/api/v1/user/reset-password', { body: { code: reset, password: 'short' } })
  await ask('POST', '/api/v1/user/reset-password', {
    body: { code: reset, password: canaries.fresh('password set by a code') },
  })
  for (const path of ['check', 'validate', 'import']) {
    const config = kubeconfig(
      canaries.fresh(`kubeconfig token of ${path}`),
      canaries.fresh(`kubeconfig key of ${path}`),
    )
    for (const body of [
      { basicInfo: { name: 'c' }, provider: { accessConfig: config } },
      { basicInfo: { name: 'c' }, credential: { kubeConfig: config }, kubeConfig: config },
      config,
    ]) {
      await ask('POST', `/api/v1/clustersv2/harbour/${path}`, { ...admin, body })
    }
  }
  await ask('POST', '/api/v1/clustersv2/harbour/pier/connect', {
    ...admin,
    body: {
      provider: { accessConfig: kubeconfig(canaries.fresh('connected token'), canaries.fresh('connected key')) },
    },
  })
  for (const [name, type, block] of [
    ['one', 'Aws', { accessKeyID: 'AKIA' }],
    ['two', 'Nothing', {}],
    ['three', 'Aws', { [canaries.fresh('a field of a credential')]: 1 }],
  ] as const) {
    for (const method of ['POST', 'PUT']) {
      await ask(method, '/api/v1/user/credentials', {
        ...admin,
        body: {
          name,
          type,
          aws: { ...block, secretAccessKey: canaries.fresh(`secret of a credential, ${method} ${name}`) },
        },
      })
    }
  }
  await ask('POST', '/api/v1/user/credentials', {
    ...admin,
    body: { name: 'four', type: 'Aws', secretAccessKey: canaries.fresh('secret in an unexpected key'), aws: {} },
  })
  await ask('GET', '/api/v1/user/credentials')
  await ask('GET', '/api/v1/user/clouds/azure/buckets?credential=one')
  await ask('GET', `/api/v1/clusters/harbour/pier/proxy/api/v1/namespaces?token=${token}`)
  await ask('POST', '/api/v1/orgs', {
    ...admin,
    headers: { 'idempotency-key': canaries.fresh('idempotency key') },
    body: { username: 'quay' },
  })
  // Every route once more with the secrets in its body, whatever it makes of them.
  for (const route of service.running.assembly.routes) {
    if (
      route.bound.kind !== 'json' ||
      route.bound.route.body === undefined ||
      route.bound.route.access.kind === 'password'
    )
      continue
    await ask(route.bound.route.method, targetOf(route, service.fixture), {
      ...admin,
      body: {
        [canaries.fresh('a key')]: 1,
        password: [canaries.fresh('a password of another type')],
        scopes: { a: canaries.fresh('a scope') },
      },
    })
  }
  return said
}

const tablesOf = (service: PopulatedService): string => {
  const names = service.rows("select name from sqlite_master where type = 'table'").map(({ name }) => String(name))
  return names
    .map((name) =>
      JSON.stringify(service.rows(`select * from "${name}"`), (_, value: unknown) =>
        typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data)
          ? Buffer.from(value.data as number[]).toString('latin1')
          : value,
      ),
    )
    .join('\n')
}

test.serial('logs, errors, metrics, audit rows, tables and answers contain no secret', async (t) => {
  // Mail is where links and codes belong: its folder alone is not searched.
  const folder = mkdtempSync(join(tmpdir(), 'moorage-canary-mail-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const service = await startPopulatedService({
    MOORAGE_LOG_LEVEL: 'trace',
    MOORAGE_RATE_LIMIT_PER_MINUTE: '0',
    MOORAGE_MAIL: `folder:${folder}`,
  })
  t.teardown(() => service.stop())
  const canaries = makeCanaries()
  const said = await sendSecrets(service, readMailFolder(folder), canaries)
  canaries.keep('token of the site admin', service.adminToken)
  canaries.keep('stored cluster token', service.of(clusters).kubernetes.token)
  t.true(canaries.made.length > 60, `${canaries.made.length} canaries`)
  t.true(said.length > 50, `${said.length} answers`)
  t.true(said.some(({ where }) => where.endsWith(': 200')) && said.some(({ where }) => where.endsWith(': 422')))
  t.true(service.logLines().filter((line) => line['msg'] === 'request').length >= said.length)
  const metrics = await service.send('GET', new URL('/metrics', service.opsUrl).href)
  t.true(metrics.text.includes('moorage_http_requests_total'))
  // A signed-in name is no secret, but what was typed as a name and belongs to nobody may be a password.
  const found = [
    ...said.map(({ where, text }) => ({ where, text })),
    { where: 'log', text: service.logText() },
    { where: 'metrics', text: metrics.text },
    { where: 'tables', text: tablesOf(service) },
    { where: 'database file', text: readFileSync(service.databasePath).toString('latin1') },
  ].flatMap(({ where, text }) => leaks(text, canaries.made).map((leak) => `${leak}: ${where}`))
  t.deepEqual(found, [])
})

test.serial('output, messages and process descriptions contain no secret setting', async (t) => {
  const canaries = makeCanaries()
  const service = await startServiceProcess({
    settings: {
      MOORAGE_ADMIN_PASSWORD: canaries.fresh('admin password'),
      MOORAGE_MARKETPLACE_SECRET: canaries.fresh('marketplace secret'),
      MOORAGE_LOG_LEVEL: 'trace',
    },
  })
  t.teardown(() => service.stop())
  const answers = await Promise.all(
    ['/', '/api/v1/docs', '/api/v1/openapi.json', '/api/v1/version'].map(
      async (path) => (await service.send('GET', path)).text,
    ),
  )
  const commandLine = readFileSync(`/proc/${service.pid}/cmdline`, 'utf8')
  const found = [service.stdout(), service.stderr(), commandLine, ...answers].flatMap((text) =>
    leaks(text, canaries.made),
  )
  t.deepEqual(found, [])
})

test('a leak is found in each form', (t) => {
  const canaries = makeCanaries()
  const value = canaries.fresh('password')
  for (const text of [
    value,
    `x${Buffer.from(`user:${value}`).toString('base64')}`,
    Buffer.from(`a${value}`).toString('base64'),
    Buffer.from(value).toString('hex'),
    encodeURIComponent(value),
  ]) {
    t.true(leaks(`before ${text} after`, canaries.made).length > 0, text)
  }
  t.deepEqual(leaks('nothing here', canaries.made), [])
  t.false(hasAccessTokenForm(value, sha256TokenDigest))
})
