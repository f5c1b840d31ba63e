import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Entropy } from '../../kernel/secret.ts'
import { laterByDays, laterBySeconds } from '../../kernel/clock.ts'
import type { Mail } from '../../mail/ports.ts'
import { makeOwnCall } from '../../kernel/principal.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfToken } from '../audit.ts'
import { keepLinkCodesSeconds } from '../emails/link-codes.ts'
import type { IdentityChanges, IdentityStores } from '../ports.ts'
import type { ExpiringToken } from './ports.ts'

/**
 * How many days before expiry a token's owner is warned, the last warning first: it makes the earlier ones unnecessary.
 */
const warningDays = [1, 7] as const
/**
 * The number of days for which an expired token remains in the lists, so that its owner can see why something stopped
 * working.
 */
const keepExpiredDays = 30
const batch = 100

export interface HousekeepingDeps {
  readonly stores: IdentityStores
  readonly unitOfWork: UnitOfWork<IdentityChanges>
  readonly clock: Clock
  readonly entropy: Entropy
}

const warningMail = (token: ExpiringToken, days: number): Mail => ({
  to: token.email,
  subject: `An access token of yours expires within ${days === 1 ? 'a day' : `${days} days`}`,
  paragraphs: [
    `The access token "${token.name}" (ending in ${token.lastEight}) of the account ${token.login} expires ` +
      `at ${token.expiresAt.toISOString()}. What uses it stops working then.`,
    'Make a new token in time and put it in the place of the old one. If nothing uses it, you need not do anything.',
  ],
  accountId: token.userId,
})

/** Mails the owners of tokens that expire soon, once for each period. Returns the number of mails posted. */
export const makeWarnOfExpiringTokens =
  (deps: HousekeepingDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    let posted = 0
    for (const days of warningDays) {
      for (;;) {
        if (signal.aborted) return posted
        const due = await deps.stores.tokenExpiry.dueWarnings(days, deps.clock.now(), batch)
        if (due.length === 0) break
        const outcome = await deps.unitOfWork.run<never, number>(
          makeOwnCall(deps.entropy)('identity.warnOfExpiringTokens', signal),
          async (stores) => {
            let marked = 0
            for (const token of due) {
              if (!(await stores.tokenExpiry.markWarned(token.id, days))) continue
              await stores.mail.post(warningMail(token, days))
              marked += 1
            }
            return right(marked)
          },
        )
        if (!isLeft(outcome)) posted += outcome.right
      }
    }
    return posted
  }

/** Deletes tokens that expired long ago. Returns the number deleted. */
export const makeRemoveExpiredTokens =
  (deps: HousekeepingDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    let removed = 0
    while (!signal.aborted) {
      const ended = await deps.stores.tokenExpiry.endedBefore(laterByDays(deps.clock.now(), -keepExpiredDays), batch)
      if (ended.length === 0) break
      await deps.unitOfWork.run<never, void>(
        makeOwnCall(deps.entropy)('identity.removeExpiredTokens', signal),
        async (stores) => {
          for (const token of ended) {
            const name = await stores.tokens.remove(token.userId, token.id)
            if (name === undefined) continue
            await stores.audit.record(auditOfToken({ ...token, name }, 'token.deleted', { by: 'expiry' }))
          }
          return right(undefined)
        },
      )
      removed += ended.length
    }
    return removed
  }

/** Deletes link codes that are no longer valid and no longer count toward a limit. Returns the number deleted. */
export const makeDropOldLinkCodes =
  (deps: Pick<HousekeepingDeps, 'stores' | 'clock'>) =>
  async (signal: AbortSignal): Promise<number> => {
    let dropped = 0
    while (!signal.aborted) {
      const some = await deps.stores.linkCodes.purge(laterBySeconds(deps.clock.now(), -keepLinkCodesSeconds))
      if (some === 0) break
      dropped += some
    }
    return dropped
  }
