import type { PurgeAccountsDeps } from '../../core/identity/purge-accounts.ts'
import { makePurgeAccounts } from '../../core/identity/purge-accounts.ts'
import type { Entropy } from '../../core/kernel/entropy.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import type { Job } from '../kit/job.ts'

/** Removes accounts whose time to come back, or to be confirmed, is over. */
export const purgeAccounts = (deps: PurgeAccountsDeps & { readonly entropy: Entropy }): Job => {
  const purge = makePurgeAccounts(deps)
  const ownCall = makeOwnCall(deps.entropy)
  const id = 'identity.purgeAccounts'
  return {
    id,
    summary: 'Remove accounts that were deactivated 30 days, or left unconfirmed 7 days, ago',
    everySeconds: 3600,
    run: async (signal) => {
      await purge(ownCall(id, signal))
    },
  }
}
