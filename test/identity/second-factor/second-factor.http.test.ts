import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { create } from 'qrcode'
import sharp from 'sharp'
import { codeIn, readMailFolder } from '../../mail/mail-folder.ts'
import type { SendOptions, ServiceAnswer } from '../../support/send-json.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'
import { codeAt } from '../one-time-code-of.ts'

let service: TestService
const password = 'a long passphrase'
const security = '/user/settings/security'
test.before(async () => {
  service = await startService()
})
test.after.always(() => service?.stop())

const send = (method: string, path: string, options?: SendOptions) => service.send(method, `/api/v1${path}`, options)
/**
 * The service's clock is this process's. A step may end between making a code and its check, so `enrolling` is good in
 * this step and the next; `fresh` is newer than what enrolled, and is good in two steps as well.
 */
const enrolling = (seed: string): string => codeAt(seed, new Date())
const fresh = (seed: string): string => codeAt(seed, new Date(), 1)

const makeUser = async (login: string): Promise<readonly [string, string]> => {
  const body = { username: login, email: `${login}@example.org`, password, must_change_password: false }
  const made = await send('POST', '/admin/users', { token: service.adminToken, body })
  if (made.status !== 201) throw new Error(made.text)
  return [login, password]
}
const offered = async (options: SendOptions): Promise<{ twoFASecret: string; twoFAImageURL: string }> =>
  (await send('GET', `${security}/twofa/enroll`, options)).json
const enrolled = async (options: SendOptions) => {
  const seed = (await offered(options)).twoFASecret
  const answer = await send('POST', `${security}/twofa/enroll`, { ...options, body: { passCode: enrolling(seed) } })
  if (answer.status !== 200) throw new Error(answer.text)
  return { seed, codes: (answer.json as string).split('\n') }
}
const withCode = (code: string, name = 'X-OTP') => ({ headers: { [name]: code } })

/** A browser's headers after signing in. */
const signedIn = async (login: string): Promise<SendOptions> => {
  const answer = await send('POST', '/user/signin', { body: { username: login, password } })
  const cookies = [answer.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0] ?? '')
  const csrf = cookies.find((cookie) => cookie.startsWith('_csrf='))?.slice('_csrf='.length) ?? ''
  return { headers: { Cookie: cookies.join('; '), 'X-Csrf-Token': csrf } }
}
const isCodeRequired = ({ status, headers, json }: ServiceAnswer): boolean =>
  status === 401 &&
  headers['x-otp'] === 'required; totp' &&
  typeof json.message === 'string' &&
  typeof json.url === 'string'

/** The modules of a QR code in a PNG that was drawn with a margin of four of them. */
const modulesOf = async (dataUrl: string, size: number): Promise<readonly boolean[]> => {
  const { data, info } = await sharp(Buffer.from(dataUrl.slice('data:image/png;base64,'.length), 'base64'))
    .greyscale()
    .raw()
    .toBuffer({ resolveWithObject: true })
  const scale = info.width / (size + 8)
  const isDark = (x: number, y: number): boolean =>
    (data[Math.floor((y + 4.5) * scale) * info.width * info.channels + Math.floor((x + 4.5) * scale) * info.channels] ??
      255) < 128
  return Array.from({ length: size * size }, (_, i) => isDark(i % size, Math.floor(i / size)))
}

test('the picture is a PNG with the secret for an app', async (t) => {
  const { twoFASecret, twoFAImageURL } = await offered({ basic: await makeUser('picture') })
  t.regex(twoFASecret, /^[A-Z2-7]{32}$/)
  t.true(twoFAImageURL.startsWith('data:image/png;base64,'))
  const uri = `otpauth://totp/Moorage%20(127.0.0.1):picture?issuer=Moorage%20(127.0.0.1)&secret=${twoFASecret}&algorithm=SHA1&digits=6&period=30`
  const { modules } = create(uri, { errorCorrectionLevel: 'M' })
  t.deepEqual(
    await modulesOf(twoFAImageURL, modules.size),
    [...modules.data].map((module) => module === 1),
  )
})

