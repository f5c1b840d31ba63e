import type { HousekeepingDeps } from '../../core/identity/expiring-tokens.ts'
import { makeDropOldLinkCodes, makeRemoveExpiredTokens, makeWarnOfExpiringTokens } from '../../core/identity/expiring-tokens.ts'
import { makeDropOverSessions } from '../../core/identity/over-sessions.ts'
import type { Job } from '../kit/job.ts'

const hourly = 3600

/** Mails the owners of access tokens that expire within seven days and within one, once each. */
export const warnOfExpiringTokens = (deps: HousekeepingDeps): Job => {
  const warn = makeWarnOfExpiringTokens(deps)
  return {
    id: 'identity.warnOfExpiringTokens',
    summary: 'Mail the owners of access tokens that expire soon',
    everySeconds: hourly,
    run: async (signal) => void (await warn(signal)),
  }
}

/** Removes what has been over for long: access tokens after 30 days, codes of mails after a day, sessions after a week. */
export const removeWhatExpired = (deps: HousekeepingDeps): Job => {
  const removeTokens = makeRemoveExpiredTokens(deps)
  const dropCodes = makeDropOldLinkCodes(deps)
  const dropSessions = makeDropOverSessions(deps)
  return {
    id: 'identity.removeWhatExpired',
    summary: 'Remove access tokens 30 days, sessions and remembered logins a week after their end, and old codes of mails',
    everySeconds: hourly,
    run: async (signal) => {
      await removeTokens(signal)
      await dropCodes(signal)
      await dropSessions(signal)
    },
  }
}
