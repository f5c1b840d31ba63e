import { natsConfiguration } from '../../../adapters/bus/nats-server.ts'
import { makeInitBus, makeSealedKeys } from '../../../core/bus/keys.ts'
import { BusIdentityStorePort, BusMintPort, BusUnitOfWorkPort } from '../../../core/bus/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { EntropyPort, SecretBoxPort } from '../../../core/kernel/secret.ts'
import { busCookie } from '../../../plugins/identity/sessions/session-wire.ts'
import type { CommonOptions, ExitCode, PartContext } from '../../part/command-context.ts'
import { printJson } from '../../part/command-context.ts'
import { operatorCall } from '../../part/operator.ts'

export interface BusInitOptions extends CommonOptions {
  readonly listen: string
  readonly websocket: string
  readonly store: string
}

export const busInit = (context: PartContext, options: BusInitOptions): Promise<ExitCode> =>
  context.onStore<ExitCode>(options, async ({ boot, container: { resolve } }) => {
    const init = makeInitBus({
      identities: resolve(BusIdentityStorePort),
      unitOfWork: resolve(BusUnitOfWorkPort),
      mint: resolve(BusMintPort),
      safe: makeSealedKeys(resolve(SecretBoxPort), resolve(EntropyPort)),
      clock: resolve(ClockPort),
      sent: boot.subjects,
    })
    const { operator, system, platform } = await init(operatorCall('bus.init'))
    const configuration = natsConfiguration({
      listen: options.listen,
      websocket: options.websocket,
      storeFolder: options.store,
      origin: boot.baseUrl(),
      cookie: busCookie,
      operatorClaims: operator.claims,
      systemAccount: system.publicKey,
      accounts: { [system.publicKey]: system.claims, [platform.publicKey]: platform.claims },
    })
    if (options.json === true) {
      printJson(context, {
        operator: operator.publicKey,
        systemAccount: system.publicKey,
        platformAccount: platform.publicKey,
        configuration,
      })
    } else context.print(configuration.trimEnd())
    return 0
  })
