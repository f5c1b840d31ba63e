import type { Mail } from '../../core/kernel/mail.ts'
import type { MailSender } from './render-mail.ts'
import { renderMail } from './render-mail.ts'

/** A mail in the words of nodemailer. Nothing in it may be read from a file or fetched from somewhere. */
export const mimeMessage = (mail: Mail, messageRef: string, sender: MailSender) => {
  const to = { name: '', address: mail.to }
  return {
    ...renderMail(mail, sender),
    from: { name: sender.name, address: sender.address },
    to,
    envelope: { from: sender.address, to: [mail.to] },
    date: sender.clock.now(),
    messageId: `<${messageRef}@${domainOf(sender.address)}>`,
    // No out-of-office answer, please (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)