test('the life of a second factor over HTTP', async (t) => {
  const basic = await makeUser('life')
  const status = async (code?: string) =>
    (await send('GET', `${security}/`, { basic, ...(code === undefined ? {} : withCode(code)) })).json
  t.deepEqual(await status(), { twoFAEnrolled: false })
  t.is((await send('POST', `${security}/twofa/enroll`, { basic, body: { passCode: '123456' } })).status, 422)
  const { seed, codes } = await enrolled({ basic })
  t.is(codes.length, 10)
  t.true(codes.every((code) => /^[0-9a-z]{4}(-[0-9a-z]{4}){5}$/.test(code)))
  t.true(isCodeRequired(await send('GET', '/user', { basic })))
  t.deepEqual(await status(fresh(seed)), { twoFAEnrolled: true })
  const token = await service.tokenFor('life')
  t.deepEqual((await send('GET', `${security}/`, { token })).json, { twoFAEnrolled: true }, 'nothing but whether')
  t.is((await send('GET', `${security}/twofa/enroll`, { token })).status, 409)
  t.is((await send('POST', `${security}/twofa/enroll`, { token, body: { passCode: fresh(seed) } })).status, 409)
  const renewed = await send('POST', `${security}/twofa/regenerate_scratch`, { basic, ...withCode(codes[0] ?? '') })
  t.is((renewed.json as string).split('\n').length, 10)
  t.true(isCodeRequired(await send('GET', '/user', { basic, ...withCode(codes[1] ?? '') })))
  const off = await send('POST', `${security}/twofa/disable`, {
    basic,
    ...withCode((renewed.json as string).split('\n')[0] ?? ''),
  })
  t.deepEqual([off.status, off.text], [200, ''])
  t.deepEqual(await status(), { twoFAEnrolled: false })
  t.is((await send('POST', `${security}/twofa/disable`, { basic })).status, 409)
})

test('HTTP Basic takes one code from X-OTP or its older names', async (t) => {
  const basic = await makeUser('headers')
  const { seed, codes } = await enrolled({ basic })
  const user = (headers: Record<string, string>) => send('GET', '/user', { basic, headers })
  const code = fresh(seed)
  t.is((await user({ 'X-OTP': code, 'X-Gitea-OTP': codes[0] ?? '' })).status, 401)
  t.is((await user({ 'X-Gitea-OTP': code, 'X-Forgejo-OTP': '000000' })).status, 401)
  t.is(
    (await user({ 'X-Gitea-OTP': code, 'X-Forgejo-OTP': code })).status,
    200,
    'the refusals above used nothing up; the same twice is one',
  )
  t.is((await user({ 'X-Forgejo-OTP': codes[0] ?? '' })).status, 200)
  t.is((await user({ 'X-Gitea-OTP': codes[1] ?? '' })).status, 200)
  t.is((await user({ 'X-OTP': codes[2] ?? '' })).status, 200)
  t.true(isCodeRequired(await user({ 'X-OTP': codes[2] ?? '' })))
  t.is(
    (await send('GET', '/user', { basic: ['headers', 'wrong'], ...withCode(codes[3] ?? '') })).headers['x-otp'],
    undefined,
    'only after the right password',
  )
  t.is((await send('GET', '/user')).headers['x-otp'], undefined)
})

test('a code is judged and used up where it travels', async (t) => {
  const basic = await makeUser('thrifty')
  const { seed, codes } = await enrolled({ basic })
  const tokens = '/users/thrifty/tokens'
  const named = (name: string) => ({ body: { name } })
  for (const code of [fresh(seed), codes[0] ?? '']) {
    const withIt = { basic, ...withCode(code) }
    // What needs no sign-in, and what is refused whoever asks.
    for (const path of ['/version', '/users/thrifty', '/users/search?q=th'])
      t.is((await send('GET', path, withIt)).status, 200, path)
    t.is((await send('GET', '/users/thrifty', withIt)).json.email, 'thrifty@example.org', 'proven there all the same')
    t.is((await send('GET', '/nothing', withIt)).status, 404)
    t.is((await send('GET', '/admin/users', withIt)).status, 403)
    t.is((await send('GET', '/orgs/nothing/teams', withIt)).status, 404)
    t.is((await send('POST', tokens, { ...withIt, body: { name: '' } })).status, 422)
    t.is((await send('POST', tokens, { ...withIt, body: '{' })).status, 422)
    t.is(
      (
        await send('POST', tokens, {
          ...withIt,
          headers: { ...withIt.headers, 'Content-Type': 'text/plain' },
          body: '{}',
        })
      ).status,
      415,
    )
    t.is((await send('GET', `${tokens}?page=x&page=y`, withIt)).status, 400)
    // One request makes a token; then the code is gone, everywhere.
    const made = await send('POST', tokens, { ...withIt, ...named(code) })
    t.is(made.status, 201, made.text)
    t.is((await send('GET', '/user', { token: made.json.sha1 })).status, 200)
    for (const path of ['/version', tokens]) t.true(isCodeRequired(await send('GET', path, withIt)), path)
  }
  t.true(isCodeRequired(await send('GET', '/version', { basic, ...withCode('000000') })), 'a wrong one never is fine')
  const [one = '', two = ''] = codes.slice(1)
  const race = await Promise.all(
    [1, 2, 3, 4].map((n) => send('POST', tokens, { basic, ...withCode(one), ...named(`race ${n}`) })),
  )
  t.deepEqual(race.map(({ status }) => status).toSorted(), [201, 401, 401, 401])
  const sudo = { headers: { ...withCode(two).headers, Sudo: 'admin' } }
  t.is((await send('GET', '/user', { basic, ...sudo })).status, 403)
  t.is((await send('GET', '/user', { basic, ...withCode(two) })).status, 200, 'a refused sudo used nothing up')
})

