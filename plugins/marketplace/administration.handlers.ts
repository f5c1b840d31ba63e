import { right } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { makeOldestClaimable, makeTakeClaim } from '../../core/marketplace/claims/claims.ts'
import { makeInstallerStatus, makeOpenArchive, makeSweep } from '../../core/marketplace/installers/installers.ts'
import { parseApplicationId } from '../../core/marketplace/notifications/applications.ts'
import {
  ArchiveLinksPort,
  ClaimStorePort,
  HostedConsolesPort,
  InstallerStorePort,
  MarketplaceFaultsPort,
  MarketplaceUnitOfWorkPort,
  SubscriptionStorePort,
} from '../../core/marketplace/ports.ts'
import { isEnded } from '../../core/marketplace/subscriptions/states.ts'
import type { SubscriptionHistory } from '../../core/marketplace/subscriptions/subscriptions.ts'
import {
  makeGetSubscription,
  makeListSubscriptions,
  makePingConsole,
  makeRevokeSubscription,
  makeSetConsole,
  makeSubscriptionHistory,
} from '../../core/marketplace/subscriptions/subscriptions.ts'
import type * as domain from '../../core/marketplace/types.ts'
import { MembershipStorePort } from '../../core/organizations/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { attachment } from '../kit/reply.ts'
import {
  getHistory,
  getInstallerStatus,
  getOldestClaim,
  getSubscription,
  listSubscriptions,
  listWarnings,
  openArchive,
  pingConsole,
  revokeSubscription,
  setConsole,
  takeClaim,
} from './administration.routes.ts'
import type { AuditReportsResp, Subscription } from './codecs.ts'

type WireSubscription = t.TypeOf<typeof Subscription>
type WireHistory = t.TypeOf<typeof AuditReportsResp>

const billingOf = (subscription: domain.Subscription): Partial<WireSubscription> => {
  const hosted = {
    hostedConsoleBaseURL: subscription.consoleUrl,
    meteringProxyApiToken: subscription.hasMeteringToken ? '*'.repeat(8) : '',
  }
  if (subscription.marketplace === 'CloudA') return { cloudABillingDetails: hosted }
  if (subscription.marketplace === 'CloudC') return { cloudCBillingDetails: hosted }
  const { applicationId, resourceUsageId, plan } = subscription
  const parts = parseApplicationId(applicationId)
  return {
    cloudBBillingDetails: {
      resourceUri: applicationId,
      resourceUsageId,
      planId: plan.name,
      subscriptionId: parts?.clientSubscriptionId ?? '',
      customerOwnedRG: parts?.resourceGroup ?? '',
      appName: parts?.application ?? '',
    },
  }
}

const toWire = (subscription: domain.Subscription): WireSubscription => ({
  marketplace: subscription.marketplace,
  subscriptionId: subscription.ref,
  subscriberId: subscription.accountId ?? 0,
  requesterId: subscription.claimedBy ?? 0,
  boundedInstallerId: subscription.installerRef ?? '',
  formerSubscriptionId: subscription.formerRef,
  state: subscription.state,
  cloudABillingDetails: undefined,
  cloudBBillingDetails: undefined,
  cloudCBillingDetails: undefined,
  ...billingOf(subscription),
  clusterId: subscription.clusterId,
  noOfBillingEventSent: subscription.reports,
  lastBillingEventSentAt: subscription.reportedAt,
  contractIDs: subscription.contractIds,
  noOfAlertNotificationsSent: subscription.alerts,
  lastAlertNotificationSentAt: subscription.alertedAt,
  isRevocable: !isEnded(subscription.state) || subscription.state === 'DeletionFailed',
  createdAt: subscription.createdAt,
  lastUpdatedAt: subscription.updatedAt,
})

const toReports = ({ subscription, events }: SubscriptionHistory): WireHistory => {
  const byMonth = Map.groupBy(events, ({ at }) => at.toISOString().slice(0, 7))
  const reports = [...byMonth].map(([month, ofMonth]) => [
    month,
    ofMonth.map(({ at, operation, outcome, description, state }) => ({
      marketplace: subscription.marketplace,
      subscriptionID: subscription.ref,
      status: outcome,
      operationType: operation,
      description,
      data: { state },
      timestamp: at,
    })),
  ])
  return { auditReports: Object.fromEntries(reports) as WireHistory['auditReports'] }
}

