import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { checkMail } from '../../composition/cli/doctor-checks.ts'
import { loadConfig } from '../../composition/config/config.ts'
import { StartRefused } from '../../composition/start-refused.ts'
import { startMailServer } from '../mail/mail-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'moorage-check-mail-'))
test.after.always(() => rmSync(folder, { recursive: true, force: true }))

const check = async (mail?: string) =>
  checkMail((await loadConfig({ environment: { MOORAGE_DATA_DIR: folder, ...(mail === undefined ? {} : { MOORAGE_MAIL: mail }) } })).settings)

test('a folder works and is a warning: its mail is not sent', async (t) => {
  const fresh = await check()
  t.is(fresh.state, 'warning')
  t.regex(fresh.message, /does not exist yet/)
  mkdirSync(join(folder, 'mail'))
  t.regex((await check()).message, /not sent, which is suitable for a trial only/)
  writeFileSync(join(folder, 'file'), '')
  t.like(await check(`folder:${join(folder, 'file')}`), { state: 'problem' })
  t.like(await check(`folder:${join(folder, 'new', 'below')}`), { state: 'warning' })
  t.like(await check(`folder:${join(folder, 'file', 'below')}`), { state: 'problem' })
  if (process.getuid?.() !== 0) {
    chmodSync(join(folder, 'mail'), 0o500)
    t.like(await check(), { state: 'problem' })
  }
})

test('a mail server: that it answers, takes the sign-in and encrypts, and in plain words what it does not', async (t) => {
  const login = { user: 'relay', password: 'relay-password' }
  const server = await startMailServer({ login })
  t.teardown(() => server.stop())
  const good = await check(`smtp://relay:relay-password@localhost:${server.port}`)
  t.deepEqual(good, { subject: 'mail', state: 'ok', message: `The mail server localhost:${server.port} answers. It accepts the sign-in of relay.` })
  const wrong = await check(`smtp://relay:not-that-one@localhost:${server.port}`)
  t.is(wrong.state, 'problem')
  t.regex(wrong.message, /refuses the user or the password/)
  t.false(wrong.message.includes('not-that-one'))
  const untrusted = await check(`smtp://relay:relay-password@localhost:${server.port}?tls=required`)
  t.is(untrusted.state, 'problem')
  t.is(server.received.length, 0)
  await server.stop()
  const away = await check(`smtp://localhost:${server.port}`)
  t.is(away.state, 'problem')
  t.regex(away.message, /nothing listens there/)
})

test('a setting that is no mail URL stops the start and is not repeated', async (t) => {
  for (const mail of ['mail.example.org', 'smtp://', 'smtp://u:hidden@host?tls=maybe', 'smtps://u:hidden@host?tls=off']) {
    const error = await t.throwsAsync<StartRefused>(check(mail), { instanceOf: StartRefused })
    t.regex(error?.problems.join('\n') ?? '', /MOORAGE_MAIL must be folder:PATH, smtp:/)
    t.false(error?.problems.join('\n').includes('hidden'))
  }
  const bad = { MOORAGE_DATA_DIR: folder, MOORAGE_MAIL_FROM: 'Moorage <no-reply@a>\r\nBcc: x@y' }
  await t.throwsAsync(loadConfig({ environment: bad }), { instanceOf: StartRefused })
})
