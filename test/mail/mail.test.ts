import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import PostalMime from 'postal-mime'
import { makeFolderMailer, makeSmtpMailer, verifySmtp } from '../../adapters/mail/mailers.ts'
import { writeWhole } from '../../adapters/system/files.ts'
import type { SmtpPlace } from '../../adapters/mail/mail-url.ts'
import { parseMailUrl } from '../../adapters/mail/mail-url.ts'
import {
  backoffSeconds,
  isTooOld,
  makeDeliverMail,
  makeOutboxNotifier,
  notifyAfterCommit,
} from '../../core/mail/delivery.ts'
import { makeSecretBox, newKeyring, openKeyring } from '../../adapters/security/keyring.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeSqlMailOutbox, makeSqlMailQueue } from '../../adapters/sql/mail/mail-store.ts'
import { systemClock } from '../../adapters/system/system-clock.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Mail, Mailer } from '../../core/mail/ports.ts'
import { MailDelayed, MailRefused } from '../../core/mail/ports.ts'
import { callOf } from '../sql/call.ts'
import { eachDatabase } from '../support/databases.ts'
import type { MailServer, MailServerOptions } from './mail-server.ts'
import { startMailServer } from './mail-server.ts'
import { mailedAt, mailerSuite } from './mailer.suite.ts'
import { mailTo } from './mails.ts'
import { makeOutboxFixture } from './outbox-fixture.ts'
import { outboxSuite } from './outbox.suite.ts'
import { declareSuite } from '../support/declare-suite.ts'

const never = new AbortController().signal

const makeLog = () => {
  const lines: string[] = []
  const add = (level: string) => (fields: object, message: string) =>
    void lines.push(JSON.stringify({ level, ...fields, message }))
  const log: Log = { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') }
  return { log, lines }
}

const sqlite = async () => {
  const [database] = eachDatabase()
  if (database === undefined) throw new Error('no database')
  return makeOutboxFixture(await database.open())
}

/** A mailer that answers what it is told, in turn, then takes everything. */
const makeScripted = (...answers: readonly ('delayed' | 'refused' | 'throws')[]) => {
  const sent: { readonly mail: Mail; readonly ref: string }[] = []
  const coming = [...answers]
  const mailer: Mailer = {
    send: (mail, ref) => {
      sent.push({ mail, ref })
      const answer = coming.shift()
      if (answer === 'throws') throw new Error(`could not send to ${mail.to}`)
      if (answer === 'delayed') return Promise.resolve(left(MailDelayed('EENVELOPE 451')))
      return Promise.resolve(answer === 'refused' ? left(MailRefused('EENVELOPE 550')) : right(undefined))
    },
  }
  return { mailer, sent }
}

test('the waits grow from a minute to six hours, whatever the number of attempts', (t) => {
  t.deepEqual([1, 2, 3, 4].map(backoffSeconds), [60, 120, 240, 480])
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2000 }),
      (n) => backoffSeconds(n) <= backoffSeconds(n + 1) && backoffSeconds(n) <= 6 * 3600,
    ),
  )
  t.is(backoffSeconds(50), 6 * 3600)
  const at = new Date(0)
  t.false(isTooOld(at, new Date(3 * 86_400_000 - 1)))
  t.true(isTooOld(at, new Date(3 * 86_400_000)))
})

test('a delayed mail is retried under its reference and then removed', async (t) => {
  const fixture = await sqlite()
  const { mailer, sent } = makeScripted('delayed', 'throws')
  const deliver = makeDeliverMail({ ...fixture, mailer, log: makeLog().log })
  await fixture.post(mailTo('ada@example.org'))
  t.deepEqual(await deliver(never), { sent: 0, postponed: 1, givenUp: 0 })
  fixture.passSeconds(59)
  t.deepEqual(await deliver(never), { sent: 0, postponed: 0, givenUp: 0 })
  fixture.passSeconds(1)
  t.is((await deliver(never)).postponed, 1)
  fixture.passSeconds(120)
  t.is((await deliver(never)).sent, 1)
  t.is(sent.length, 3)
  t.is(new Set(sent.map(({ ref }) => ref)).size, 1)
  t.deepEqual(await fixture.rows(), [])
})

