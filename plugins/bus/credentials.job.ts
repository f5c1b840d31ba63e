import type { PushDue } from '../../core/bus/accounts.ts'
import type { BusServer } from '../../core/bus/ports.ts'
import type { Call, OwnCall } from '../../core/kernel/principal.ts'
import type { Job } from '../kit/job.ts'

export interface RetireJobDeps {
  readonly server: Pick<BusServer, 'isConnected'>
  readonly retire: (call: Call) => Promise<number>
  readonly pushDue: PushDue
  readonly ownCall: OwnCall
}

/**
 * Revokes credentials whose owner has lost the right to them, and pushes this to the server. A push that fails is retried at
 * the next run.
 */
export const retireCredentialsJob = ({ server, retire, pushDue, ownCall }: RetireJobDeps): Job => ({
  id: 'bus.retireCredentials',
  summary: 'Revoke the bus credentials of users who were disabled, deleted or signed out, or whose password changed',
  everySeconds: 10,
  run: async (signal) => {
    await retire(ownCall('bus.retireCredentials', signal))
    if (server.isConnected()) await pushDue(signal)
  },
})

/** Restores the claims that the server has lost. */
export const reconcileClaimsJob = (reconcile: PushDue): Job => ({
  id: 'bus.reconcileClaims',
  summary: 'Send the message bus the claims of accounts that it does not have',
  everySeconds: 60,
  run: reconcile,
})
