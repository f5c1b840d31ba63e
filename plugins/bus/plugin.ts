import { BusToken } from '../../core/bus/bus.ts'
import { BusIdentityStoreToken, BusServerToken, BusUnitOfWorkToken, BusUserStoreToken } from '../../core/bus/ports.ts'
import { makeRetireCredentials, makeRevokeCredentials } from '../../core/bus/credentials.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { definePlugin } from '../kit/plugin.ts'
import { credentialRoutes, tokenRoutes } from './credentials.handlers.ts'
import { reconcileClaimsJob, retireCredentialsJob } from './credentials.job.ts'

/** Credentials for the message bus, which carries task progress and notifications. */
export const busPlugin = definePlugin({
  id: 'bus',
  summary: 'Credentials for the message bus',
  listener: 'api',
  gate: 'always',
  needs: {
    bus: BusToken,
    server: BusServerToken,
    identities: BusIdentityStoreToken,
    users: BusUserStoreToken,
    unitOfWork: BusUnitOfWorkToken,
    clock: ClockToken,
    entropy: EntropyToken,
  },
  routes: (given) => [
    ...credentialRoutes(given.bus.issue),
    ...tokenRoutes(given.users, makeRevokeCredentials({ ...given, push: given.bus.push })),
  ],
  jobs: (given) => [
    retireCredentialsJob({ ...given, pushDue: given.bus.pushDue, retire: makeRetireCredentials(given), ownCall: makeOwnCall(given.entropy) }),
    reconcileClaimsJob(given.bus.reconcile),
  ],
})
