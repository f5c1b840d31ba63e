import { randomUUID } from 'node:crypto'
import { operatorCall } from '../../composition/part/operator.ts'
import { CreateInstallerPort } from '../../core/marketplace/installers/installers.ts'
import { SubscriptionStorePort } from '../../core/marketplace/ports.ts'
import { unwrap } from '../support/outcome.ts'
import { defineSample, isOfMarketplace, must } from '../support/part-sample.ts'
import { makeSendJson } from '../support/send-json.ts'

const shared = 'rows of a marketplace deployment, for site admins alone'

/**
 * A subscription of cloud A, whose installer the operator makes and the installation binds. Takes a deployment of
 * cloud A in development mode, which judges no address.
 */
export const sample = defineSample({
  part: 'marketplace',
  isServed: isOfMarketplace,
  make: async ({ service }) => {
    const { container, marketplaceUrl = '' } = service.running
    const installer = unwrap(
      await container.resolve(CreateInstallerPort)(operatorCall('test.sample'), {
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
    const path = '/marketplace/api/v1/marketplaces/cloudA/notification/resource'
    const { json } = await must('bind', makeSendJson(marketplaceUrl)('POST', path, { body: { bindingInfo } }))
    const [subscription] = (await container.resolve(SubscriptionStorePort).list({ page: 1, limit: 1 })).items
    return {
      subscriptionId: subscription?.ref ?? '',
      installerId: installer.ref,
      claimId: installer.claimRef,
      link: json.link as string,
    }
  },
  names: ({ subscriptionId, installerId, claimId, link }) => ({
    subscription: { id: subscriptionId },
    installer: { id: installerId },
    claim: { id: claimId },
    'installer archive': { ...Object.fromEntries(new URL(link).searchParams), installer: installerId },
  }),
  sharedTables: {
    marketplace_subscriptions: shared,
    marketplace_events: shared,
    marketplace_installers: shared,
    marketplace_claims: shared,
    marketplace_inbox: 'answers to notifications, which no route shows',
    marketplace_signing_keys: 'the key of the vendor, sealed',
  },
})
