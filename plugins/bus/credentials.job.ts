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

/** Ends what its owner has no right to any more and tells the server; what it cannot tell now it tells the next time. */
export const retireCredentialsJob = ({ server, retire, pushDue, ownCall }: RetireJobDeps): Job => ({
  id: 'bus.retireCredentials',
  summary: 'End bus credentials of people who were disabled, deleted, signed out or got another password',
  everySeconds: 10,
  run: async (signal) => {
    await retire(ownCall('bus.retireCredentials', signal))
    if (server.isConnected()) await pushDue(signal)
  },
})

/** Gives the server again what it lost. */
export const reconcileClaimsJob = (reconcile: PushDue): Job => ({
  id: 'bus.reconcileClaims',
  summary: 'Give the message bus the claims of accounts that it has lost or never got',
  everySeconds: 60,
  run: reconcile,
})
