import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CreatedInstaller, CreateInstallerInput } from '../../core/marketplace/installers/installers.ts'
import { CreateInstallerPort } from '../../core/marketplace/installers/installers.ts'
import { operatorCall } from '../../composition/part/operator.ts'
import { unwrap } from '../support/outcome.ts'
import type { SendOptions, ServiceAnswer } from '../support/send-json.ts'
import { makeSendJson } from '../support/send-json.ts'
import type { ServiceOptions, TestService } from '../support/service.ts'
import { startService } from '../support/service.ts'

export const marketplaceRoot = '/marketplace/api/v1'

/** An address of a virtual machine of cloud A, in the ranges of this release. */
export const installerAddress = '3.80.0.1'

export const secretOf = 'the-secret-of-the-marketplace'
export const previousSecret = 'the-secret-before-it'

/** A real service of a marketplace deployment. */
export interface MarketService extends TestService {
  /** The folder of the mails that were sent. */
  readonly mailFolder: string
  /** Sends to the listener of notifications. */
  sendTo(method: string, path: string, options?: SendOptions): Promise<ServiceAnswer>
  createInstaller(changes?: Partial<CreateInstallerInput>): Promise<CreatedInstaller>
}

export const startMarket = async (cloud: 'A' | 'B' | 'C', options: ServiceOptions = {}): Promise<MarketService> => {
  const mailFolder = mkdtempSync(join(tmpdir(), 'moorage-market-mail-'))
  const service = await startService({
    ...options,
    settings: {
      MOORAGE_DEPLOYMENT_TYPE: `Cloud${cloud}MarketplaceDeployment`,
      MOORAGE_MARKETPLACE_SECRET: secretOf,
      MOORAGE_MARKETPLACE_PREVIOUS_SECRET: previousSecret,
      MOORAGE_CLOUD_A_IP_RANGES: 'off',
      MOORAGE_MAIL: `folder:${mailFolder}`,
      MOORAGE_TRUSTED_PROXIES: '127.0.0.1/32',
      ...options.settings,
    },
  })
  const { marketplaceUrl } = service.running
  if (marketplaceUrl === undefined) throw new Error('The service has no listener of notifications.')
  const send = makeSendJson(marketplaceUrl)
  const create = service.running.container.resolve(CreateInstallerPort)
  return {
    ...service,
    mailFolder,
    stop: async () => {
      await service.stop()
      rmSync(mailFolder, { recursive: true, force: true })
    },
    sendTo: (method, path, more) => send(method, `${marketplaceRoot}${path}`, more),
    createInstaller: async (changes = {}) =>
      unwrap(
        await create(operatorCall('test.createInstaller'), {
          account: undefined,
          products: [],
          contractDays: 30,
          validDays: 30,
          contact: '',
          chart: '',
          chartVersion: '',
          values: '',
          ...changes,
        }),
      ),
  }
}

/** A bind as an installer sends it. */
export const bindOf = (
  { marketplace, ref }: Pick<CreatedInstaller, 'marketplace' | 'ref'>,
  changes: Readonly<Record<string, unknown>> = {},
) => ({ marketplace, installerId: ref, clusterId: randomUUID(), ...changes })
