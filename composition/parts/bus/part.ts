import { busMigrations } from '../../../adapters/sql/bus/migrations.ts'
import { BusPort, makeBoundedPasses, makeBus } from '../../../core/bus/bus.ts'
import { natsServers } from '../../../adapters/bus/nats-connection.ts'
import { makeNatsMint } from '../../../adapters/bus/nats-mint.ts'
import { makeNatsServer, noBusServer } from '../../../adapters/bus/nats-server.ts'
import { makeSqlBusIdentityStore, makeSqlBusUserStore } from '../../../adapters/sql/bus/bus-store.ts'
import { makeSqlIdentityStores } from '../../../adapters/sql/identity/identity-stores.ts'
import { makeBusPasses } from '../../../core/bus/credentials.ts'
import { makeSealedKeys, makeSystemLogin } from '../../../core/bus/keys.ts'
import {
  BusIdentityStorePort,
  BusMintPort,
  BusServerPort,
  BusUnitOfWorkPort,
  BusUserStorePort,
} from '../../../core/bus/ports.ts'
import type { BusServer } from '../../../core/bus/ports.ts'
import { BusPassesPort } from '../../../core/identity/sessions/ports.ts'
import { credentialStillValid } from '../../../core/identity/credentials.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../../core/kernel/secret.ts'
import { makeOwnCall } from '../../../core/kernel/principal.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import { busPlugin } from '../../../plugins/bus/plugin.ts'
import { withDefault } from '../../part/setting.ts'
import { listOf, matching, secretUrl } from '../../part/setting-type.ts'
import { bind, lazily, using } from '../../part/binding.ts'
import { defineGauges } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'
import { bindUnitOfWork } from '../units-of-work.ts'

/** The servers of the message bus; none if messages stay in this process. */
export const BusServersPort = portKey<readonly string[]>('bus.Servers')

type ClosableServer = BusServer & { close?(): Promise<void> }

/** The message bus, and the credentials for it. */
export const part = definePart({
  plugin: busPlugin,
  migrations: busMigrations,
  settings: {
    busUrl: withDefault(
      'MOORAGE_BUS_URL',
      secretUrl(/^(inproc:|nats:\/\/.+)$/s, 'inproc: or nats://host:port (several, comma-separated)'),
      'inproc:',
      'Message bus: inproc: for one instance, nats://host:port (several, comma-separated) for more.',
      { after: 'MOORAGE_CONTRACT_PRODUCTS' },
    ),
    busPublicUrl: withDefault(
      'MOORAGE_BUS_PUBLIC_URL',
      listOf(matching(/^(nats|tls|wss?):\/\/[^\s/@]+(\/\S*)?$/, 'a URL as nats://bus.example.com:4222')),
      '',
      'Where clients reach the message bus, several comma-separated, the preferred one first.',
      { fallbackText: 'MOORAGE_BUS_URL' },
    ),
  },
  provide(boot) {
    const { database, settings } = boot
    const identities = lazily(() => makeSqlBusIdentityStore(database))
    const users = lazily(() => makeSqlBusUserStore(database))
    const identityStores = lazily(() => makeSqlIdentityStores(database, boot.heldObjects))
    return [
      bind(BusMintPort, { clock: ClockPort }, ({ clock }) => makeNatsMint(clock)),
      bind(BusIdentityStorePort, {}, () => identities()(database)),
      bind(BusUserStorePort, {}, () => users()(database)),
      bindUnitOfWork(
        database,
        BusUnitOfWorkPort,
        ({ clock }) =>
          (tx) => ({
            identities: identities()(tx),
            users: users()(tx),
            callers: {
              isStillProven: (principal) => credentialStillValid(identityStores()(tx), clock, principal),
            },
          }),
        { clock: ClockPort },
      ),
      bind(BusServersPort, {}, () => {
        const busUrl = settings.busUrl.reveal()
        return busUrl === 'inproc:' ? [] : natsServers(busUrl)
      }),
      bind(
        BusServerPort,
        {
          servers: BusServersPort,
          identities: BusIdentityStorePort,
          mint: BusMintPort,
          secretBox: SecretBoxPort,
          entropy: EntropyPort,
        },
        ({ servers, identities, mint, secretBox, entropy }): ClosableServer =>
          servers.length === 0
            ? noBusServer
            : makeNatsServer({
                servers,
                endpoints: settings.busPublicUrl.length > 0 ? settings.busPublicUrl : servers,
                login: makeSystemLogin({ identities, mint, safe: makeSealedKeys(secretBox, entropy) }),
                log: boot.log,
              }),
        (server) => server.close?.(),
      ),
      bind(
        BusPort,
        {
          identities: BusIdentityStorePort,
          users: BusUserStorePort,
          unitOfWork: BusUnitOfWorkPort,
          mint: BusMintPort,
          server: BusServerPort,
          secretBox: SecretBoxPort,
          entropy: EntropyPort,
          clock: ClockPort,
        },
        (given) => makeBus({ ...given, sent: boot.subjects }),
      ),
      bind(BusPassesPort, { server: BusServerPort, bus: BusPort, entropy: EntropyPort }, ({ server, bus, entropy }) => {
        const { issue } = bus
        return makeBoundedPasses(makeBusPasses({ issue, server, ownCall: makeOwnCall(entropy) }), boot.log)
      }),
    ]
  },
  metrics: [
    defineGauges(
      { moorage_bus_connected: { help: '1 while this instance is connected to the message bus; absent without one.' } },
      { bus: BusServerPort },
      ({ bus }) =>
        () =>
          bus.isConfigured ? { moorage_bus_connected: bus.isConnected() ? 1 : 0 } : {},
    ),
  ],
  // Shown when all checks are requested. HTTP works without the bus.
  checks: using({ bus: BusServerPort }, ({ bus }) =>
    bus.isConfigured ? [{ name: 'bus', isInformative: true, check: async () => bus.isConnected() }] : [],
  ),
  doctor: async (settings) => [await (await import('./doctor.ts')).checkBus(settings)],
  start: using({ bus: BusServerPort }, ({ bus }) => bus.start()),
})
