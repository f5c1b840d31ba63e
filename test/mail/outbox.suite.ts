import type { Mail, MailOutbox, MailQueue } from '../../core/mail/ports.ts'
import { mailTo } from './mails.ts'
import type { Assertions } from '../../composition/runtime/port-tests/assertions.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** An outbox and its queue over one empty store. */
export interface OutboxFixture {
  readonly queue: MailQueue
  /** Runs `work` in a transaction; a throw rolls back. */
  transaction(work: (outbox: MailOutbox) => Promise<void>): Promise<void>
  close(): Promise<void>
}

const about: SuiteAbout = {
  name: 'outbox',
  ports: ['MailOutbox', 'MailQueue'],
  needs: 'No mail.',
  isSerial: true,
}

/** What every outbox with its queue promises. */
export const outboxSuite = contractSuite<OutboxFixture>(about, (onBench) => {
  let now = new Date('2026-05-01T08:00:00.000Z')
  const later = (seconds: number): Date => new Date(now.getTime() + seconds * 1000)
  const passSeconds = (seconds: number): void => void (now = later(seconds))
  const claim = (queue: MailQueue) => queue.claim(20, now, later(120))
  const post = ({ transaction }: OutboxFixture, ...mails: readonly Mail[]) =>
    transaction(async (outbox) => {
      for (const mail of mails) await outbox.post(mail)
    })
  const on = (title: string, body: (t: Assertions, fixture: OutboxFixture) => Promise<void>): void =>
    onBench(title, (t, fixture) => {
      // Mail is due from the moment of its posting, by the store's own clock.
      now = new Date(Date.now() + 1000)
      return body(t, fixture)
    })

  on('what was posted comes out as it was, once its transaction has committed', async (t, fixture) => {
    const mail = mailTo('ada@example.org')
    await fixture.transaction(async (outbox) => {
      await outbox.post(mail)
    })
    const [claimed, ...others] = await claim(fixture.queue)
    t.is(others.length, 0)
    const opened = await claimed?.open()
    t.deepEqual({ ...opened, action: undefined }, { ...mail, action: undefined })
    t.is(opened?.action?.url.reveal(), mail.action?.url.reveal())
    t.is(claimed?.attempts, 1)
  })

  on('mails that are not sent are counted, with the age of the oldest', async (t, fixture) => {
    t.deepEqual(await fixture.queue.lag(), { count: 0, oldestSeconds: 0 })
    await post(fixture, mailTo('ada@example.org'), mailTo('eve@example.org'))
    const [first] = await claim(fixture.queue)
    t.is((await fixture.queue.lag()).count, 2, 'a claimed one is not sent yet')
    if (first !== undefined) await fixture.queue.remove(first)
    t.is((await fixture.queue.lag()).count, 1)
  })

  on('a transaction that rolls back leaves no mail', async (t, fixture) => {
    const gone = fixture.transaction(async (outbox) => {
      await outbox.post(mailTo('ada@example.org'))
      throw new Error('rolled back')
    })
    await t.throwsAsync(gone, { message: 'rolled back' })
    t.deepEqual(await claim(fixture.queue), [])
  })

  on(
    'a claimed mail cannot be claimed again until its lease ends, then the next attempt has the same reference',
    async (t, fixture) => {
      await post(fixture, mailTo('ada@example.org'))
      const [first] = await claim(fixture.queue)
      t.deepEqual(await claim(fixture.queue), [])
      passSeconds(119)
      t.deepEqual(await claim(fixture.queue), [])
      passSeconds(1)
      const [second] = await claim(fixture.queue)
      t.is(second?.ref, first?.ref)
      t.is(second?.attempts, 2)
    },
  )

  on(
    'an attempt that outlived its lease postpones nothing that another began; what is removed is gone',
    async (t, fixture) => {
      await post(fixture, mailTo('ada@example.org'))
      const [first] = await claim(fixture.queue)
      passSeconds(120)
      const [second] = await claim(fixture.queue)
      if (first === undefined || second === undefined) throw new Error('not claimed')
      await fixture.queue.postpone(first, later(0), 'late')
      t.deepEqual(await claim(fixture.queue), [], 'the second attempt keeps it')
      await fixture.queue.postpone(second, later(60), 'ETIMEDOUT')
      passSeconds(60)
      const [third] = await claim(fixture.queue)
      t.is(third?.attempts, 3)
      await fixture.queue.remove(second)
      passSeconds(3600)
      t.deepEqual(await claim(fixture.queue), [])
    },
  )

  on('of many claims at once each mail is got by one', async (t, fixture) => {
    await post(fixture, ...Array.from({ length: 20 }, (_, i) => mailTo(`user${i}@example.org`)))
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim(fixture.queue)))
    const ids = claims.flat().map(({ id }) => id)
    t.is(ids.length, 20)
    t.is(new Set(ids).size, 20)
  })
})
