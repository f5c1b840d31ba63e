import type { IdentitySettings } from './ports.ts'

/** How many sessions a user may have at once; the oldest go first. */
export const maxSessionsPerUser = 20
/** `last used` and `last seen` move at most so often: a mark, not a log. */
export const markEverySeconds = 60

export interface SessionTimes {
  readonly idleExpiresAt: Date
  readonly expiresAt: Date
}

export const laterBySeconds = (at: Date, seconds: number): Date => new Date(at.getTime() + seconds * 1000)
const earlier = (a: Date, b: Date): Date => (a.getTime() < b.getTime() ? a : b)

/** How long a new session lasts. A remembered one has no idle limit. */
export const newSessionTimes = (settings: IdentitySettings, remember: boolean, now: Date): SessionTimes => {
  const expiresAt = laterBySeconds(now, remember ? settings.rememberSeconds : settings.sessionSeconds)
  return { expiresAt, idleExpiresAt: remember ? expiresAt : earlier(expiresAt, laterBySeconds(now, settings.sessionIdleSeconds)) }
}

/** Until when a session that is used now stays alive without further use. */
export const renewedIdleExpiry = (
  settings: IdentitySettings,
  session: { readonly remember: boolean; readonly expiresAt: Date },
  now: Date,
): Date => (session.remember ? session.expiresAt : earlier(session.expiresAt, laterBySeconds(now, settings.sessionIdleSeconds)))

export const isSessionAlive = (session: SessionTimes, now: Date): boolean =>
  now.getTime() < session.idleExpiresAt.getTime() && now.getTime() < session.expiresAt.getTime()

/** Whether a mark is old enough to be moved. */
export const isMarkDue = (last: Date | undefined, now: Date): boolean =>
  last === undefined || now.getTime() - last.getTime() >= markEverySeconds * 1000
