import { mailMigrations } from '../../../adapters/sql/mail/migrations.ts'
import { isIP } from 'node:net'
import { left } from 'fp-ts/lib/Either.js'
import { makeFolderMailer, makeSmtpMailer } from '../../../adapters/mail/mailers.ts'
import { makeDeliverMail, makeOutboxNotifier } from '../../../core/mail/delivery.ts'
import { mailUrlForms, parseMailUrl } from '../../../adapters/mail/mail-url.ts'
import type { MailSender } from '../../../adapters/mail/mailers.ts'
import { makeSqlMailOutbox, makeSqlMailQueue } from '../../../adapters/sql/mail/mail-store.ts'
import { writeWhole } from '../../../adapters/system/files.ts'
import type { SqlRunner } from '../../../adapters/sql/kit/statement.ts'
import { ClockPort, TimeTrustPort } from '../../../core/kernel/clock.ts'
import type { DeliverMail, DeliveryCount, MailOutbox, Mailer } from '../../../core/mail/ports.ts'
import { SecretBoxPort } from '../../../core/kernel/secret.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { DeliverMailPort, OutboxNotifierPort, MailerPort, MailQueuePort } from '../../../core/mail/ports.ts'

/** Binds the outbox to a transaction, for the units of work of parts that post mail. */
export const BindMailOutboxPort = portKey<(tx: SqlRunner) => MailOutbox>('mail.BindOutbox')

type MailCounters = Record<keyof DeliveryCount, number>
/** The outcomes of mail in this process, for the metrics. */
const MailCountersPort = portKey<MailCounters>('mail.Counters')
import type { Boot } from '../../part/boot.ts'
import type { ValuesOf } from '../../part/setting.ts'
import { absentUnlessSet, withDefault } from '../../part/setting.ts'
import { matching, secretUrl } from '../../part/setting-type.ts'
import { bind, using } from '../../part/binding.ts'
import { defineGauges } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'
import { spansOf } from '../../part/spans.ts'
import { mailPlugin } from '../../../plugins/mail/plugin.ts'

const mailText = secretUrl(/^(folder:.+|smtps?:\/\/.+)$/s, mailUrlForms)
const mailUrl: typeof mailText = {
  ...mailText,
  parse: (raw) => {
    const text = mailText.parse(raw)
    return text._tag === 'Right' && parseMailUrl(text.right.reveal()) === undefined ? left(mailUrlForms) : text
  },
}

const settings = {
  mail: withDefault(
    'MOORAGE_MAIL',
    mailUrl,
    ({ dataDir }) => `folder:${dataDir}/mail`,
    'Where mail goes: folder:PATH writes one .eml file a mail, smtp:// and smtps:// speak to a mail ' +
      'server. smtp:// requires STARTTLS unless the host is this machine or ?tls=off is given.',
    { fallbackText: 'folder: mail in the data folder', after: 'MOORAGE_DATABASE_TIMEOUT_SECONDS' },
  ),
  mailFrom: absentUnlessSet(
    'MOORAGE_MAIL_FROM',
    matching(
      /^(?:[^\s<>@"\p{Cc}][^<>@"\p{Cc}]{0,99} <[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u,
      'an address, as Moorage <no-reply@example.org>',
    ),
    'Sender of mail; its name is shown at the head of each one.',
    { fallbackText: 'Moorage <no-reply@HOST>, with the host of the base URL' },
  ),
}

type MailBoot = Boot<ValuesOf<typeof settings>>

const counted =
  (deliver: DeliverMail, counters: MailCounters): DeliverMail =>
  async (signal) => {
    const count = await deliver(signal)
    for (const outcome of ['sent', 'postponed', 'givenUp'] as const) counters[outcome] += count[outcome]
    return count
  }

const mailerOf = (boot: MailBoot): Mailer => {
  const place = parseMailUrl(boot.settings.mail.reveal())
  if (place === undefined) throw new Error('MOORAGE_MAIL passed its check and is not understood')
  const sender = mailSenderOf(boot)
  return place.kind === 'folder'
    ? makeFolderMailer({ folder: place.path, sender, write: writeWhole })
    : makeSmtpMailer(place.smtp, sender)
}

const defaultName = 'Moorage'

/** Returns `Name <address>` or a bare address. The default is an address at the host of the base URL. */
const mailSenderOf = ({ settings, baseUrl, clock }: Pick<MailBoot, 'settings' | 'baseUrl' | 'clock'>): MailSender => {
  const { mailFrom } = settings
  if (mailFrom !== undefined) {
    const parts = /^(?:(.*\S)\s+)?<(.+)>$/.exec(mailFrom)
    return { name: parts?.[1] ?? defaultName, address: parts?.[2] ?? mailFrom, clock }
  }
  const { hostname } = new URL(baseUrl())
  const isAddress = hostname.startsWith('[') || isIP(hostname) !== 0
  return { name: defaultName, address: `no-reply@${isAddress ? 'localhost' : hostname}`, clock }
}

/** Mail: its outbox, and where it goes. */
export const part = definePart({
  plugin: mailPlugin,
  spans: [spansOf(MailerPort, { send: { name: 'send mail', kind: 'client' } })],
  migrations: mailMigrations,
  settings,
  provide: (boot) => {
    const { database } = boot
    return [
      bind(BindMailOutboxPort, { secretBox: SecretBoxPort, clock: ClockPort }, ({ secretBox, clock }) =>
        makeSqlMailOutbox(database, { secretBox, clock }),
      ),
      bind(MailQueuePort, { secretBox: SecretBoxPort }, ({ secretBox }) => makeSqlMailQueue(database, secretBox)),
      bind(MailerPort, {}, () => mailerOf(boot)),
      bind(MailCountersPort, {}, () => ({ sent: 0, postponed: 0, givenUp: 0 })),
      bind(
        DeliverMailPort,
        {
          queue: MailQueuePort,
          mailer: MailerPort,
          clock: ClockPort,
          trust: TimeTrustPort,
          counters: MailCountersPort,
        },
        ({ counters, ...deps }) => counted(makeDeliverMail({ ...deps, log: boot.log }), counters),
      ),
      bind(
        OutboxNotifierPort,
        { deliver: DeliverMailPort },
        ({ deliver }) => makeOutboxNotifier(deliver, boot.log),
        (notifier) => notifier.stop(),
      ),
    ]
  },
  metrics: [
    defineGauges(
      {
        moorage_mail_attempts_total: {
          type: 'counter',
          help: 'Attempts to send a mail since the start, by what became of it; one that was given up is lost.',
          label: 'outcome',
          ofProcesses: 'sum',
        },
        moorage_mail_queued: { help: 'Mails that are not sent yet, of all instances.' },
        moorage_mail_oldest_seconds: { help: 'For how long the oldest mail that is not sent waits; 0 without one.' },
      },
      { counters: MailCountersPort, queue: MailQueuePort },
      ({ counters, queue }) =>
        async () => {
          const { count, oldestSeconds } = await queue.lag()
          return {
            moorage_mail_attempts_total: {
              sent: counters.sent,
              postponed: counters.postponed,
              given_up: counters.givenUp,
            },
            moorage_mail_queued: count,
            moorage_mail_oldest_seconds: oldestSeconds,
          }
        },
    ),
  ],
  doctor: async (settings) => [await (await import('./doctor.ts')).checkMail(settings)],
  // Mail of an earlier process is sent now, not when the lease of its job has ended.
  ready: using({ outbox: OutboxNotifierPort }, ({ outbox }) => outbox.ring()),
})