const named = (params: { readonly marketplace: domain.Marketplace; readonly subscriptionId: string }) => ({
  marketplace: params.marketplace,
  ref: params.subscriptionId,
})

/** Subscriptions, for site admins. */
export const subscriptionGroup = defineGroup({
  needs: {
    clock: ClockPort,
    consoles: HostedConsolesPort,
    faults: MarketplaceFaultsPort,
    subscriptions: SubscriptionStorePort,
    unitOfWork: MarketplaceUnitOfWorkPort,
  },
  routes: (given) => [
    handle(listSubscriptions, makeListSubscriptions(given), { input: ({ page }) => ({ page }), reply: toWire }),
    handle(listWarnings, async () => right(given.faults.list()), {
      reply: (faults) => ({ warnings: faults.length === 0 ? {} : { marketplace: faults } }),
    }),
    handle(getSubscription, makeGetSubscription(given), { input: ({ params }) => named(params), reply: toWire }),
    handle(getHistory, makeSubscriptionHistory(given), { input: ({ params }) => named(params), reply: toReports }),
    handle(revokeSubscription, makeRevokeSubscription(given), { input: ({ params }) => named(params) }),
    handle(setConsole, makeSetConsole(given), {
      input: ({ params, body }) => ({
        ...named(params),
        url: body.hostedConsoleBaseURL,
        token: body.meteringProxyApiToken,
      }),
    }),
    handle(pingConsole, makePingConsole(given), { input: ({ params }) => named(params) }),
  ],
})

/** Claims, for site admins. */
export const claimGroup = defineGroup({
  needs: {
    claims: ClaimStorePort,
    clock: ClockPort,
    memberships: MembershipStorePort,
    unitOfWork: MarketplaceUnitOfWorkPort,
  },
  routes: (given) => [
    handle(getOldestClaim, makeOldestClaimable(given), {
      reply: ({ claimRef, isClaimable }) => ({ claimID: claimRef, isClaimable }),
    }),
    handle(takeClaim, makeTakeClaim(given), {
      input: ({ params, body }) => ({ ref: params.claimID, organization: body.organization }),
      reply: ({ ref, at, organization, subscription }) => ({
        claimID: ref,
        claimedAt: at,
        organization: organization?.name ?? '',
        subscriptionId: subscription?.ref ?? '',
        contractIDs: subscription?.contractIds ?? [],
      }),
    }),
  ],
})

/** Installers, and their archives. */
export const installerGroup = defineGroup({
  needs: { clock: ClockPort, installers: InstallerStorePort, links: ArchiveLinksPort },
  routes: (given) => [
    handle(getInstallerStatus, makeInstallerStatus(given), {
      input: ({ params }) => params.installerID,
      reply: ({ installer, link, isExpired }) => ({
        status: installer.binding === undefined ? ('Pending' as const) : ('Bound' as const),
        link: link ?? '',
        isExpired,
        meta: {
          ID: installer.ref,
          deploymentType: installer.marketplace,
          adminDisplayName: installer.adminUsername,
          clusterID: installer.binding?.clusterId ?? '',
          createTimestamp: installer.createdAt,
          expiryTimestamp: installer.expiresAt,
        },
      }),
    }),
    handle(openArchive, makeOpenArchive(given), {
      input: ({ params, query }) => ({ installerRef: params.installer, ...query }),
      reply: (bytes, { params }) => ({
        contentType: 'application/gzip',
        bytes,
        headers: {
          'Content-Disposition': attachment(`installer-${params.installer}.tar.gz`),
          'Cache-Control': 'private, no-store',
        },
      }),
    }),
  ],
})

const sweepId = 'marketplace.sweep'

/** Removes what is not needed any more. */
export const sweepGroup = defineGroup({
  needs: { clock: ClockPort, entropy: EntropyPort, unitOfWork: MarketplaceUnitOfWorkPort },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const sweep = makeSweep(given)
    return [
      {
        id: sweepId,
        summary: 'Erase passwords that an earlier release kept, and answers to notifications after 90 days',
        everySeconds: 3600,
        run: async (signal) => {
          while (!signal.aborted && (await sweep(ownCall(sweepId, signal))) > 0);
        },
      },
    ]
  },
})
