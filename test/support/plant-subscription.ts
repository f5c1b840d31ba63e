import { randomUUID } from 'node:crypto'
import { operatorCall } from '../../composition/service/operator.ts'
import { CreateInstallerToken } from '../../core/marketplace/installers/installers.ts'
import { SubscriptionStoreToken } from '../../core/marketplace/ports.ts'
import { unwrap } from './outcome.ts'
import { makeSendJson } from './send-json.ts'
import type { TestService } from './service.ts'

/** A subscription of cloud A whose installer is bound. */
export interface PlantedSubscription {
  readonly subscriptionId: string
  readonly installerId: string
  readonly claimId: string
  /** The signed link to the archive: a path with its query. */
  readonly archiveLink: string
}

/** Makes an installer as the operator does, and binds it as the installer does. Takes a service in development mode. */
export const plantSubscription = async ({ running }: TestService): Promise<PlantedSubscription> => {
  const { resolve } = running.container
  const installer = unwrap(
    await resolve(CreateInstallerToken)(operatorCall('test.plantSubscription'), {
      account: undefined,
      products: [],
      contractDays: 30,
      validDays: 30,
      contact: '',
      chart: '',
      chartVersion: '',
      values: '',
    }),
  )
  const bindingInfo = { marketplace: 'CloudA', installerId: installer.ref, clusterId: randomUUID() }
  const send = makeSendJson(running.marketplaceUrl ?? '')
  const path = '/marketplace/api/v1/marketplaces/cloudA/notification/resource'
  const { json, status, text } = await send('POST', path, { body: { bindingInfo } })
  if (status !== 200) throw new Error(`the installer was not bound: ${status} ${text}`)
  const [subscription] = (await resolve(SubscriptionStoreToken).list({ page: 1, limit: 1 })).items
  const { pathname, search } = new URL(json.link as string)
  return {
    subscriptionId: subscription?.ref ?? '',
    installerId: installer.ref,
    claimId: installer.claimRef,
    archiveLink: pathname + search,
  }
}