test('the response without a code explains how a program gets a token in one request', async (t) => {
  const basic = await makeUser('told')
  await enrolled({ basic })
  const refused = [
    await send('GET', '/user', { basic }),
    await send('POST', '/user/signin', { body: { username: 'told', password } }),
  ]
  t.deepEqual(
    refused.map(({ status }) => status),
    [401, 405],
  )
  for (const { json } of refused)
    t.regex(json.message, /POST \/users\/\{username\}\/tokens with .*HTTP Basic and .*X-OTP/)
})

test('sign-in is 405 for an enrolled account only after the right password', async (t) => {
  const basic = await makeUser('doors')
  const signIn = (text: string) => send('POST', '/user/signin', { body: { username: 'doors', password: text } })
  t.is((await signIn(password)).status, 200)
  await enrolled({ basic })
  t.is((await signIn('wrong')).status, 404)
  const right = await signIn(password)
  t.is(right.status, 405)
  t.is(right.headers['set-cookie'], undefined)
  t.is(typeof right.headers['allow'], 'string')
})

test('a session or a token alone neither switches off nor makes recovery codes', async (t) => {
  await makeUser('proof')
  const browser = await signedIn('proof')
  const { seed } = await enrolled(browser)
  const token = await service.tokenFor('proof')
  for (const carrier of [browser, { token }]) {
    for (const route of ['disable', 'regenerate_scratch']) {
      for (const body of [
        undefined,
        {},
        { password },
        { passCode: fresh(seed) },
        { password: 'wrong', passCode: fresh(seed) },
      ]) {
        const answer = await send('POST', `${security}/twofa/${route}`, { ...carrier, body })
        t.is(answer.status, 403, `${route} ${JSON.stringify(body)}`)
        t.is(answer.json.code, 'ProofRequired')
      }
    }
  }
  t.is(
    (await send('POST', `${security}/twofa/disable`, { token, body: { password, passcode: '1' } })).status,
    422,
    'a misspelt key proves nothing',
  )
  t.is((await send('POST', `${security}/twofa/disable`, { token, body: { password: 1 } })).status, 422)
  const renewed = await send('POST', `${security}/twofa/regenerate_scratch`, {
    ...browser,
    body: { password, passCode: fresh(seed) },
  })
  t.is(renewed.status, 200)
  const off = await send('POST', `${security}/twofa/disable`, {
    token,
    body: { password, passCode: (renewed.json as string).split('\n')[3] },
  })
  t.is(off.status, 200)
  t.is((await send('GET', '/user', browser)).status, 401, 'switched off with a token: every session has ended')
})

test('enrolling in a browser ends the sessions of the others', async (t) => {
  await makeUser('others')
  const [here, elsewhere] = [await signedIn('others'), await signedIn('others')]
  const token = await service.tokenFor('others')
  await enrolled(here)
  t.deepEqual([(await send('GET', '/user', here)).status, (await send('GET', '/user', elsewhere)).status], [200, 401])
  t.is((await send('GET', '/user', { token })).status, 200, 'access tokens stay')
})

test('the second factor cannot change while acting as another or read-only', async (t) => {
  await makeUser('acted')
  const sudo = { token: service.adminToken, headers: { Sudo: 'acted' } }
  t.is((await send('GET', '/user', sudo)).json.login, 'acted')
  t.is((await send('GET', `${security}/twofa/enroll`, sudo)).status, 403)
  for (const [route, body] of [
    ['enroll', { passCode: '123456' }],
    ['regenerate_scratch', { password, passCode: '1' }],
    ['disable', { password, passCode: '1' }],
  ] as const) {
    t.is((await send('POST', `${security}/twofa/${route}`, { ...sudo, body })).status, 403, route)
  }
  const token = await service.tokenFor('acted', ['read:user'])
  t.is((await send('GET', `${security}/`, { token })).status, 200)
  t.is((await send('GET', `${security}/twofa/enroll`, { token })).status, 403)
  t.is((await send('POST', `${security}/twofa/disable`, { token, body: { password } })).status, 403)
})

