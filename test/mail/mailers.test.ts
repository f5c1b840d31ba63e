import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import test from 'ava'
import PostalMime from 'postal-mime'
import { makeFolderMailer } from '../../adapters/mail/folder-mailer.ts'
import type { SmtpPlace } from '../../adapters/mail/mail-url.ts'
import { parseMailUrl } from '../../adapters/mail/mail-url.ts'
import { makeSmtpMailer, verifySmtp } from '../../adapters/mail/smtp-mailer.ts'
import type { Mail } from '../../core/kernel/mail.ts'
import { mailedAt, mailerSuite } from './mailer.suite.ts'
import type { MailServer, MailServerOptions } from './mail-server.ts'
import { startMailServer } from './mail-server.ts'

const sender = { name: 'Moorage Ünit', address: 'no-reply@platform.example', clock: { now: () => mailedAt } }
const mail: Mail = { to: 'ada@example.org', subject: 'Hello', paragraphs: ['One.'] }
const login = { user: 'relay', password: 'relay-pass:word@1' }

const placeOf = (server: MailServer, extras: Partial<SmtpPlace> = {}): SmtpPlace => ({
  host: 'localhost', port: server.port, tls: 'required', user: undefined, password: undefined, ...extras,
})

mailerSuite('folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-mail-'))
  return Promise.resolve({
    mailer: makeFolderMailer(join(folder, 'mail'), sender),
    received: () =>
      Promise.all(
        readdirSync(join(folder, 'mail')).map(async (file) => {
          const raw = readFileSync(join(folder, 'mail', file))
          return { raw: raw.toString('utf8'), mail: await PostalMime.parse(raw) }
        }),
      ),
    close: () => Promise.resolve(rmSync(folder, { recursive: true })),
  })
})

mailerSuite('smtp', async () => {
  const server = await startMailServer({ login })
  return {
    mailer: makeSmtpMailer(placeOf(server, login), sender, { ca: server.ca }),
    received: () => Promise.resolve(server.received),
    close: () => server.stop(),
  }
})

test('folder: the mail is for its owner alone, and a repetition replaces it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-mail-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const mailer = makeFolderMailer(join(folder, 'mail'), sender)
  for (let i = 0; i < 2; i++) t.true((await mailer.send(mail, 'ref-1'))._tag === 'Right')
  t.deepEqual(readdirSync(join(folder, 'mail')), ['ref-1.eml'])
  t.is(statSync(join(folder, 'mail', 'ref-1.eml')).mode & 0o777, 0o600)
  t.is(statSync(join(folder, 'mail')).mode & 0o777, 0o700)
})

test('folder: what cannot be written waits, with the reason and without a rest', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-mail-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'file'), '')
  t.like(await makeFolderMailer(join(folder, 'file', 'mail'), sender).send(mail, 'ref-1'), { _tag: 'Left', left: { tag: 'MailDelayed', message: 'ENOTDIR' } })
  mkdirSync(join(folder, 'mail', 'ref-1.eml'), { recursive: true })
  t.like(await makeFolderMailer(join(folder, 'mail'), sender).send(mail, 'ref-1'), { _tag: 'Left', left: { tag: 'MailDelayed', message: 'EISDIR' } })
  t.deepEqual(readdirSync(join(folder, 'mail')), ['ref-1.eml'])
})

const onServer = (title: string, options: MailServerOptions, body: (t: ExecutionContext, server: MailServer) => Promise<void>): void =>
  test(`smtp: ${title}`, async (t) => {
    const server = await startMailServer(options)
    t.teardown(() => server.stop())
    await body(t, server)
  })

const send = (server: MailServer, place: Partial<SmtpPlace>, ca?: string) =>
  makeSmtpMailer(placeOf(server, place), sender, ca === undefined ? {} : { ca }).send(mail, randomUUID())

onServer('it signs in over TLS that the certificate vouches for', { login }, async (t, server) => {
  t.is((await send(server, login, server.ca))._tag, 'Right')
  t.deepEqual(server.received.map(({ overTls, signedInAs }) => [overTls, signedInAs]), [[true, 'relay']])
  t.deepEqual(server.received[0]?.envelopeTo, ['ada@example.org'])
})

