import type { Secret } from '../../../core/kernel/secret.ts'
import type { CsrfTokens, IdentitySettings } from '../../../core/identity/ports.ts'
import type { RememberedCookie } from '../../../core/identity/sessions/ports.ts'
import type { CookieChange } from '../../kit/reply.ts'
import { definedFields } from '../../../core/kernel/json.ts'

/** Readable by scripts, which repeat its value in `X-Csrf-Token`. */
export const csrfCookie = '_csrf'
/** Names a browser that is signing in with a passkey, or with an identity provider. */
export const signInCookie = 'moorage_sign_in'
/** Longer than the challenge of a passkey, and as long as a sign-in with a provider may take. */
const signInCookieSeconds = 600
/** Sent only to the websocket of the bus. */
export const busCookie = 'moorage_bus'
const busPath = '/bus'

export const rememberCookieName = (sessionCookie: string): string => `${sessionCookie}_remember`

/** A session that was just opened, as far as its cookies depend on it. */
interface OpenedSession {
  readonly sessionKey: Secret
  /** Undefined leaves the cookie in the browser unchanged. */
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
  ...definedFields({ maxAgeSeconds }),
})

const bus = (value: string | undefined, maxAgeSeconds?: number): CookieChange => ({
  name: busCookie,
  value,
  httpOnly: true,
  path: busPath,
  ...definedFields({ maxAgeSeconds }),
})

/** Returns the cookie of a browser that is signing in; undefined removes it. */
export const signInCookieOf = (key: Secret | undefined): CookieChange => ({
  name: signInCookie,
  value: key?.reveal(),
  httpOnly: true,
  path: '/',
  hostPrefix: true,
  ...definedFields({ maxAgeSeconds: key === undefined ? undefined : signInCookieSeconds }),
})

/**
 * Returns the cookies of a new session. The session cookies end with the browser. The pass of a user who was signed in
 * before is removed even when there is no new pass.
 */
export const cookiesOfSession = (
  settings: Settings,
  csrf: CsrfTokens,
  opened: OpenedSession,
): readonly CookieChange[] => [
  { name: settings.sessionCookie, value: opened.sessionKey.reveal(), httpOnly: true, path: '/', hostPrefix: true },
  { name: csrfCookie, value: csrf.of(opened.sessionKey), httpOnly: false, path: '/' },
  ...rememberChange(settings, opened.remembered),
  bus(opened.busPass?.reveal(), opened.busPass === undefined ? undefined : settings.sessionSeconds),
]

const rememberChange = (settings: Settings, remembered: OpenedSession['remembered']): readonly CookieChange[] => {
  if (remembered === undefined) return []
  return [
    remembered === 'none'
      ? remember(settings, undefined)
      : remember(settings, remembered.value.reveal(), remembered.validSeconds),
  ]
}

/** Returns the changes that clear every cookie of a session. */
export const clearedCookies = (settings: Settings): readonly CookieChange[] => [
  { name: settings.sessionCookie, value: undefined, httpOnly: true, path: '/', hostPrefix: true },
  { name: csrfCookie, value: undefined, httpOnly: false, path: '/' },
  remember(settings, undefined),
  bus(undefined),
]
