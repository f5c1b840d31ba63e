import {
  ClaimCheckTooSoon,
  ClaimMissing,
  ClaimTaken,
  NotificationInvalid,
  NotificationRefused,
  TooManyNotifications,
} from '../../core/marketplace/ports.ts'
import { anyone } from '../kit/access.ts'
import { json, orEmpty } from '../kit/reply.ts'
import { body, defineRoute } from '../kit/route.ts'
import {
  ArchiveAddress,
  ClaimPath,
  CloudAWebhookNotification,
  CloudBWebhookNotification,
  CloudCWebhookNotification,
  OrgClaimableCheckResp,
  SecretQuery,
} from './codecs.ts'

const common = { tag: 'Marketplace', access: anyone, dialect: 'marketplace' } as const
const failures = [NotificationInvalid, NotificationRefused, TooManyNotifications] as const

const claimId = '8f3a0c51d2b94e6f8a7b6c5d4e3f2a10'
const installerId = '5b1f9d0c7e6a4d38b2c1a0f9e8d7c6b5'
const clusterId = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11'
const linkExample = {
  link: `https://platform.example/api/v1/marketplace-archives/${installerId}?expires=1767227400000&signature=xBTNDiBN6XT3N1PH4o12OOezaRu4saK6trJbt_7Xznc`,
}
/** Larger notifications are of no provider. */
const options = { limitBytes: 262_144, refusedAs: 400 } as const

const bindExample = (marketplace: string) => ({
  eventType: 'subscribe-success',
  eventTime: '2026-11-20T12:00:00.0000000Z',
  bindingInfo: { marketplace, installerId, clusterId },
})

export const receiveCloudA = defineRoute({
  ...common,
  id: 'marketplace.receiveCloudA',
  method: 'POST',
  path: '/marketplaces/cloudA/notification/resource',
  summary: 'Receive a notification of cloud A',
  description:
    'The installer sends it from the address range of virtual machines of the provider; in development mode from ' +
    'anywhere. The same notification is answered with the same link.',
  body: body(CloudAWebhookNotification, bindExample('CloudA'), options),
  ok: json(200, ArchiveAddress, linkExample),
  failures,
})

export const receiveCloudB = defineRoute({
  ...common,
  id: 'marketplace.receiveCloudB',
  method: 'POST',
  path: '/marketplaces/cloudB/notification/resource',
  summary: 'Receive a notification of cloud B',
  description:
    'The answer to `PUT` and `DELETE` has no body, that to `BIND` has the link. Events that are older than ' +
    'those that were applied change nothing, and are answered in the same way.',
  query: SecretQuery,
  body: body(
    CloudBWebhookNotification,
    {
      eventType: 'PUT',
      applicationId:
        'subscriptions/6f1c5e0d-0d6f-4a53-9c39-5f1d2f6f2a11/resourceGroups/production/providers/Microsoft.Solutions/applications/product',
      eventTime: '2026-11-20T12:00:00.1707163Z',
      provisioningState: 'Succeeded',
      billingDetails: { resourceUsageId: '0d6f1c5e-6a0f-4a53-9c39-5f1d2f6f2a11' },
      plan: { publisher: 'publisher', product: 'product', name: 'standard', version: '1.0.1' },
    },
    options,
  ),
  ok: orEmpty(json(200, ArchiveAddress, linkExample)),
  failures,
})

export const receiveCloudC = defineRoute({
  ...common,
  id: 'marketplace.receiveCloudC',
  method: 'POST',
  path: '/marketplaces/cloudC/notification/resource',
  summary: 'Receive a notification of cloud C',
  description: 'An installer is bound by one notification only; the same one is answered with the same link.',
  query: SecretQuery,
  body: body(CloudCWebhookNotification, bindExample('CloudC'), options),
  ok: json(200, ArchiveAddress, linkExample),
  failures,
})

export const checkClaim = defineRoute({
  ...common,
  id: 'marketplace.checkClaim',
  method: 'GET',
  path: '/marketplaces/standalone-organizations/{claimID}/claimable',
  summary: 'Ask whether a claim may be taken',
  description: 'Once it may be, it is answered at once. Until then, the next question must wait as `Retry-After` says.',
  params: ClaimPath,
  ok: json(200, OrgClaimableCheckResp, { isClaimable: true, claimID: claimId }),
  failures: [ClaimMissing, ClaimTaken, ClaimCheckTooSoon],
})
