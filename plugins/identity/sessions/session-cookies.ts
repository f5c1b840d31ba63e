import type { Secret } from '../../../core/kernel/secret.ts'
import type { CsrfTokens, IdentitySettings } from '../../../core/identity/ports.ts'
import type { RememberedCookie } from '../../../core/identity/sessions/ports.ts'
import type { CookieChange } from '../../kit/reply.ts'

/** Scripts read it, and repeat it in `X-Csrf-Token`. */
const csrfCookie = '_csrf'
/** Carried to the bus's websocket, and nowhere else. */
export const busCookie = 'moorage_bus'
const busPath = '/bus'

export const rememberCookieName = (sessionCookie: string): string => `${sessionCookie}_remember`

/** The session just opened, in terms of what a browser keeps. */
export interface OpenedSession {
  readonly sessionKey: Secret
  /** Undefined: what the browser has stays as it is. */
  readonly remembered: RememberedCookie | 'none' | undefined
  readonly busPass: Secret | undefined
}

type Settings = Pick<IdentitySettings, 'sessionCookie' | 'sessionSeconds'>

const remember = (settings: Settings, value: string | undefined, maxAgeSeconds?: number): CookieChange => ({
  name: rememberCookieName(settings.sessionCookie),
  value,
  httpOnly: true,
  path: '/',
  hostPrefix: true,
  ...(maxAgeSeconds === undefined ? {} : { maxAgeSeconds }),
})

const bus = (value: string | undefined, maxAgeSeconds?: number): CookieChange => ({
  name: busCookie,
  value,
  httpOnly: true,
  path: busPath,
  ...(maxAgeSeconds === undefined ? {} : { maxAgeSeconds }),
})

/**
 * The cookies of a new session. Those of the session itself end with the browser; a pass of somebody who was signed in
 * here before goes also where there is no new one.
 */
export const cookiesOfSession = (settings: Settings, csrf: CsrfTokens, opened: OpenedSession): readonly CookieChange[] => [
  { name: settings.sessionCookie, value: opened.sessionKey.reveal(), httpOnly: true, path: '/', hostPrefix: true },
  { name: csrfCookie, value: csrf.of(opened.sessionKey), httpOnly: false, path: '/' },
  ...rememberChange(settings, opened.remembered),
  bus(opened.busPass?.reveal(), opened.busPass === undefined ? undefined : settings.sessionSeconds),
]

const rememberChange = (settings: Settings, remembered: OpenedSession['remembered']): readonly CookieChange[] => {
  if (remembered === undefined) return []
  return [remembered === 'none' ? remember(settings, undefined) : remember(settings, remembered.value.reveal(), remembered.validSeconds)]
}

/** Takes every cookie of a session away again. */
export const clearedCookies = (settings: Settings): readonly CookieChange[] => [
  { name: settings.sessionCookie, value: undefined, httpOnly: true, path: '/', hostPrefix: true },
  { name: csrfCookie, value: undefined, httpOnly: false, path: '/' },
  remember(settings, undefined),
  bus(undefined),
]
