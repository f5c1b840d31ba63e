import { BusToken, makeBoundedPasses, makeBus } from '../../core/bus/bus.ts'
import { natsServers } from '../../adapters/bus/nats-connection.ts'
import { makeNatsMint } from '../../adapters/bus/nats-mint.ts'
import { makeNatsServer, noBusServer } from '../../adapters/bus/nats-server.ts'
import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlBusIdentityStore, makeSqlBusUserStore } from '../../adapters/sql/bus/bus-store.ts'
import { makeSqlIdentityStores } from '../../adapters/sql/identity/identity-stores.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import { makeBusPasses } from '../../core/bus/credentials.ts'
import { makeSealedKeys, makeSystemLogin } from '../../core/bus/keys.ts'
import {
  BusIdentityStoreToken,
  BusMintToken,
  BusServerToken,
  BusUnitOfWorkToken,
  BusUserStoreToken,
} from '../../core/bus/ports.ts'
import type { BusServer } from '../../core/bus/ports.ts'
import { BusPassesToken } from '../../core/identity/sessions/ports.ts'
import { credentialStillValid } from '../../core/identity/credentials.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { EntropyToken, SecretBoxToken } from '../../core/kernel/secret.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import type { Boot, Provide } from '../boot.ts'
import type { Resolve } from '../container.ts'

export const provideBus: Provide = (container, boot) => {
  const { database } = boot
  const identities = makeSqlBusIdentityStore(database)
  const users = makeSqlBusUserStore(database)
  const bindIdentity = makeSqlIdentityStores(database, boot.heldObjects)
  container.provide(BusMintToken, (resolve) => makeNatsMint(resolve(ClockToken)))
  container.provide(BusIdentityStoreToken, () => identities(database))
  container.provide(BusUserStoreToken, () => users(database))
  container.provide(BusUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({
        identities: identities(tx),
        users: users(tx),
        callers: {
          isStillProven: (principal) => credentialStillValid(bindIdentity(tx), resolve(ClockToken), principal),
        },
        audit,
      }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
  container.provide(BusServerToken, (resolve) => serverOf(boot, resolve))
  container.provide(BusToken, (resolve) =>
    makeBus({
      identities: resolve(BusIdentityStoreToken),
      users: resolve(BusUserStoreToken),
      unitOfWork: resolve(BusUnitOfWorkToken),
      mint: resolve(BusMintToken),
      server: resolve(BusServerToken),
      secretBox: resolve(SecretBoxToken),
      entropy: resolve(EntropyToken),
      clock: resolve(ClockToken),
    }),
  )
  container.provide(BusPassesToken, (resolve) => {
    const { issue } = resolve(BusToken)
    return makeBoundedPasses(
      makeBusPasses({ issue, server: resolve(BusServerToken), ownCall: makeOwnCall(resolve(EntropyToken)) }),
      boot.log,
    )
  })
}

const serverOf = (boot: Boot, resolve: Resolve): BusServer => {
  const { busUrl, busPublicUrl } = boot.settings
  if (busUrl.reveal() === 'inproc:') return noBusServer
  const servers = natsServers(busUrl.reveal())
  const server = makeNatsServer({
    servers,
    endpoints: busPublicUrl.length > 0 ? busPublicUrl : servers,
    login: makeSystemLogin({
      identities: resolve(BusIdentityStoreToken),
      mint: resolve(BusMintToken),
      safe: makeSealedKeys(resolve(SecretBoxToken), resolve(EntropyToken)),
    }),
    log: boot.log,
  })
  boot.onStop('message bus', () => server.close())
  return server
}
