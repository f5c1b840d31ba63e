import { makePurgeAccounts } from '../../core/identity/accounts/removal.ts'
import { makeMendSearchTerms } from '../../core/identity/accounts/search-terms.ts'
import { IdentityStoresPort, IdentityUnitOfWorkPort } from '../../core/identity/ports.ts'
import { makeDropExpiredChallenges } from '../../core/identity/passkeys/challenges.ts'
import { makeDropOverSessions } from '../../core/identity/sessions/sessions.ts'
import {
  makeDropOldLinkCodes,
  makeRemoveExpiredTokens,
  makeWarnOfExpiringTokens,
} from '../../core/identity/tokens/expiry.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { defineGroup } from '../kit/group.ts'

const hourly = 3600
/**
 * A user that an instance of an earlier release creates during an upgrade is found after twice this time at most: a
 * lease may be looked at just before it ends.
 */
const halfMinute = 30
const purgeId = 'identity.purgeAccounts'

export const housekeepingGroup = defineGroup({
  needs: { clock: ClockPort, entropy: EntropyPort, stores: IdentityStoresPort, unitOfWork: IdentityUnitOfWorkPort },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const purge = makePurgeAccounts(given)
    const warn = makeWarnOfExpiringTokens(given)
    const removeTokens = makeRemoveExpiredTokens(given)
    const dropCodes = makeDropOldLinkCodes(given)
    const dropSessions = makeDropOverSessions(given)
    const dropChallenges = makeDropExpiredChallenges(given)
    const mendSearchTerms = makeMendSearchTerms(given)
    return [
      {
        id: purgeId,
        summary:
          'Remove accounts 30 days after they were deactivated, and accounts that were not confirmed within 7 days',
        everySeconds: hourly,
        run: async (signal) => {
          await purge(ownCall(purgeId, signal))
        },
      },
      {
        id: 'identity.warnOfExpiringTokens',
        summary: 'Notify the owners of access tokens that expire soon by mail',
        everySeconds: hourly,
        run: async (signal) => void (await warn(signal)),
      },
      {
        id: 'identity.removeWhatExpired',
        summary:
          'Remove access tokens 30 days after their end, sessions and remembered logins after a week, and ' +
          'expired codes of mails and challenges for passkeys',
        everySeconds: hourly,
        run: async (signal) => {
          await removeTokens(signal)
          await dropCodes(signal)
          await dropSessions(signal)
          await dropChallenges(signal)
        },
      },
      {
        id: 'identity.mendSearchTerms',
        summary: 'Make users and addresses found that an instance of an earlier release wrote without search terms',
        everySeconds: halfMinute,
        run: async (signal) => void (await mendSearchTerms(signal)),
      },
    ]
  },
})
