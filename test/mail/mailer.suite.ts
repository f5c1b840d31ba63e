import { randomUUID } from 'node:crypto'
import type { Email } from 'postal-mime'
import type { Mail, Mailer } from '../../core/mail/ports.ts'
import { secret } from '../../core/kernel/secret.ts'
import { unwrap } from '../support/outcome.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** A mailer and what arrived by it. */
export interface MailerFixture {
  readonly mailer: Mailer
  received(): Promise<readonly { readonly raw: string; readonly mail: Email }[]>
  close(): Promise<void>
}

/** What the clock of the mailer says. */
export const mailedAt = new Date('2026-03-01T12:00:00Z')

const about: SuiteAbout = {
  name: 'mailer',
  ports: ['Mailer'],
  needs:
    'No mail has been sent. The sender is `Moorage Ünit <no-reply@platform.example>`, and the clock of the mailer is at `mailedAt`.',
}

/** What every mailer promises. The sender is `Moorage Ünit <no-reply@platform.example>`. */
export const mailerSuite = contractSuite<MailerFixture>(about, (onBench) => {
  const hostile = '<img src="http://evil.example/x.png"> & "quotes"'
  const link = `https://platform.example/reset-password?code=abc&next=%2F`
  const plain: Mail = {
    to: 'ada@example.org',
    subject: 'Grüße aus dem Hafen ⚓',
    paragraphs: ['First.', `A name: ${hostile}`],
    action: { label: 'Open <it>', url: secret(link) },
  }

  const sent = async (fixture: MailerFixture, mail: Mail, ref: string = randomUUID()) => {
    unwrap(await fixture.mailer.send(mail, ref))
    const [first, ...others] = await fixture.received()
    if (first === undefined || others.length > 0) throw new Error('not one mail')
    return first
  }

  onBench('text and HTML say the same, with the link, and headers are right', async (t, fixture) => {
    const { mail } = await sent(fixture, plain)
    t.is(mail.subject, plain.subject)
    t.deepEqual([mail.from?.name, mail.from?.address], ['Moorage Ünit', 'no-reply@platform.example'])
    t.deepEqual(
      mail.to?.map(({ address }) => address),
      ['ada@example.org'],
    )
    t.true(mail.text?.includes('First.'))
    t.true(mail.text?.includes(link))
    t.true(mail.html?.includes('<p>First.</p>'))
    t.is(mail.headers.find(({ key }) => key === 'auto-submitted')?.value, 'auto-generated')
    t.is(Date.parse(mail.date ?? ''), mailedAt.getTime())
  })

  onBench('what people chose is text in the HTML, which loads nothing from anywhere', async (t, fixture) => {
    const { mail } = await sent(fixture, plain)
    t.true(mail.text?.includes(hostile), 'the plain text shows it as it is')
    t.false(mail.html?.includes('<img'))
    t.true(mail.html?.includes('&lt;img src=&quot;http://evil.example/x.png&quot;&gt; &amp; &quot;quotes&quot;'))
    t.true(mail.html?.includes('href="https://platform.example/reset-password?code=abc&amp;next=%2F"'))
    t.notRegex(mail.html ?? '', /<(img|link|script|iframe|object|style)|<[^>]*(\ssrc=|url\()|@import/i)
  })

  onBench('a line break in a subject or an address begins no header', async (t, fixture) => {
    const { mail, raw } = await sent(fixture, { ...plain, subject: 'Hello\r\nBcc: eve@evil.example\r\n\r\nbody' })
    t.is(mail.subject, 'Hello Bcc: eve@evil.example body')
    t.is(mail.bcc, undefined)
    t.notRegex(raw, /^bcc:/im)
  })

  onBench('the Message-ID is made of the reference, and the same at a second attempt', async (t, fixture, another) => {
    const ref = randomUUID()
    const first = await sent(fixture, plain, ref)
    const second = await sent(await another(), plain, ref)
    t.is(first.mail.messageId, `<${ref}@platform.example>`)
    t.is(second.mail.messageId, first.mail.messageId)
  })
})
