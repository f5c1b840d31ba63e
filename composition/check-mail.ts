import { accessSync, constants, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { mailUrlForms, parseMailUrl } from '../adapters/mail/mail-url.ts'
import type { SmtpPlace } from '../adapters/mail/mail-url.ts'
import { verifySmtp } from '../adapters/mail/smtp-mailer.ts'
import type { Finding } from './doctor-checks.ts'
import type { Settings } from './settings.ts'

const finding = (state: Finding['state'], message: string): Finding => ({ subject: 'mail', state, message })

/** Whether mail can leave: the folder, or a mail server that greets, encrypts and takes the sign-in. Nothing is sent. */
export const checkMail = async ({ mail }: Pick<Settings, 'mail'>): Promise<Finding> => {
  const place = parseMailUrl(mail.reveal())
  if (place === undefined) return finding('problem', `MOORAGE_MAIL must be ${mailUrlForms}.`)
  return place.kind === 'folder' ? checkFolder(place.path) : checkServer(place.smtp)
}

const checkFolder = (path: string): Finding => {
  const meaning = 'Mail is written there and sent to nobody: right for a trial. Set MOORAGE_MAIL to a mail server for people to get it.'
  try {
    if (!statSync(path).isDirectory()) return finding('problem', `${path} is no folder.`)
    accessSync(path, constants.W_OK | constants.X_OK)
    return finding('warning', `Mail goes to the folder ${path}. ${meaning}`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && canBeMade(path)) return finding('warning', `The folder ${path} does not exist yet; the first mail makes it. ${meaning}`)
    return finding('problem', `Mail cannot be written to ${path} (${code ?? 'unknown'}).`)
  }
}

/** Whether the nearest folder above it that exists may be written to. */
const canBeMade = (path: string): boolean => {
  const above = dirname(resolve(path))
  try {
    accessSync(above, constants.W_OK | constants.X_OK)
    return statSync(above).isDirectory()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && canBeMade(above)
  }
}

const checkServer = async (place: SmtpPlace): Promise<Finding> => {
  const server = `The mail server ${place.host}:${place.port}`
  try {
    await verifySmtp(place)
  } catch (error) {
    return finding('problem', `${server} ${troubleWith(error as { readonly code?: string })}`)
  }
  const signedIn = place.user === undefined ? 'No user is named, so nobody signs in.' : `It takes the sign-in of ${place.user}.`
  if (place.tls === 'off') return finding('warning', `${server} answers, without encryption as ?tls=off says. ${signedIn}`)
  return finding('ok', `${server} answers. ${signedIn}`)
}

const troubleWith = ({ code }: { readonly code?: string }): string => {
  switch (code) {
    case 'EAUTH':
      return 'refuses the user or the password in MOORAGE_MAIL.'
    case 'ENOAUTH':
      return 'wants a user and a password in MOORAGE_MAIL.'
    case 'ETLS':
      return 'offers no encryption that can be trusted. Give it a certificate for its name; on a network of your own, ?tls=off does without.'
    case 'EDNS':
      return 'has a name that leads nowhere.'
    case 'ETIMEDOUT':
      return 'does not answer in time. A firewall may be in the way.'
    case 'ESOCKET':
    case 'ECONNECTION':
      return 'takes no connection of this kind: nothing listens there, or it speaks the other of smtp:// (mostly port 587) and smtps:// (mostly 465).'
    default:
      return `cannot be spoken to (${code ?? 'unknown'}).`
  }
}
