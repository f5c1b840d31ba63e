import { isIP } from 'node:net'

/** A mail server from `MOORAGE_MAIL`. */
export interface SmtpPlace {
  readonly host: string
  readonly port: number
  /**
   * `implicit`: TLS from the first byte. `required`: STARTTLS or failure. `if-offered`: on this machine only. `off`:
   * plain text, as configured.
   */
  readonly tls: 'implicit' | 'required' | 'if-offered' | 'off'
  readonly user: string | undefined
  readonly password: string | undefined
}

export type MailPlace =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'smtp'; readonly smtp: SmtpPlace }

export const mailUrlForms = 'folder:PATH, smtp://user:password@host:port or smtps://user:password@host:port'

const defaultPorts = { 'smtp:': 587, 'smtps:': 465 } as const

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

/**
 * Parses `folder:PATH`, `smtp://` or `smtps://`; user and password are percent-decoded. Returns undefined for anything
 * else. `?tls=off` sends in plain text, `?tls=required` demands STARTTLS on this machine as well.
 */
export const parseMailUrl = (url: string): MailPlace | undefined => {
  const folder = /^folder:(.+)$/s.exec(url)?.[1]
  if (folder !== undefined) return { kind: 'folder', path: folder }
  if (!/^smtps?:\/\//.test(url) || !URL.canParse(url)) return undefined
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(url)
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const isImplicit = protocol === 'smtps:'
  const choice = /^(?:\?tls=(off|required))?$/.exec(search)
  if (
    host === '' ||
    (pathname !== '' && pathname !== '/') ||
    hash !== '' ||
    choice === null ||
    (isImplicit && search !== '')
  )
    return undefined
  const user = decoded(username)
  const secret = decoded(password)
  if (user === undefined || secret === undefined) return undefined
  const named = choice[1] as 'off' | 'required' | undefined
  return {
    kind: 'smtp',
    smtp: {
      host,
      port: port === '' ? defaultPorts[isImplicit ? 'smtps:' : 'smtp:'] : Number(port),
      tls: isImplicit ? 'implicit' : (named ?? (isLoopback(host) ? 'if-offered' : 'required')),
      user: user === '' ? undefined : user,
      password: secret === '' ? undefined : secret,
    },
  }
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