onServer('TLS from the first byte', { login, tls: 'implicit' }, async (t, server) => {
  t.is((await send(server, { ...login, tls: 'implicit' }, server.ca))._tag, 'Right')
  t.true(server.received[0]?.overTls)
})

onServer('a server with an untrusted certificate gets neither mail nor password', { login }, async (t, server) => {
  const outcome = await send(server, login)
  t.is(outcome._tag === 'Left' && outcome.left.tag, 'MailDelayed')
  t.is(server.received.length, 0)
})

onServer('a server without STARTTLS gets nothing where it is required', { tls: 'none' }, async (t, server) => {
  const outcome = await send(server, {})
  t.is(outcome._tag === 'Left' && outcome.left.tag, 'MailDelayed')
  t.is(server.received.length, 0)
  t.is((await send(server, { tls: 'off' }))._tag, 'Right', 'unless the operator says so')
  t.false(server.received[0]?.overTls)
})

onServer('on this machine TLS is used if offered, with any certificate', {}, async (t, server) => {
  t.is((await send(server, { tls: 'if-offered' }))._tag, 'Right')
  t.true(server.received[0]?.overTls)
})

for (const [at, status, tag] of [
  ['MAIL FROM', 451, 'MailDelayed'],
  ['MAIL FROM', 550, 'MailDelayed'],
  ['RCPT TO', 450, 'MailDelayed'],
  ['RCPT TO', 550, 'MailRefused'],
  ['DATA', 451, 'MailDelayed'],
  ['DATA', 554, 'MailRefused'],
  ['AUTH', 535, 'MailDelayed'],
  ['AUTH', 454, 'MailDelayed'],
] as const)
  onServer(`${status} at ${at} is ${tag}, and the reason quotes nothing of the mail or the server`, { login, refuses: (word) => (word === at ? status : undefined) }, async (t, server) => {
    const outcome = await send(server, login, server.ca)
    t.is(outcome._tag === 'Left' && outcome.left.tag, tag)
    t.regex(outcome._tag === 'Left' ? outcome.left.message : '', /^[A-Z]+( \d{3})?$/)
  })

test('smtp: an unreachable server is a delay', async (t) => {
  const server = await startMailServer()
  await server.stop()
  const outcome = await send(server, {})
  t.is(outcome._tag === 'Left' && outcome.left.tag, 'MailDelayed')
})

onServer('the look of the doctor signs in and sends nothing', { login }, async (t, server) => {
  await verifySmtp(placeOf(server, login), { ca: server.ca })
  await t.throwsAsync(verifySmtp(placeOf(server, { ...login, password: 'wrong' }), { ca: server.ca }))
  t.is(server.received.length, 0)
})

test('mail URLs: what they say, and what is none', (t) => {
  const smtp = (url: string) => {
    const place = parseMailUrl(url)
    return place?.kind === 'smtp' ? place.smtp : undefined
  }
  t.deepEqual(parseMailUrl('folder:/var/mail box'), { kind: 'folder', path: '/var/mail box' })
  t.deepEqual(smtp('smtp://relay:p%40ss%3Aword@mail.example.org'), { host: 'mail.example.org', port: 587, tls: 'required', user: 'relay', password: 'p@ss:word' })
  t.deepEqual(smtp('smtps://mail.example.org:2465'), { host: 'mail.example.org', port: 2465, tls: 'implicit', user: undefined, password: undefined })
  t.is(smtp('smtp://localhost:25')?.tls, 'if-offered')
  t.is(smtp('smtp://127.0.0.1:25')?.tls, 'if-offered')
  t.is(smtp('smtp://[::1]:25')?.tls, 'if-offered')
  t.is(smtp('smtp://localhost:25?tls=required')?.tls, 'required')
  t.is(smtp('smtp://10.0.0.1:25')?.tls, 'required')
  t.is(smtp('smtp://mail.example.org?tls=off')?.tls, 'off')
  for (const wrong of ['', 'folder:', 'http://a', 'smtp://', 'smtp://a/path', 'smtp://a?tls=maybe', 'smtps://a?tls=off', 'smtp://a#x', 'smtp://u:%zz@a'])
    t.is(parseMailUrl(wrong), undefined, wrong)
})
