import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { codeIn, readMailFolder } from '../mail/mail-folder.ts'
import { startService } from '../support/service.ts'
import { codeAt } from './one-time-code-of.ts'

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
  const seed = ((await send('GET', '/user/settings/security/twofa/enroll', { basic })).json as { twoFASecret: string }).twoFASecret
  t.is((await send('POST', '/user/settings/security/twofa/enroll', { basic, body: { passCode: codeAt(seed, new Date()) } })).status, 200)
  t.is((await send('POST', '/user/forgot-password', { body: { email: user.email } })).status, 202)
  const mails = readMailFolder(folder)
  await mails.nth(user.email, 2)
  const mail = (await mails.to(user.email)).find(({ subject }) => subject === 'Set a new password')
  t.is((await send('POST', '/user/reset-password', { body: { code: codeIn(mail ?? (await mails.nth(user.email, 3))), password: newPassword } })).status, 200)
  t.is((await send('POST', '/user/signin', { body: { username: 'ada', password: newPassword } })).status, 405)
  t.is((await send('GET', '/user', { basic: ['ada', newPassword] })).headers['x-otp'], 'required; totp')
  const passCode = codeAt(seed, new Date(), 1)
  t.is((await send('POST', '/user/signin/twofa', { body: { username: 'ada', password: newPassword, passCode } })).status, 200)
})
