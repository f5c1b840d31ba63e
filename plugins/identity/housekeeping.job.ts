import type { PurgeAccountsDeps } from '../../core/identity/accounts/removal.ts'
import { makePurgeAccounts } from '../../core/identity/accounts/removal.ts'
import { makeDropOverSessions } from '../../core/identity/sessions/sessions.ts'
import type { HousekeepingDeps } from '../../core/identity/tokens/expiry.ts'
import { makeDropOldLinkCodes, makeRemoveExpiredTokens, makeWarnOfExpiringTokens } from '../../core/identity/tokens/expiry.ts'
import type { Entropy } from '../../core/kernel/entropy.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import type { Job } from '../kit/job.ts'

/** Removes accounts whose period for restoring or for confirmation has expired. */
export const purgeAccounts = (deps: PurgeAccountsDeps & { readonly entropy: Entropy }): Job => {
  const purge = makePurgeAccounts(deps)
  const ownCall = makeOwnCall(deps.entropy)
  const id = 'identity.purgeAccounts'
  return {
    id,
    summary: 'Remove accounts 30 days after they were deactivated, and accounts that were not confirmed within 7 days',
    everySeconds: 3600,
    run: async (signal) => {
      await purge(ownCall(id, signal))
    },
  }
}

const hourly = 3600

/** Mails the owners of access tokens that expire within seven days, and again within one day. Each warning is sent once. */
export const warnOfExpiringTokens = (deps: HousekeepingDeps): Job => {
  const warn = makeWarnOfExpiringTokens(deps)
  return {
    id: 'identity.warnOfExpiringTokens',
    summary: 'Notify the owners of access tokens that expire soon by mail',
    everySeconds: hourly,
    run: async (signal) => void (await warn(signal)),
  }
}

/** Removes expired records: access tokens after 30 days, codes of mails after a day, sessions after a week. */
export const removeWhatExpired = (deps: HousekeepingDeps): Job => {
  const removeTokens = makeRemoveExpiredTokens(deps)
  const dropCodes = makeDropOldLinkCodes(deps)
  const dropSessions = makeDropOverSessions(deps)
  return {
    id: 'identity.removeWhatExpired',
    summary: 'Remove access tokens 30 days after their end, sessions and remembered logins after a week, and expired codes of mails',
    everySeconds: hourly,
    run: async (signal) => {
      await removeTokens(signal)
      await dropCodes(signal)
      await dropSessions(signal)
    },
  }
}
