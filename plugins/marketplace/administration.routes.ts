import type * as t from 'io-ts'
import {
  ArchiveLinkRefused,
  ClaimantMissing,
  ClaimMissing,
  ClaimTaken,
  ConsoleInvalid,
  ConsoleNotReady,
  InstallerMissing,
  SubscriptionMissing,
} from '../../core/marketplace/ports.ts'
import { anyone, siteAdmin } from '../kit/access.ts'
import { binary, empty, json, list } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import {
  ArchiveLinkPath,
  ArchiveLinkQuery,
  AuditReportsResp,
  ClaimPath,
  ConsoleOption,
  InstallerPath,
  MarketplaceInstallerStatus,
  OrgClaimableCheckResp,
  SettingWarnings,
  Subscription,
  SubscriptionPath,
  TakeClaimOption,
  TakenClaim,
} from './codecs.ts'

const tag = 'Marketplace'
const route = routesOf({ tag, access: siteAdmin, scopeCategory: 'marketplace' })
const subscriptionRoute = routesOf({
  tag,
  access: siteAdmin,
  scopeCategory: 'marketplace',
  params: SubscriptionPath,
  failures: [SubscriptionMissing],
})

const at = '2026-11-20T12:00:00.000Z'
const subscriptionId = '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44'
const installerId = '5b1f9d0c7e6a4d38b2c1a0f9e8d7c6b5'
const claimId = '8f3a0c51d2b94e6f8a7b6c5d4e3f2a10'
const clusterId = '7a0c3ce4-52a5-4d8d-9a3f-0a4f2b1f0c11'

const subscriptionExample: t.OutputOf<typeof Subscription> = {
  marketplace: 'CloudA',
  subscriptionId,
  subscriberId: 12,
  requesterId: 0,
  boundedInstallerId: installerId,
  formerSubscriptionId: '',
  state: 'Bounded',
  cloudABillingDetails: { hostedConsoleBaseURL: '', meteringProxyApiToken: '' },
  cloudBBillingDetails: undefined,
  cloudCBillingDetails: undefined,
  clusterId,
  noOfBillingEventSent: 0,
  lastBillingEventSentAt: undefined,
  contractIDs: [42],
  noOfAlertNotificationsSent: 0,
  lastAlertNotificationSentAt: undefined,
  isRevocable: true,
  createdAt: at,
  lastUpdatedAt: at,
}

export const listSubscriptions = route({
  id: 'marketplace.listSubscriptions',
  method: 'GET',
  path: '/dashboard/marketplaces/subscriptions',
  summary: 'List the subscriptions of the marketplace',
  description: 'The newest first.',
  ok: list(Subscription, subscriptionExample),
})

export const listWarnings = route({
  id: 'marketplace.listWarnings',
  method: 'GET',
  path: '/dashboard/marketplaces/settings/warnings',
  summary: 'List what must be corrected in the settings of the marketplace',
  description: 'Settings that are missing, too old, or for development alone. Empty if there are none.',
  ok: json(200, SettingWarnings, { warnings: { marketplace: ['MOORAGE_MARKETPLACE_SECRET is not set.'] } }),
})

export const getSubscription = subscriptionRoute({
  id: 'marketplace.getSubscription',
  method: 'GET',
  path: '/dashboard/marketplaces/{marketplace}/{subscriptionId}',
  summary: 'Get a subscription',
  description: 'Subscriptions that have ended are kept, with their contracts.',
  badPathAs: 400,
  ok: json(200, Subscription, subscriptionExample),
})

export const revokeSubscription = subscriptionRoute({
  id: 'marketplace.revokeSubscription',
  method: 'DELETE',
  path: '/dashboard/marketplaces/{marketplace}/{subscriptionId}',
  summary: 'Revoke a subscription',
  description: 'Its contracts and their licenses are revoked at once. A subscription that has ended stays as it is.',
  badPathAs: 400,
  ok: empty(200),
})

