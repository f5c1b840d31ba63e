import { accessSync, constants, statSync } from 'node:fs'
import type { SmtpPlace } from '../../../adapters/mail/mail-url.ts'
import { mailUrlForms, parseMailUrl } from '../../../adapters/mail/mail-url.ts'
import { verifySmtp } from '../../../adapters/mail/mailers.ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { canBeMade } from '../../runtime/cli/doctor/doctor-checks.ts'
import type { Finding } from '../../part/finding.ts'

const mailFinding = (state: Finding['state'], message: string): Finding => ({ subject: 'mail', state, message })

/**
 * Checks that mail can be delivered: to the folder, or to a mail server that greets, encrypts and accepts the login.
 * Sends nothing.
 */
export const checkMail = async ({ mail }: { readonly mail: Secret }): Promise<Finding> => {
  const place = parseMailUrl(mail.reveal())
  if (place === undefined) return mailFinding('problem', `MOORAGE_MAIL must be ${mailUrlForms}.`)
  return place.kind === 'folder' ? checkFolder(place.path) : checkServer(place.smtp)
}

const checkFolder = (path: string): Finding => {
  const meaning =
    'Mail is written to files and not sent, which is suitable for a trial only. Set MOORAGE_MAIL to a mail ' +
    'server to send it.'
  try {
    if (!statSync(path).isDirectory()) return mailFinding('problem', `${path} is no folder.`)
    accessSync(path, constants.W_OK | constants.X_OK)
    return mailFinding('warning', `Mail goes to the folder ${path}. ${meaning}`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && canBeMade(path))
      return mailFinding('warning', `The folder ${path} does not exist yet; the first mail makes it. ${meaning}`)
    return mailFinding('problem', `Mail cannot be written to ${path} (${code ?? 'unknown'}).`)
  }
}

const checkServer = async (place: SmtpPlace): Promise<Finding> => {
  const server = `The mail server ${place.host}:${place.port}`
  try {
    await verifySmtp(place)
  } catch (error) {
    return mailFinding('problem', `${server} ${troubleWith(error as { readonly code?: string })}`)
  }
  const signedIn =
    place.user === undefined
      ? 'No user is configured, so it is used without signing in.'
      : `It accepts the sign-in of ${place.user}.`
  if (place.tls === 'off')
    return mailFinding('warning', `${server} answers, without encryption as ?tls=off says. ${signedIn}`)
  return mailFinding('ok', `${server} answers. ${signedIn}`)
}

const troubleWith = ({ code }: { readonly code?: string }): string => {
  switch (code) {
    case 'EAUTH':
      return 'refuses the user or the password in MOORAGE_MAIL.'
    case 'ENOAUTH':
      return 'wants a user and a password in MOORAGE_MAIL.'
    case 'ETLS':
      return (
        'offers no encryption that can be trusted. Give it a certificate for its name; on a network of your ' +
        'own, ?tls=off does without.'
      )
    case 'EDNS':
      return 'has a name that leads nowhere.'
    case 'ETIMEDOUT':
      return 'does not answer in time. A firewall may block the connection.'
    case 'ESOCKET':
    case 'ECONNECTION':
      return (
        'takes no connection of this kind: nothing listens there, or it speaks the other of smtp:// (mostly ' +
        'port 587) and smtps:// (mostly 465).'
      )
    default:
      return `cannot be spoken to (${code ?? 'unknown'}).`
  }
}