test('a refused mail is dropped at once and a delayed one after three days', async (t) => {
  const fixture = await sqlite()
  const { log, lines } = makeLog()
  await fixture.post(mailTo('ada@example.org'))
  t.is((await makeDeliverMail({ ...fixture, mailer: makeScripted('refused').mailer, log })(never)).givenUp, 1)
  t.deepEqual(await fixture.rows(), [])

  await fixture.post(mailTo('eve@example.org'))
  const { mailer, sent } = makeScripted(...Array.from({ length: 100 }, () => 'delayed' as const))
  const deliver = makeDeliverMail({ ...fixture, mailer, log })
  for (let hour = 0; hour <= 80; hour++) {
    await deliver(never)
    fixture.passSeconds(3600)
  }
  t.deepEqual(await fixture.rows(), [])
  t.true(sent.length > 10 && sent.length < 40, `${sent.length} attempts`)
  t.is(lines.filter((line) => line.includes('a mail was given up')).length, 2)
})

test('while the time is in doubt no mail is given up for its age', async (t) => {
  const fixture = await sqlite()
  const { log } = makeLog()
  await fixture.post(mailTo('ada@example.org'))
  fixture.passSeconds(400 * 24 * 3600)
  let isTrusted = false
  const deliver = makeDeliverMail({
    ...fixture,
    trust: { isTrusted: () => isTrusted },
    mailer: makeScripted('delayed', 'delayed').mailer,
    log,
  })
  t.like(await deliver(never), { postponed: 1, givenUp: 0 })
  t.is((await fixture.rows()).length, 1)
  isTrusted = true
  fixture.passSeconds(6 * 3600)
  t.like(await deliver(never), { postponed: 0, givenUp: 1 })
})

test('the log has references and error classes, no mail content or address', async (t) => {
  const fixture = await sqlite()
  const { log, lines } = makeLog()
  await fixture.post(
    mailTo('ada@example.org', { subject: 'Distinctive' }),
    mailTo('ada@example.org'),
    mailTo('ada@example.org'),
  )
  await makeDeliverMail({ ...fixture, mailer: makeScripted('delayed', 'refused', 'throws').mailer, log })(never)
  t.is(lines.length, 3)
  t.notRegex(lines.join('\n'), /ada@|example|Distinctive|credential|paragraph/)
})

test('a mail whose key is gone holds up no other', async (t) => {
  const fixture = await sqlite()
  await fixture.post(mailTo('ada@example.org'))
  const stranger = makeOutboxFixture(fixture.db)
  await stranger.post(mailTo('eve@example.org'))
  const { mailer, sent } = makeScripted()
  t.deepEqual(await makeDeliverMail({ ...fixture, mailer, log: makeLog().log })(never), {
    sent: 1,
    postponed: 1,
    givenUp: 0,
  })
  t.deepEqual(
    sent.map(({ mail }) => mail.to),
    ['ada@example.org'],
  )
})

test('one run sends more than a batch, and a stop ends it between batches', async (t) => {
  const fixture = await sqlite()
  await fixture.post(...Array.from({ length: 12 }, (_, i) => mailTo(`user${i}@example.org`)))
  const stopping = new AbortController()
  const { mailer, sent } = makeScripted()
  const stopAfterFirst: Mailer = { send: (...mail) => (stopping.abort(), mailer.send(...mail)) }
  await makeDeliverMail({ ...fixture, mailer: stopAfterFirst, log: makeLog().log })(stopping.signal)
  t.is(sent.length, 5)
  t.is((await makeDeliverMail({ ...fixture, mailer, log: makeLog().log })(never)).sent, 7)
})

for (const database of eachDatabase())
  test(`${database.name}: two instances that deliver at once send each mail once`, async (t) => {
    const db = await database.open()
    t.teardown(() => db.close())
    const fixture = makeOutboxFixture(db)
    await fixture.post(...Array.from({ length: 40 }, (_, i) => mailTo(`user${i}@example.org`)))
    const { mailer, sent } = makeScripted()
    const slow: Mailer = {
      send: async (...mail) => (await new Promise((resume) => setImmediate(resume)), mailer.send(...mail)),
    }
    const instances = [1, 2].map(() => makeDeliverMail({ ...fixture, mailer: slow, log: makeLog().log }))
    await Promise.all(instances.map((deliver) => deliver(never)))
    t.deepEqual(
      sent.map(({ mail }) => mail.to).sort(),
      Array.from({ length: 40 }, (_, i) => `user${i}@example.org`).sort(),
    )
    t.deepEqual(await fixture.rows(), [])
  })