export const setConsole = subscriptionRoute({
  id: 'marketplace.setConsole',
  method: 'PUT',
  path: '/dashboard/marketplaces/{marketplace}/{subscriptionId}/console',
  summary: 'Set where the installation of a subscription takes reports of usage',
  description: 'The address and the token replace those before; both empty remove them. Not for cloud B.',
  badPathAs: 400,
  body: body(ConsoleOption, {
    hostedConsoleBaseURL: 'https://console.example.com',
    meteringProxyApiToken: '3f786850e387550fdab836ed7e6dc881de23001b',
  }),
  ok: empty(200),
  failures: [SubscriptionMissing, ConsoleInvalid],
})

export const pingConsole = subscriptionRoute({
  id: 'marketplace.pingConsole',
  method: 'GET',
  path: '/dashboard/marketplaces/{marketplace}/{subscriptionId}/ping',
  summary: 'Ask the installation of a subscription whether it takes reports of usage',
  description: 'Asks `check/readiness` of its metering proxy, with its token. 400 says why it does not.',
  badPathAs: 400,
  ok: empty(200, 'Ready, no body'),
  failures: [SubscriptionMissing, ConsoleNotReady],
})

export const getHistory = subscriptionRoute({
  id: 'marketplace.getHistory',
  method: 'GET',
  path: '/dashboard/marketplaces/{marketplace}/{subscriptionId}/audit-logs',
  summary: 'Get the history of a subscription',
  description: 'Each notification of the subscription, and what site admins did.',
  badPathAs: 400,
  ok: json(200, AuditReportsResp, {
    auditReports: {
      '2026-11': [
        {
          marketplace: 'CloudB',
          subscriptionID: subscriptionId,
          status: 'Succeeded',
          operationType: 'PUT Succeeded',
          description: '',
          data: { state: 'Running' },
          timestamp: at,
        },
      ],
    },
  }),
})

export const getOldestClaim = route({
  id: 'marketplace.getOldestClaim',
  method: 'GET',
  path: '/orgs/claim',
  summary: 'Get the oldest claim that may be taken',
  description: 'A claim may be taken once a question about it was answered with yes.',
  ok: json(200, OrgClaimableCheckResp, { isClaimable: true, claimID: claimId }),
})

export const takeClaim = route({
  id: 'marketplace.takeClaim',
  method: 'PATCH',
  path: '/orgs/claim/{claimID}',
  summary: 'Take a claim',
  description:
    'Once, after a question about it was answered with yes; before that it is 409. The organization that is named ' +
    'takes over the subscription; the contracts begin for it, unless the installer was made for another account.',
  params: ClaimPath,
  body: body(TakeClaimOption, { organization: 'acme' }, { whenAbsent: {} }),
  ok: json(200, TakenClaim, {
    claimID: claimId,
    claimedAt: at,
    organization: 'acme',
    subscriptionId,
    contractIDs: [42],
  }),
  failures: [ClaimMissing, ClaimTaken, ClaimantMissing],
})

export const getInstallerStatus = route({
  id: 'marketplace.getInstallerStatus',
  method: 'GET',
  path: '/platform-installer/deployment/marketplace/installers/{installerID}/status',
  summary: 'Get whether an installer is bound',
  description: 'While the link to its archive is in force, the answer has it too.',
  params: InstallerPath,
  ok: json(200, MarketplaceInstallerStatus, {
    status: 'Pending',
    link: '',
    isExpired: false,
    meta: {
      ID: installerId,
      deploymentType: 'CloudA',
      adminDisplayName: '',
      clusterID: '',
      createTimestamp: at,
      expiryTimestamp: '2027-02-18T12:00:00.000Z',
    },
  }),
  failures: [InstallerMissing],
})

export const openArchive = routesOf({ tag, access: anyone })({
  id: 'marketplace.openArchive',
  method: 'GET',
  path: '/marketplace-archives/{installer}',
  summary: 'Download the archive of an installer by a signed link',
  description: 'A gzipped tar file. A link that has expired or was changed is 403.',
  params: ArchiveLinkPath,
  query: ArchiveLinkQuery,
  ok: binary(['application/gzip']),
  failures: [ArchiveLinkRefused],
})
