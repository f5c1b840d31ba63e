import { createTransport } from 'nodemailer'
import type { NodemailerError, SMTPTransportOptions } from 'nodemailer'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../core/kernel/failure.ts'
import type { Mailer } from '../../core/mail/ports.ts'
import { MailDelayed, MailRefused } from '../../core/mail/ports.ts'
import type { SmtpPlace } from './mail-url.ts'
import { mimeMessage } from './message.ts'
import type { MailSender } from './message.ts'
import { definedFields } from '../../core/kernel/json.ts'

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
 * Classifies an error. Only a 5xx about the recipient or the message itself is final: a refused login or sender is for the
 * operator to fix, and the mail waits.
 */
const sendFailure = ({ code, command, responseCode }: NodemailerError): Failure<'MailDelayed'> | Failure<'MailRefused'> => {
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