test('the notifier is called after a commit that posted mail, and after no other', async (t) => {
  let rings = 0
  const stores = { mail: { post: () => Promise.resolve() } }
  const unitOfWork = notifyAfterCommit({ run: (_call, work) => work(stores) }, { ring: () => void (rings += 1) })
  await unitOfWork.run(callOf(), () => Promise.resolve(right(1)))
  t.is(rings, 0, 'nothing was posted')
  const refused = await unitOfWork.run(callOf(), async ({ mail }) => {
    await mail.post(mailTo('ada@example.org'))
    return left(MailDelayed('rolled back'))
  })
  t.true(isLeft(refused))
  t.is(rings, 0, 'it was rolled back')
  await unitOfWork.run(callOf(), async ({ mail }) => right(await mail.post(mailTo('ada@example.org'))))
  t.is(rings, 1)
})

test('wake-ups during a run cause one more run, and a stop begins none', async (t) => {
  let runs = 0
  let resume = (): void => undefined
  const notifier = makeOutboxNotifier(async () => {
    runs += 1
    if (runs === 1) await new Promise<void>((go) => (resume = go))
    return { sent: 0, postponed: 0, givenUp: 0 }
  }, makeLog().log)
  notifier.ring()
  while (runs === 0) await new Promise((go) => setImmediate(go))
  notifier.ring()
  notifier.ring()
  resume()
  for (let i = 0; i < 10; i++) await new Promise((go) => setImmediate(go))
  t.is(runs, 2)
  await notifier.stop()
  notifier.ring()
  for (let i = 0; i < 10; i++) await new Promise((go) => setImmediate(go))
  t.is(runs, 2)
})

const sender = { name: 'Moorage Ünit', address: 'no-reply@platform.example', clock: { now: () => mailedAt } }
const mail: Mail = { to: 'ada@example.org', subject: 'Hello', paragraphs: ['One.'] }
const login = { user: 'relay', password: 'relay-pass:word@1' }

const placeOf = (server: MailServer, extras: Partial<SmtpPlace> = {}): SmtpPlace => ({
  host: 'localhost',
  port: server.port,
  tls: 'required',
  user: undefined,
  password: undefined,
  ...extras,
})

