import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import type { MailFolder } from '../../mail/mail-folder.ts'
import { codeIn, readMailFolder } from '../../mail/mail-folder.ts'
import type { ServiceAnswer } from '../../support/send-json.ts'
import type { TestService } from '../../support/service.ts'
import { startService } from '../../support/service.ts'

let service: TestService
let mails: MailFolder
const folder = mkdtempSync(join(tmpdir(), 'moorage-mails-'))
const password = 'a long passphrase'
const newPassword = 'another long phrase'

test.before(async () => {
  service = await startService({ settings: { MOORAGE_MAIL: `folder:${folder}` } })
  mails = readMailFolder(folder)
})
test.after.always(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const send = (...args: Parameters<TestService['send']>) => service.send(args[0], `/api/v1${args[1]}`, args[2])
const makeUser = async (login: string, extra: object = {}): Promise<void> => {
  const made = await send('POST', '/admin/users', {
    token: service.adminToken,
    body: {
      username: login,
      email: `${login}@example.org`,
      password,
      must_change_password: false,
      send_notify: false,
      ...extra,
    },
  })
  if (made.status !== 201) throw new Error(made.text)
}
const as = (login: string, text = password) => ({ basic: [login, text] as const })
const signIn = (username: string, text = password) =>
  send('POST', '/user/signin', { body: { username, password: text } })
const activate = (code: string) => send('POST', '/user/activate', { body: { code } })
const forgot = (email: unknown) => send('POST', '/user/forgot-password', { body: { email } })
const reset = (code: string, text = newPassword) =>
  send('POST', '/user/reset-password', { body: { code, password: text } })
const emailsOf = async (
  login: string,
  text?: string,
): Promise<readonly { id: number; email: string; verified: boolean; primary: boolean }[]> =>
  (await send('GET', '/user/settings/account/email', as(login, text))).json
const idOf = async (login: string, email: string): Promise<number> =>
  (await emailsOf(login)).find((own) => own.email === email)?.id ?? 0
const onEmail = (login: string, method: string, id: number) =>
  send('POST', `/user/settings/account/email?_method=${method}&id=${id}`, as(login))
/** What must not differ: everything but the request's own id and the time. */
const bytesOf = ({ status, headers, text }: ServiceAnswer) => {
  const { 'x-request-id': _id, date: _date, 'ratelimit-remaining': _left, ...rest } = headers
  return { status, headers: rest, text: text.replace(/"requestId":"[^"]*"/, '') }
}

test('an added address serves for nothing until the code of its mail confirms it, once', async (t) => {
  await makeUser('ada')
  const added = await send('POST', '/user/emails', { ...as('ada'), body: { emails: ['ada@second.example'] } })
  t.is(added.status, 201)
  const mail = await mails.nth('ada@second.example', 1)
  t.is(mail.subject, 'Confirm your e-mail address')
  t.true(mail.text?.includes(`${service.baseUrl}/confirm-email?code=${codeIn(mail)}`))
  const id = await idOf('ada', 'ada@second.example')
  t.is((await onEmail('ada', 'PRIMARY', id)).status, 422)
  t.is((await signIn('ada@second.example')).status, 404)
  t.is((await activate(`${codeIn(mail).slice(1)}0`)).status, 422)
  const confirmed = await activate(codeIn(mail))
  t.deepEqual([confirmed.status, confirmed.text, confirmed.headers['set-cookie']], [200, '', undefined])
  t.is((await activate(codeIn(mail))).status, 422, 'once')
  t.is((await signIn('ada@second.example')).status, 200)
  const told = await mails.nth('ada@example.org', 1)
  t.is(told.subject, 'Another e-mail address belongs to your account')
  t.regex(told.text ?? '', /ada@second\.example.* from the address 127\.0\.0\.1/)
})

test('a new code replaces the older one, and a removed address invalidates it', async (t) => {
  await makeUser('bob')
  t.is(
    (await send('POST', '/user/settings/account/email', { ...as('bob'), body: { email: 'bob@second.example' } }))
      .status,
    200,
  )
  const first = codeIn(await mails.nth('bob@second.example', 1))
  const id = await idOf('bob', 'bob@second.example')
  t.is((await onEmail('bob', 'SENDACTIVATION', id)).status, 200)
  const second = codeIn(await mails.nth('bob@second.example', 2))
  t.is((await activate(first)).status, 422)
  t.is((await send('POST', `/user/settings/account/email/delete?id=${id}`, as('bob'))).status, 200)
  t.is((await activate(second)).status, 422)
  for (const method of ['PRIMARY', 'SENDACTIVATION']) t.is((await onEmail('bob', method, id)).status, 422, method)
})

test('another primary address: the old one is notified', async (t) => {
  await makeUser('cleo')
  await send('POST', '/user/settings/account/email', { ...as('cleo'), body: { email: 'cleo@second.example' } })
  await activate(codeIn(await mails.nth('cleo@second.example', 1)))
  const id = await idOf('cleo', 'cleo@second.example')
  await mails.nth('cleo@example.org', 1)
  t.is((await onEmail('cleo', 'PRIMARY', id)).status, 200)
  t.is((await mails.nth('cleo@example.org', 2)).subject, 'Your account has another primary e-mail address')
  t.deepEqual(
    (await emailsOf('cleo')).map(({ email, primary }) => [email, primary]),
    [
      ['cleo@second.example', true],
      ['cleo@example.org', false],
    ],
  )
  t.is(
    (await send('POST', `/user/settings/account/email/delete?id=${id}`, as('cleo'))).status,
    422,
    'the primary one stays',
  )
  t.is((await onEmail('cleo', 'SENDACTIVATION', id)).status, 422, 'nothing to confirm')
})

test('address changes send at most forty mails a day to other people', async (t) => {
  await makeUser('spammer')
  const statuses: number[] = []
  for (let n = 0; n < 41; n++) {
    const body = { emails: [`stranger-${n}@third.example`] }
    statuses.push((await send('POST', '/user/emails', { ...as('spammer'), body })).status)
    await send('DELETE', '/user/emails', { ...as('spammer'), body })
  }
  t.deepEqual([...new Set(statuses.slice(0, 40))], [201])
  const refused = await send('POST', '/user/settings/account/email', {
    ...as('spammer'),
    body: { email: 'stranger-41@third.example' },
  })
  t.deepEqual([statuses[40], refused.status, refused.json.code], [429, 429, 'TooManyMails'])
  t.true(Number(refused.headers['retry-after']) > 3600)
})

test('the settings form of addresses is refused while acting as another user', async (t) => {
  await makeUser('sudoed')
  const acting = { token: service.adminToken, headers: { Sudo: 'sudoed' } }
  t.is(
    (await send('POST', '/user/settings/account/email', { ...acting, body: { email: 'mallory@second.example' } }))
      .status,
    403,
  )
  t.is((await send('POST', '/user/settings/account/email/delete?id=1', acting)).status, 403)
  t.is((await emailsOf('sudoed')).length, 1)
})

test("the ids of another user's addresses cannot be used", async (t) => {
  await makeUser('dora')
  await makeUser('eli')
  await send('POST', '/user/settings/account/email', { ...as('dora'), body: { email: 'dora@second.example' } })
  const id = await idOf('dora', 'dora@second.example')
  const unknown = await onEmail('eli', 'PRIMARY', 999_999)
  for (const method of ['PRIMARY', 'SENDACTIVATION'])
    t.deepEqual(bytesOf(await onEmail('eli', method, id)), bytesOf(unknown), method)
  t.is((await send('POST', `/user/settings/account/email/delete?id=${id}`, as('eli'))).status, 422)
  t.true((await emailsOf('dora')).some((own) => own.id === id))
})

test('five mails an hour to one address, ten addresses an account', async (t) => {
  await makeUser('finn')
  await send('POST', '/user/settings/account/email', { ...as('finn'), body: { email: 'finn@second.example' } })
  const id = await idOf('finn', 'finn@second.example')
  for (let i = 2; i <= 5; i++) {
    await mails.nth('finn@second.example', i - 1)
    t.is((await onEmail('finn', 'SENDACTIVATION', id)).status, 200)
  }
  const sixth = await onEmail('finn', 'SENDACTIVATION', id)
  t.is(sixth.status, 429)
  t.true(Number(sixth.headers['retry-after']) > 3000)
  t.is(
    (await activate(codeIn(await mails.nth('finn@second.example', 5)))).status,
    200,
    'the last code that was sent still counts',
  )

  const many = Array.from({ length: 9 }, (_, i) => `finn${i}@many.example`)
  t.is((await send('POST', '/user/emails', { ...as('finn'), body: { emails: many } })).status, 422)
  t.is((await send('POST', '/user/emails', { ...as('finn'), body: { emails: many.slice(1) } })).status, 201)
  t.is((await emailsOf('finn')).length, 10)
})

test('"forgot password" answers identically and mails confirmed addresses only', async (t) => {
  await makeUser('gina')
  await makeUser('idle')
  await send('PATCH', '/admin/users/idle', { token: service.adminToken, body: { active: false } })
  await send('POST', '/user/emails', { ...as('gina'), body: { emails: ['gina@unverified.example'] } })
  const known = await forgot('gina@example.org')
  t.deepEqual([known.status, known.text], [202, ''])
  for (const email of [
    'nobody@example.org',
    'idle@example.org',
    'gina@unverified.example',
    'no address',
    '',
    'GINA@EXAMPLE.ORG',
    'x'.repeat(320),
  ])
    t.deepEqual(bytesOf(await forgot(email)), bytesOf(known), email)
  t.is((await mails.nth('gina@example.org', 2)).subject, 'Set a new password', 'for each spelling of the address')
  // The mail of the last one is there, so what the others caused would be there too.
  t.deepEqual(
    (await mails.to('gina@unverified.example')).map(({ subject }) => subject),
    ['Confirm your e-mail address'],
  )
  for (const address of ['nobody@example.org', 'idle@example.org']) t.deepEqual(await mails.to(address), [])
})

test('a password reset ends sessions, keeps tokens and notifies the owner', async (t) => {
  await makeUser('hugo')
  const session = [(await signIn('hugo')).headers['set-cookie'] ?? []]
    .flat()
    .map((line) => line.split(';')[0])
    .join('; ')
  const token = await service.tokenFor('hugo', ['read:user'])
  await forgot('hugo@example.org')
  const code = codeIn(await mails.nth('hugo@example.org', 1))
  t.true((await mails.nth('hugo@example.org', 1)).text?.includes(`${service.baseUrl}/reset-password?code=${code}`))
  t.is((await reset(code, 'short')).status, 422)
  t.is((await reset(code, 'hugo@example.org')).status, 422)
  const done = await reset(code)
  t.deepEqual([done.status, done.text, done.headers['set-cookie']], [200, '', undefined])
  t.is((await reset(code, 'a third long phrase')).status, 422, 'once')
  t.is((await send('GET', '/user', { headers: { Cookie: session } })).status, 401)
  t.is((await send('GET', '/user', { token })).status, 200)
  t.is((await signIn('hugo')).status, 404)
  t.is((await signIn('hugo', newPassword)).status, 200)
  t.is((await mails.nth('hugo@example.org', 2)).subject, 'Your password was changed')
})

test('a reset lifts the lock of too many wrong passwords and the duty to change it', async (t) => {
  await makeUser('iris', { must_change_password: true })
  for (let i = 0; i < 6; i++) await signIn('iris', 'wrong')
  t.is((await signIn('iris')).status, 404, 'locked')
  await forgot('iris@example.org')
  const locked = await mails.nth('iris@example.org', 2)
  const code = codeIn(
    (await mails.to('iris@example.org')).find(({ subject }) => subject === 'Set a new password') ?? locked,
  )
  t.is((await reset(code)).status, 200)
  t.is((await signIn('iris', newPassword)).status, 200)
  t.is((await send('GET', '/user/emails', as('iris', newPassword))).status, 200)
})

test('kinds of codes are not taken for each other', async (t) => {
  await makeUser('juri')
  await forgot('juri@example.org')
  const code = codeIn(await mails.nth('juri@example.org', 1))
  t.is((await activate(code)).status, 422)
  await send('POST', '/user/emails', { ...as('juri'), body: { emails: ['juri@second.example'] } })
  const confirmation = codeIn(await mails.nth('juri@second.example', 1))
  t.is((await reset(confirmation)).status, 422)
  t.is((await activate(confirmation)).status, 200)
  t.is((await reset(code)).status, 200)
})

test('each change of a password is reported by mail', async (t) => {
  await makeUser('kira')
  await send('POST', '/user/settings/account/password', {
    ...as('kira'),
    body: { old_password: password, password: newPassword },
  })
  t.regex((await mails.nth('kira@example.org', 1)).text ?? '', /from the address/)
  await send('POST', '/admin/users/kira/change-password', { token: service.adminToken, body: { password } })
  t.regex((await mails.nth('kira@example.org', 2)).text ?? '', /by an administrator/)
})

test('guessing codes gets an address blocked', async (t) => {
  const own = await startService({ settings: { MOORAGE_MAIL: `folder:${folder}` } })
  t.teardown(() => own.stop())
  const guess = (i: number) =>
    own.send('POST', `/api/v1/user/${i % 2 === 0 ? 'reset-password' : 'activate'}`, {
      body: { code: `${i}`.padStart(32, 'x'), password: newPassword },
    })
  const statuses = []
  for (let i = 0; i < 102; i++) statuses.push((await guess(i)).status)
  t.deepEqual([...new Set(statuses.slice(0, 99))], [422])
  t.is(statuses.at(-1), 429)
})
