import { left, right } from 'fp-ts/lib/Either.js'
import type { NodemailerError, SMTPTransportOptions } from 'nodemailer'
import { createTransport } from 'nodemailer'
import type { Clock } from '../../core/kernel/clock.ts'
import type { Failure } from '../../core/kernel/failure.ts'
import { definedFields } from '../../core/kernel/json.ts'
import type { Mail, Mailer } from '../../core/mail/ports.ts'
import { MailDelayed, MailRefused } from '../../core/mail/ports.ts'
import type { SmtpPlace } from './mail-url.ts'

export interface FolderMailerOptions {
  readonly folder: string
  readonly sender: MailSender
  /** Writes a file that is whole or absent, readable by its owner only, and creates the folder if it does not exist. */
  readonly write: (folder: string, name: string, bytes: Uint8Array) => Promise<void>
}

/** Writes each mail as `REF.eml` into a folder. A repetition replaces the file. */
export const makeFolderMailer = ({ folder, sender, write }: FolderMailerOptions): Mailer => {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    async send(mail, messageRef) {
      const { message } = await transport.sendMail(mimeMessage(mail, messageRef, sender))
      try {
        await write(folder, `${messageRef}.eml`, message as Buffer)
        return right(undefined)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === undefined) throw error
        // For example a full disk, or a folder that the service may not write to.
        return left(MailDelayed(code))
      }
    },
  }
}

/** The limit for a whole attempt, from name resolution to the server's last reply. */
const attemptMs = 20_000

export interface SmtpMailerOptions {
  /** PEM certificates of authorities; by default those that Node trusts. */
  readonly ca?: string
}

/** Returns nodemailer's options for a server. */
const transportOptions = (place: SmtpPlace, options: SmtpMailerOptions = {}): SMTPTransportOptions => ({
  host: place.host,
  port: place.port,
  secure: place.tls === 'implicit',
  requireTLS: place.tls === 'required',
  ignoreTLS: place.tls === 'off',
  opportunisticTLS: place.tls === 'if-offered',
  // Traffic on this machine cannot be intercepted, and local servers have self-signed certificates.
  tls: { minVersion: 'TLSv1.2', rejectUnauthorized: place.tls !== 'if-offered', ...definedFields({ ca: options.ca }) },
  ...definedFields({ auth: place.user === undefined ? undefined : { user: place.user, pass: place.password ?? '' } }),
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  dnsTimeout: 5_000,
  socketTimeout: attemptMs,
})

/** Sends over SMTP, with one connection for each mail. */
export const makeSmtpMailer = (place: SmtpPlace, sender: MailSender, options: SmtpMailerOptions = {}): Mailer => {
  const transport = createTransport(transportOptions(place, options))
  return {
    async send(mail, messageRef) {
      try {
        await transport.sendMail({ ...mimeMessage(mail, messageRef, sender), signal: AbortSignal.timeout(attemptMs) })
        return right(undefined)
      } catch (error) {
        return left(sendFailure(error as NodemailerError))
      }
    },
  }
}

/**
 * Classifies an error. Only a 5xx about the recipient or the message itself is final: a refused login or sender is for
 * the operator to fix, and the mail waits.
 */
const sendFailure = ({
  code,
  command,
  responseCode,
}: NodemailerError): Failure<'MailDelayed'> | Failure<'MailRefused'> => {
  const reason = [code ?? 'unknown', ...(responseCode === undefined ? [] : [String(responseCode)])].join(' ')
  const isAboutMail = command === 'RCPT TO' || command === 'DATA' || code === 'EMESSAGE'
  return isAboutMail && responseCode !== undefined && responseCode >= 500 ? MailRefused(reason) : MailDelayed(reason)
}

/** Connects, greets and signs in without sending a mail. Throws nodemailer's error. */
export const verifySmtp = async (place: SmtpPlace, options: SmtpMailerOptions = {}): Promise<void> => {
  const transport = createTransport(transportOptions(place, options))
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

export interface MailSender {
  /** Shown at the top of the HTML form and beside the address. */
  readonly name: string
  readonly address: string
  /** The source of each mail's date. */
  readonly clock: Clock
}

interface RenderedMail {
  readonly subject: string
  readonly text: string
  readonly html: string
}

const maxSubjectLength = 200

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => escapes[sign] ?? sign)

/**
 * Returns the text on one line: a line break in a subject would start another header, and other control characters are
 * of no use.
 */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim()

/** Returns the subject, the plain text and the HTML of a mail. The HTML has the same content and loads nothing. */
const renderMail = (mail: Mail, sender: MailSender): RenderedMail => {
  const paragraphs = mail.paragraphs.map(oneLine)
  const action =
    mail.action === undefined ? undefined : { label: oneLine(mail.action.label), url: mail.action.url.reveal() }
  return {
    subject: [...oneLine(mail.subject)].slice(0, maxSubjectLength).join(''),
    text: textOf(paragraphs, action, sender),
    html: htmlOf(oneLine(mail.subject), paragraphs, action, sender),
  }
}

interface Action {
  readonly label: string
  readonly url: string
}

const textOf = (paragraphs: readonly string[], action: Action | undefined, sender: MailSender): string =>
  [...paragraphs, ...(action === undefined ? [] : [`${action.label}:\n${action.url}`]), `-- \n${sender.name}`].join(
    '\n\n',
  ) + '\n'

/** The colours are those of the reader's program, so that the mail is legible on light and dark backgrounds. */
const htmlOf = (
  title: string,
  paragraphs: readonly string[],
  action: Action | undefined,
  sender: MailSender,
): string => {
  const link = action === undefined ? '' : linkOf(action)
  return `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${escaped(title)}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif">
<div style="max-width:560px;margin:0 auto">
<p style="font-weight:600">${escaped(sender.name)}</p>
${paragraphs.map((paragraph) => `<p>${escaped(paragraph)}</p>`).join('\n')}
${link}</div>
</body>
</html>
`
}

const linkOf = ({ label, url }: Action): string => {
  if (!/^https?:\/\//.test(url)) throw new Error('A link in a mail must be http or https.')
  const target = escaped(url)
  return `<p><a href="${target}" style="display:inline-block;padding:8px 16px;border:1px solid;border-radius:6px">${escaped(label)}</a></p>
<p style="font-size:14px;word-break:break-all">${target}</p>
`
}

/** Returns a mail in the format of nodemailer. Its content is never read from a file or fetched from a URL. */
const mimeMessage = (mail: Mail, messageRef: string, sender: MailSender) => {
  const to = { name: '', address: mail.to }
  return {
    ...renderMail(mail, sender),
    from: { name: sender.name, address: sender.address },
    to,
    envelope: { from: sender.address, to: [mail.to] },
    date: sender.clock.now(),
    messageId: `<${messageRef}@${domainOf(sender.address)}>`,
    // Suppresses out-of-office replies (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)
