import { laterBySeconds } from '../kernel/clock.ts'
import { auditedUser } from './audited-user.ts'
import { linkCodeMinutes } from './link-codes.ts'
import type { IdentityChanges } from './ports.ts'

/**
 * Makes room for whoever gives an address now: one that somebody added and did not confirm while its first code was good
 * is theirs no longer, so that nobody keeps the address of another by merely naming it. Recorded for that account.
 */
export const releaseLapsedClaim = async (stores: IdentityChanges, key: string, now: Date): Promise<void> => {
  const before = laterBySeconds(now, -linkCodeMinutes['email-confirmation'] * 60)
  const claimantId = await stores.emails.releaseUnconfirmed(key, before)
  const claimant = claimantId === undefined ? undefined : await stores.users.byId(claimantId)
  if (claimant === undefined) return
  await stores.audit.record({
    action: 'email.removed',
    ...auditedUser(claimant),
    changes: { addresses: 1, by: 'lapse' },
  })
}
