import { isIP } from 'node:net'
import { makeFolderMailer, makeSmtpMailer } from '../../adapters/mail/mailers.ts'
import { makeDeliverMail, makeOutboxNotifier } from '../../core/mail/delivery.ts'
import { parseMailUrl } from '../../adapters/mail/mail-url.ts'
import type { MailSender } from '../../adapters/mail/mailers.ts'
import { makeSqlMailOutbox, makeSqlMailQueue } from '../../adapters/sql/mail/mail-store.ts'
import { writeWhole } from '../../adapters/system/whole-files.ts'
import type { SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { ClockToken, TimeTrustToken } from '../../core/kernel/clock.ts'
import type { MailOutbox } from '../../core/kernel/mail.ts'
import { SecretBoxToken } from '../../core/kernel/secret.ts'
import { token } from '../../core/kernel/token.ts'
import { DeliverMailToken, OutboxNotifierToken, MailerToken, MailQueueToken } from '../../core/mail/ports.ts'
import type { DeliverMail, DeliveryCount, Mailer } from '../../core/mail/ports.ts'
import type { Boot, Provide } from '../boot.ts'

/** Binds the outbox to a transaction, for the units of work of parts that post mail. */
export const BindMailOutboxToken = token<(tx: SqlRunner) => MailOutbox>('mail.BindOutbox')

/** The outcomes of mail in this process, for the metrics. */
export const MailTallyToken = token<DeliveryCount>('mail.Tally')

export const provideMail: Provide = (container, boot) => {
  const { database } = boot
  container.provide(BindMailOutboxToken, (resolve) =>
    makeSqlMailOutbox(database, { secretBox: resolve(SecretBoxToken), clock: resolve(ClockToken) }),
  )
  container.provide(MailQueueToken, (resolve) => makeSqlMailQueue(database, resolve(SecretBoxToken)))
  container.provide(MailerToken, () => mailerOf(boot))
  const tally = { sent: 0, postponed: 0, givenUp: 0 }
  container.provideValue(MailTallyToken, tally)
  container.provide(DeliverMailToken, (resolve) => {
    const deps = {
      queue: resolve(MailQueueToken),
      mailer: resolve(MailerToken),
      clock: resolve(ClockToken),
      trust: resolve(TimeTrustToken),
      log: boot.log,
    }
    return tallied(makeDeliverMail(deps), tally)
  })
  container.provide(OutboxNotifierToken, (resolve) => {
    const notifier = makeOutboxNotifier(resolve(DeliverMailToken), boot.log)
    boot.onStop('mail', () => notifier.stop())
    return notifier
  })
}

const tallied =
  (deliver: DeliverMail, tally: Record<keyof DeliveryCount, number>): DeliverMail =>
  async (signal) => {
    const count = await deliver(signal)
    for (const fate of ['sent', 'postponed', 'givenUp'] as const) tally[fate] += count[fate]
    return count
  }

const mailerOf = (boot: Boot): Mailer => {
  const place = parseMailUrl(boot.settings.mail.reveal())
  if (place === undefined) throw new Error('MOORAGE_MAIL passed its check and is not understood')
  const sender = mailSenderOf(boot)
  return place.kind === 'folder'
    ? makeFolderMailer({ folder: place.path, sender, write: writeWhole })
    : makeSmtpMailer(place.smtp, sender)
}

const defaultName = 'Moorage'

/** Returns `Name <address>` or a bare address. The default is an address at the host of the base URL. */
const mailSenderOf = ({ settings, baseUrl, clock }: Pick<Boot, 'settings' | 'baseUrl' | 'clock'>): MailSender => {
  const { mailFrom } = settings
  if (mailFrom !== undefined) {
    const parts = /^(?:(.*\S)\s+)?<(.+)>$/.exec(mailFrom)
    return { name: parts?.[1] ?? defaultName, address: parts?.[2] ?? mailFrom, clock }
  }
  const { hostname } = new URL(baseUrl())
  const isAddress = hostname.startsWith('[') || isIP(hostname) !== 0
  return { name: defaultName, address: `no-reply@${isAddress ? 'localhost' : hostname}`, clock }
}