test('a site admin removes the second factor of a user, with 404 where there is none', async (t) => {
  const [basic, other] = [await makeUser('lost'), await makeUser('curious')]
  const remove = (login: string, options: SendOptions = { token: service.adminToken }) =>
    send('DELETE', `/admin/users/${login}/twofa`, options)
  t.deepEqual([(await remove('nobody')).status, (await remove('lost')).status], [404, 404])
  await enrolled({ basic })
  t.is((await remove('lost', { basic: other })).status, 403)
  t.is((await remove('lost', { token: await service.tokenFor('admin', ['read:admin']) })).status, 403)
  t.is((await remove('lost')).status, 204)
  t.is((await remove('lost')).status, 404)
  t.is((await send('GET', '/user', { basic })).status, 200)
})

test('a retry under one Idempotency-Key returns the same recovery codes', async (t) => {
  const basic = await makeUser('retry')
  const seed = (await offered({ basic })).twoFASecret
  const token = await service.tokenFor('retry')
  const headers = { 'Idempotency-Key': 'enroll-1' }
  const body = { passCode: enrolling(seed) }
  const enroll = () => send('POST', `${security}/twofa/enroll`, { token, headers, body })
  const first = await enroll()
  t.is(first.status, 200)
  t.is(first.text, (await enroll()).text)
  const codes = (first.json as string).split('\n')
  const again = (code: string) =>
    send('POST', `${security}/twofa/regenerate_scratch`, {
      basic,
      headers: { 'Idempotency-Key': 'codes-1', 'X-OTP': code },
    })
  const renewed = await again(codes[0] ?? '')
  t.is(renewed.status, 200)
  t.true(isCodeRequired(await again(codes[1] ?? '')), 'a retry is authenticated like any other request')
  const replay = await again((renewed.json as string).split('\n')[0] ?? '')
  t.deepEqual([replay.text, replay.headers['idempotency-replayed']], [renewed.text, 'true'])
  t.is(
    (await send('POST', `${security}/twofa/regenerate_scratch`, { token, headers: { 'Idempotency-Key': 'codes-1' } }))
      .status,
    403,
  )
})

test('no secret of a second factor is in the log or in the audit log', async (t) => {
  const basic = await makeUser('quiet')
  const { seed, codes } = await enrolled({ basic })
  const code = fresh(seed)
  await send('GET', '/user', { basic, ...withCode(code) })
  await send('GET', '/user', { basic, ...withCode(codes[0] ?? '') })
  await send('POST', `${security}/twofa/disable`, {
    token: await service.tokenFor('quiet'),
    body: { password, passCode: 'zzzz-zzzz-zzzz-zzz9' },
  })
  const audit = await send('GET', '/admin/audit?limit=50', { token: service.adminToken })
  t.true(audit.text.includes('second_factor.recovery_code_used'))
  for (const clear of [seed, ...codes, 'zzzz-zzzz-zzzz-zzz9', password])
    t.false(service.logText().includes(clear) || audit.text.includes(clear), clear)
  t.true(service.logText().includes('identity.enrollSecondFactor'))
})

test('a password that was set by the code of a mail does not replace the second factor', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-mails-'))
  const service = await startService({ settings: { MOORAGE_MAIL: `folder:${folder}` } })
  t.teardown(async () => {
    await service.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const send: typeof service.send = (method, path, options) => service.send(method, `/api/v1${path}`, options)
  const [password, newPassword] = ['a long passphrase', 'another long phrase']
  const user = { username: 'ada', email: 'ada@example.org', password, must_change_password: false }
  t.is((await send('POST', '/admin/users', { token: service.adminToken, body: user })).status, 201)
  const basic = ['ada', password] as const
  const seed = ((await send('GET', '/user/settings/security/twofa/enroll', { basic })).json as { twoFASecret: string })
    .twoFASecret
  t.is(
    (
      await send('POST', '/user/settings/security/twofa/enroll', {
        basic,
        body: { passCode: codeAt(seed, new Date()) },
      })
    ).status,
    200,
  )
  t.is((await send('POST', '/user/forgot-password', { body: { email: user.email } })).status, 202)
  const mails = readMailFolder(folder)
  await mails.nth(user.email, 2)
  const mail = (await mails.to(user.email)).find(({ subject }) => subject === 'Set a new password')
  t.is(
    (
      await send('POST', '/user/reset-password', {
        body: { code: codeIn(mail ?? (await mails.nth(user.email, 3))), password: newPassword },
      })
    ).status,
    200,
  )
  t.is((await send('POST', '/user/signin', { body: { username: 'ada', password: newPassword } })).status, 405)
  t.is((await send('GET', '/user', { basic: ['ada', newPassword] })).headers['x-otp'], 'required; totp')
  const passCode = codeAt(seed, new Date(), 1)
  t.is(
    (await send('POST', '/user/signin/twofa', { body: { username: 'ada', password: newPassword, passCode } })).status,
    200,
  )
})
