import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import fc from 'fast-check'
import test from 'ava'
import { makeOutboxNotifier } from '../../adapters/mail/outbox-notifier.ts'
import type { Log } from '../../core/kernel/log.ts'
import type { Mail } from '../../core/kernel/mail.ts'
import { makeDeliverMail, backoffSeconds, isTooOld, notifyAfterCommit } from '../../core/mail/delivery.ts'
import type { Mailer } from '../../core/mail/ports.ts'
import { MailDelayed, MailRefused } from '../../core/mail/ports.ts'
import { callOf } from '../sql/call.ts'
import { eachDatabase } from '../support/databases.ts'
import { mailTo } from './mails.ts'
import { makeOutboxWorld } from './outbox-world.ts'

const never = new AbortController().signal

const makeLog = () => {
  const lines: string[] = []
  const add = (level: string) => (fields: object, message: string) => void lines.push(JSON.stringify({ level, ...fields, message }))
  const log: Log = { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') }
  return { log, lines }
}

const sqlite = async () => {
  const [database] = eachDatabase()
  if (database === undefined) throw new Error('no database')
  return makeOutboxWorld(await database.open())
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
  fc.assert(fc.property(fc.integer({ min: 1, max: 2000 }), (n) => backoffSeconds(n) <= backoffSeconds(n + 1) && backoffSeconds(n) <= 6 * 3600))
  t.is(backoffSeconds(50), 6 * 3600)
  const at = new Date(0)
  t.false(isTooOld(at, new Date(3 * 86_400_000 - 1)))
  t.true(isTooOld(at, new Date(3 * 86_400_000)))
})

test('a mail that a server delays is tried again under the same reference, then it is gone', async (t) => {
  const world = await sqlite()
  const { mailer, sent } = makeScripted('delayed', 'throws')
  const deliver = makeDeliverMail({ ...world, mailer, log: makeLog().log })
  await world.post(mailTo('ada@example.org'))
  t.deepEqual(await deliver(never), { sent: 0, postponed: 1, givenUp: 0 })
  world.passSeconds(59)
  t.deepEqual(await deliver(never), { sent: 0, postponed: 0, givenUp: 0 })
  world.passSeconds(1)
  t.is((await deliver(never)).postponed, 1)
  world.passSeconds(120)
  t.is((await deliver(never)).sent, 1)
  t.is(sent.length, 3)
  t.is(new Set(sent.map(({ ref }) => ref)).size, 1)
  t.deepEqual(await world.rows(), [])
})

test('a refused mail is given up at once, a delayed one after three days, with a log line each', async (t) => {
  const world = await sqlite()
  const { log, lines } = makeLog()
  await world.post(mailTo('ada@example.org'))
  t.is((await makeDeliverMail({ ...world, mailer: makeScripted('refused').mailer, log })(never)).givenUp, 1)
  t.deepEqual(await world.rows(), [])

  await world.post(mailTo('eve@example.org'))
  const { mailer, sent } = makeScripted(...Array.from({ length: 100 }, () => 'delayed' as const))
  const deliver = makeDeliverMail({ ...world, mailer, log })
  for (let hour = 0; hour <= 80; hour++) {
    await deliver(never)
    world.passSeconds(3600)
  }
  t.deepEqual(await world.rows(), [])
  t.true(sent.length > 10 && sent.length < 40, `${sent.length} attempts`)
  t.is(lines.filter((line) => line.includes('a mail was given up')).length, 2)
})

test('while the time is in doubt no mail is given up for its age', async (t) => {
  const world = await sqlite()
  const { log } = makeLog()
  await world.post(mailTo('ada@example.org'))
  world.passSeconds(400 * 24 * 3600)
  let isTrusted = false
  const deliver = makeDeliverMail({ ...world, trust: { isTrusted: () => isTrusted }, mailer: makeScripted('delayed', 'delayed').mailer, log })
  t.like(await deliver(never), { postponed: 1, givenUp: 0 })
  t.is((await world.rows()).length, 1)
  isTrusted = true
  world.passSeconds(6 * 3600)
  t.like(await deliver(never), { postponed: 0, givenUp: 1 })
})

test('the log tells references and classes of errors, never what is in a mail or to whom it goes', async (t) => {
  const world = await sqlite()
  const { log, lines } = makeLog()
  await world.post(mailTo('ada@example.org', { subject: 'Distinctive' }), mailTo('ada@example.org'), mailTo('ada@example.org'))
  await makeDeliverMail({ ...world, mailer: makeScripted('delayed', 'refused', 'throws').mailer, log })(never)
  t.is(lines.length, 3)
  t.notRegex(lines.join('\n'), /ada@|example|Distinctive|credential|paragraph/)
})

test('a mail whose key is gone holds up no other', async (t) => {
  const world = await sqlite()
  await world.post(mailTo('ada@example.org'))
  const stranger = makeOutboxWorld(world.db)
  await stranger.post(mailTo('eve@example.org'))
  const { mailer, sent } = makeScripted()
  t.deepEqual(await makeDeliverMail({ ...world, mailer, log: makeLog().log })(never), { sent: 1, postponed: 1, givenUp: 0 })
  t.deepEqual(sent.map(({ mail }) => mail.to), ['ada@example.org'])
})

test('more mail than a batch leaves in one run; a stop ends it between batches', async (t) => {
  const world = await sqlite()
  await world.post(...Array.from({ length: 12 }, (_, i) => mailTo(`user${i}@example.org`)))
  const stopping = new AbortController()
  const { mailer, sent } = makeScripted()
  const stopAfterFirst: Mailer = { send: (...mail) => (stopping.abort(), mailer.send(...mail)) }
  await makeDeliverMail({ ...world, mailer: stopAfterFirst, log: makeLog().log })(stopping.signal)
  t.is(sent.length, 5)
  t.is((await makeDeliverMail({ ...world, mailer, log: makeLog().log })(never)).sent, 7)
})

for (const database of eachDatabase())
  test(`${database.name}: two instances that deliver at once send each mail once`, async (t) => {
    const db = await database.open()
    t.teardown(() => db.close())
    const world = makeOutboxWorld(db)
    await world.post(...Array.from({ length: 40 }, (_, i) => mailTo(`user${i}@example.org`)))
    const { mailer, sent } = makeScripted()
    const slow: Mailer = { send: async (...mail) => (await new Promise((resume) => setImmediate(resume)), mailer.send(...mail)) }
    const instances = [1, 2].map(() => makeDeliverMail({ ...world, mailer: slow, log: makeLog().log }))
    await Promise.all(instances.map((deliver) => deliver(never)))
    t.deepEqual(sent.map(({ mail }) => mail.to).sort(), Array.from({ length: 40 }, (_, i) => `user${i}@example.org`).sort())
    t.deepEqual(await world.rows(), [])
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

test('rings during a run cause one more run; a stop waits for the run and begins none', async (t) => {
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