declareSuite(mailerSuite, 'folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-mail-'))
  return Promise.resolve({
    mailer: makeFolderMailer({ folder: join(folder, 'mail'), sender, write: writeWhole }),
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

declareSuite(mailerSuite, 'smtp', async () => {
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
  const mailer = makeFolderMailer({ folder: join(folder, 'mail'), sender, write: writeWhole })
  for (let i = 0; i < 2; i++) t.true((await mailer.send(mail, 'ref-1'))._tag === 'Right')
  t.deepEqual(readdirSync(join(folder, 'mail')), ['ref-1.eml'])
  t.is(statSync(join(folder, 'mail', 'ref-1.eml')).mode & 0o777, 0o600)
  t.is(statSync(join(folder, 'mail')).mode & 0o777, 0o700)
})

test('folder: an unwritable mail waits with its reason and no partial file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-mail-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'file'), '')
  t.like(
    await makeFolderMailer({ folder: join(folder, 'file', 'mail'), sender, write: writeWhole }).send(mail, 'ref-1'),
    { _tag: 'Left', left: { tag: 'MailDelayed', message: 'ENOTDIR' } },
  )
  mkdirSync(join(folder, 'mail', 'ref-1.eml'), { recursive: true })
  t.like(await makeFolderMailer({ folder: join(folder, 'mail'), sender, write: writeWhole }).send(mail, 'ref-1'), {
    _tag: 'Left',
    left: { tag: 'MailDelayed', message: 'EISDIR' },
  })
  t.deepEqual(readdirSync(join(folder, 'mail')), ['ref-1.eml'])
})

const onServer = (
  title: string,
  options: MailServerOptions,
  body: (t: ExecutionContext, server: MailServer) => Promise<void>,
): void =>
  test(`smtp: ${title}`, async (t) => {
    const server = await startMailServer(options)
    t.teardown(() => server.stop())
    await body(t, server)
  })

const send = (server: MailServer, place: Partial<SmtpPlace>, ca?: string) =>
  makeSmtpMailer(placeOf(server, place), sender, ca === undefined ? {} : { ca }).send(mail, randomUUID())

onServer('it signs in over TLS that the certificate vouches for', { login }, async (t, server) => {
  t.is((await send(server, login, server.ca))._tag, 'Right')
  t.deepEqual(
    server.received.map(({ overTls, signedInAs }) => [overTls, signedInAs]),
    [[true, 'relay']],
  )
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
  onServer(
    `${status} at ${at} is ${tag}, and the reason quotes nothing of the mail or the server`,
    { login, refuses: (word) => (word === at ? status : undefined) },
    async (t, server) => {
      const outcome = await send(server, login, server.ca)
      t.is(outcome._tag === 'Left' && outcome.left.tag, tag)
      t.regex(outcome._tag === 'Left' ? outcome.left.message : '', /^[A-Z]+( \d{3})?$/)
    },
  )

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

test('mail URLs are parsed, and invalid ones refused', (t) => {
  const smtp = (url: string) => {
    const place = parseMailUrl(url)
    return place?.kind === 'smtp' ? place.smtp : undefined
  }
  t.deepEqual(parseMailUrl('folder:/var/mail box'), { kind: 'folder', path: '/var/mail box' })
  t.deepEqual(smtp('smtp://relay:p%40ss%3Aword@mail.example.org'), {
    host: 'mail.example.org',
    port: 587,
    tls: 'required',
    user: 'relay',
    password: 'p@ss:word',
  })
  t.deepEqual(smtp('smtps://mail.example.org:2465'), {
    host: 'mail.example.org',
    port: 2465,
    tls: 'implicit',
    user: undefined,
    password: undefined,
  })
  t.is(smtp('smtp://localhost:25')?.tls, 'if-offered')
  t.is(smtp('smtp://127.0.0.1:25')?.tls, 'if-offered')
  t.is(smtp('smtp://[::1]:25')?.tls, 'if-offered')
  t.is(smtp('smtp://localhost:25?tls=required')?.tls, 'required')
  t.is(smtp('smtp://10.0.0.1:25')?.tls, 'required')
  t.is(smtp('smtp://mail.example.org?tls=off')?.tls, 'off')
  for (const wrong of [
    '',
    'folder:',
    'http://a',
    'smtp://',
    'smtp://a/path',
    'smtp://a?tls=maybe',
    'smtps://a?tls=off',
    'smtp://a#x',
    'smtp://u:%zz@a',
  ])
    t.is(parseMailUrl(wrong), undefined, wrong)
})

const onEach = (
  title: string,
  body: (t: ExecutionContext, fixture: ReturnType<typeof makeOutboxFixture>, db: SqlDatabase) => Promise<void>,
): void => {
  for (const database of eachDatabase())
    test(`${database.name}: ${title}`, async (t) => {
      const db = await database.open()
      try {
        await body(t, makeOutboxFixture(db), db)
      } finally {
        await db.close()
      }
    })
}

const account = async (db: SqlDatabase): Promise<UserId> => {
  await db.query((k) => k('accounts').insert({ kind: 'user', name: 'ada', lower_name: 'ada', created_at: 0 }))
  const [row] = await db.query<{ id: number }>((k) => k('accounts').select('id'))
  return Number(row?.id) as UserId
}

for (const database of eachDatabase())
  declareSuite(outboxSuite, database.name, async () => {
    const db = await database.open()
    const secretBox = makeSecretBox(openKeyring(newKeyring()).wrapper)
    const bind = makeSqlMailOutbox(db, { secretBox, clock: systemClock })
    return {
      queue: makeSqlMailQueue(db, secretBox),
      transaction: (work) => db.transaction((tx) => work(bind(tx))),
      close: () => db.close(),
    }
  })

onEach('neither address nor subject nor link can be read in the table', async (t, fixture) => {
  await fixture.post(
    mailTo('ada@example.org', { subject: 'Distinctive subject', paragraphs: ['Distinctive paragraph'] }),
  )
  const text = (await fixture.rows())
    .flatMap((row) => Object.values(row))
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
    .join('\n')
  t.true(text.length > 100)
  for (const told of ['ada@example.org', 'Distinctive', 'the-credential', 'platform.example'])
    t.false(text.includes(told), told)
})

onEach('sealed content that is moved to another row does not open', async (t, fixture, db) => {
  await fixture.post(mailTo('ada@example.org'), mailTo('eve@example.org'))
  const [first, second] = await fixture.rows()
  await db.query((k) =>
    k('mail_outbox')
      .where('id', second?.['id'] as number)
      .update({ sealed: first?.['sealed'] as Buffer }),
  )
  const claimed = await fixture.queue.claim(10, fixture.clock.now(), fixture.later(120))
  t.is((await claimed[0]?.open())?.to, 'ada@example.org')
  await t.throwsAsync(async () => claimed[1]?.open())
})

onEach('mail of an account goes with the account', async (t, fixture, db) => {
  const accountId = await account(db)
  await fixture.post(mailTo('ada@example.org', { accountId }), mailTo('eve@example.org'))
  await db.query((k) => k('accounts').where('id', accountId).delete())
  t.is((await fixture.rows()).length, 1)
})
