import { BusPort } from '../../core/bus/bus.ts'
import { makeRetireCredentials } from '../../core/bus/credentials.ts'
import { BusIdentityStorePort, BusServerPort, BusUnitOfWorkPort, BusUserStorePort } from '../../core/bus/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { defineGroup } from '../kit/group.ts'

/** The jobs that end credentials and keep the claims of the server current. */
export const credentialJobGroup = defineGroup({
  needs: {
    bus: BusPort,
    clock: ClockPort,
    entropy: EntropyPort,
    identities: BusIdentityStorePort,
    server: BusServerPort,
    unitOfWork: BusUnitOfWorkPort,
    users: BusUserStorePort,
  },
  jobs: (given) => {
    const retire = makeRetireCredentials(given)
    const ownCall = makeOwnCall(given.entropy)
    return [
      {
        id: 'bus.retireCredentials',
        summary:
          'Revoke the bus credentials of users who were disabled, deleted or signed out, or whose password changed',
        everySeconds: 10,
        // A push that fails is retried at the next run.
        run: async (signal) => {
          await retire(ownCall('bus.retireCredentials', signal))
          if (given.server.isConnected()) await given.bus.pushDue(signal)
        },
      },
      {
        id: 'bus.reconcileClaims',
        summary: 'Send the message bus the claims of accounts that it does not have',
        everySeconds: 60,
        run: given.bus.reconcile,
      },
    ]
  },
})
