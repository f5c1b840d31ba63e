import * as t from 'io-ts'
import { marketplaces, subscriptionStates } from '../../core/marketplace/types.ts'
import {
  answer,
  described,
  FreeObjectCodec,
  freeText,
  givenText,
  Instant,
  listOf,
  naming,
  noted,
  oneOf,
  optional,
  PathName,
  patternText,
  plainValue,
  queryIntFrom,
  request,
  SafeInteger,
  textLines,
} from '../kit/codecs.ts'

/** The core judges the text: the provider dates events more finely than others do. */
const EventTime = noted(freeText(64), { format: 'date-time' })

const BindingInfo = request(
  {
    marketplace: described(optional(freeText(16)), 'The marketplace of the route: `CloudA`, `CloudB` or `CloudC`.'),
    installerId: described(optional(freeText(64)), 'The id of the installer, as its archive has it.'),
    clusterId: described(
      optional(freeText(255)),
      'The cluster of the installation. The UID of its namespace kube-system is bound to the contracts.',
    ),
    cloudAAccountID: described(optional(freeText(12)), 'The account in cloud A: 12 digits.'),
    adminUsername: described(
      optional(freeText(255)),
      'The name of the first account of the installation. It is shown with the status of the installer.',
    ),
    adminPassword: described(
      optional(givenText(1024)),
      'The password of the first account. Ignored and not stored: the installer hands it to the installation itself.',
    ),
    domainWhiteList: described(optional(listOf(freeText(253), 100)), 'Domains of users of the installation. Ignored.'),
    options: described(optional(FreeObjectCodec), 'Options of the installation. Ignored.'),
  },
  'BindingInfo',
)

const eventType = described(optional(freeText(64)), 'What happened, in words of the sender; any text.')
const eventTime = described(
  optional(EventTime),
  'When it happened, with up to 7 digits of a second. A notification with the same time is answered once.',
)

export const CloudAWebhookNotification = request(
  { eventType, eventTime, bindingInfo: described(BindingInfo, 'The installation that is bound.') },
  'CloudAWebhookNotification',
)
export const CloudCWebhookNotification = request(
  { eventType, eventTime, bindingInfo: described(BindingInfo, 'The installation that is bound.') },
  'CloudCWebhookNotification',
)

const text = (max: number, meaning: string) => described(optional(textLines(max)), meaning)

export const CloudBWebhookNotification = request(
  {
    eventType: described(optional(freeText(64)), '`PUT`, `DELETE` or `BIND`.'),
    applicationId: described(optional(freeText(1024)), 'The id of the managed application.'),
    eventTime,
    provisioningState: described(
      optional(freeText(64)),
      'Of `PUT`: `Accepted`, `Succeeded` or `Failed`. Of `DELETE`: `Deleting`, `Deleted` or `Failed`.',
    ),
    billingDetails: described(
      optional(
        request(
          { resourceUsageId: described(optional(freeText(255)), 'What metered usage is reported for.') },
          'CloudBNotifiedBilling',
        ),
      ),
      'What the provider bills the application by.',
    ),
    plan: described(
      optional(
        request(
          {
            publisher: text(255, 'The publisher of the offer.'),
            product: text(255, 'The offer.'),
            name: text(255, 'The plan of the offer.'),
            version: text(255, 'The version of the plan.'),
          },
          'CloudBNotifiedPlan',
        ),
      ),
      'The plan that was bought.',
    ),
    error: described(
      optional(
        request(
          {
            code: text(1000, 'The code of the fault.'),
            message: text(20_000, 'What failed, for people.'),
            details: described(
              optional(
                listOf(
                  request(
                    { code: text(1000, 'The code of the fault.'), message: text(20_000, 'What failed, for people.') },
                    'CloudBNotifiedErrorDetail',
                  ),
                  100,
                ),
              ),
              'The faults that caused it.',
            ),
          },
          'CloudBNotifiedError',
        ),
      ),
      'Why the application could not be created or deleted.',
    ),
    bindingInfo: described(optional(BindingInfo), 'Of `BIND`: the installation that is bound.'),
  },
  'CloudBWebhookNotification',
)

const sent = (max: number, meaning: string) => described(givenText(max), meaning)
const mostMessageCharacters = 262_144

export const CloudAMessage = request(
  {
    Type: sent(64, '`Notification`, `SubscriptionConfirmation` or `UnsubscribeConfirmation`.'),
    MessageId: sent(255, 'The id of the message, the same when it is sent again.'),
    TopicArn: sent(512, 'The topic.'),
    Subject: described(optional(givenText(255)), 'The subject; ignored.'),
    Message: sent(mostMessageCharacters, 'The message: of a notification, JSON with `action`.'),
    Timestamp: sent(64, 'When it was sent. Older messages than of an hour are refused.'),
    SignatureVersion: sent(16, '`2`: the signature is with SHA-256.'),
    Signature: sent(4000, 'The signature, in base64.'),
    SigningCertURL: sent(2048, 'The certificate of the signature, at an address of the provider.'),
    Token: described(optional(givenText(4000)), 'Of a confirmation: its token.'),
    SubscribeURL: described(optional(givenText(4000)), 'Of a confirmation: where it is confirmed.'),
  },
  'CloudAMessage',
)

export const CloudCMessage = request(
  {
    message: described(
      request(
        {
          data: sent(2 * mostMessageCharacters, 'JSON in base64, with `eventType`.'),
          messageId: described(freeText(255, 1), 'The id of the message, the same when it is sent again.'),
        },
        'CloudCMessageContent',
      ),
      'The message.',
    ),
    subscription: described(freeText(512, 1), 'The subscription that sends it.'),
  },
  'CloudCMessage',
)

/** The secret is judged before the query is: it may be absent here. */
export const SecretQuery = request(
  { secret: described(optional(plainValue(givenText(4000))), 'The secret of the marketplace, exactly once.') },
  'MarketplaceSecretQuery',
)

export const ArchiveAddress = answer(
  {
    link: described(noted(t.string, { format: 'uri' }), 'The archive of the installer. The link ends after 24 hours.'),
  },
  'InstallerArchiveLink',
)

const refText = (object: string, by: string, name: string) =>
  naming(patternText(/^[0-9a-f]{32}$/, 32, name), object, by)

export const ClaimPath = request(
  {
    claimID: described(
      refText('claim', 'id', 'the id of a claim'),
      'The id of the claim, as the archive of the installer has it.',
    ),
  },
  'ClaimPath',
)

export const OrgClaimableCheckResp = answer(
  {
    isClaimable: described(t.boolean, 'The claim may be taken now.'),
    claimID: described(t.string, 'The id of the claim; empty if there is none.'),
  },
  'OrgClaimableCheckResp',
)

export const TakeClaimOption = request(
  {
    organization: described(
      optional(PathName),
      'The organization that takes over the subscription and gets its contracts; none by default.',
    ),
  },
  'TakeClaimOption',
)

export const TakenClaim = answer(
  {
    claimID: described(t.string, 'The id of the claim.'),
    claimedAt: described(Instant, 'When it was taken.'),
    organization: described(t.string, 'The organization that took over the subscription; empty if none did.'),
    subscriptionId: described(t.string, 'The id of the subscription; empty if the installer is not bound.'),
    contractIDs: described(t.readonlyArray(SafeInteger), 'The contracts of the subscription.'),
  },
  'TakenClaim',
)

const Marketplace = oneOf(...marketplaces)

export const SubscriptionPath = request(
  {
    marketplace: described(Marketplace, 'The marketplace: `CloudA`, `CloudB` or `CloudC`.'),
    subscriptionId: described(
      naming(
        patternText(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 36, 'the id of a subscription'),
        'subscription',
        'id',
      ),
      'The id of the subscription, as the list of subscriptions has it.',
    ),
  },
  'SubscriptionPath',
)

export const ConsoleOption = request(
  {
    hostedConsoleBaseURL: described(
      patternText(/^(?:https?:\/\/[^\s/?#@\\]{1,255})?$/, 300, 'an origin, as https://console.example.com'),
      'Where the installation is reached; empty to remove it.',
    ),
    meteringProxyApiToken: described(
      givenText(1024),
      'An access token of a site admin of the installation, for `read:marketplace`. It is stored sealed.',
    ),
  },
  'MarketplaceConsoleOption',
)

const billing = (which: string) => `What cloud ${which} bills by; absent for other clouds.`

const HostedBilling = (name: string) =>
  answer(
    {
      hostedConsoleBaseURL: described(t.string, 'Where the installation is reached; empty if it is unknown.'),
      meteringProxyApiToken: described(
        t.string,
        'Eight asterisks if an access token of the installation is stored; else empty. It is never returned.',
      ),
    },
    name,
  )

export const Subscription = answer(
  {
    marketplace: described(Marketplace, 'The marketplace.'),
    subscriptionId: described(t.string, 'The id of the subscription.'),
    subscriberId: described(SafeInteger, 'The id of the account that has the contracts; 0 if there is none.'),
    requesterId: described(SafeInteger, 'The id of the site admin who claimed the subscription; 0 if none did.'),
    boundedInstallerId: described(t.string, 'The id of the installer that is bound; empty if none is.'),
    state: described(oneOf(...subscriptionStates), 'The state of the subscription.'),
    cloudABillingDetails: described(optional(HostedBilling('CloudABillingDetails')), billing('A')),
    cloudBBillingDetails: described(
      optional(
        answer(
          {
            resourceUri: described(t.string, 'The id of the managed application.'),
            resourceUsageId: described(t.string, 'What metered usage is reported for; empty if it is unknown.'),
            planId: described(t.string, 'The plan that was bought; empty if it is unknown.'),
            subscriptionId: described(t.string, 'The subscription of the customer at the provider.'),
            customerOwnedRG: described(t.string, 'The resource group of the customer.'),
            appName: described(t.string, 'The name of the managed application.'),
          },
          'CloudBBillingDetails',
        ),
      ),
      billing('B'),
    ),
    cloudCBillingDetails: described(optional(HostedBilling('CloudCBillingDetails')), billing('C')),
    clusterId: described(t.string, 'The cluster of the installation; empty if none is bound.'),
    noOfBillingEventSent: described(SafeInteger, 'How often the provider accepted usage that was reported from here.'),
    lastBillingEventSentAt: described(optional(Instant), 'When it last did; absent if never.'),
    contractIDs: described(t.readonlyArray(SafeInteger), 'The contracts that began with the subscription.'),
    noOfAlertNotificationsSent: described(SafeInteger, 'How often a mail was sent about a fault.'),
    lastAlertNotificationSentAt: described(optional(Instant), 'When such a mail was last sent; absent if never.'),
    isRevocable: described(t.boolean, 'The subscription has not ended, and can be revoked.'),
    formerSubscriptionId: described(
      t.string,
      'The deleted subscription of the same application before this one; empty if there is none.',
    ),
    createdAt: described(Instant, 'When the subscription was first heard of.'),
    lastUpdatedAt: described(Instant, 'When it last changed.'),
  },
  'Subscription',
)

export const MarketplaceAuditEvent = answer(
  {
    marketplace: described(Marketplace, 'The marketplace.'),
    subscriptionID: described(t.string, 'The id of the subscription.'),
    status: described(t.string, '`Succeeded`, `Ignored` or `Refused`.'),
    operationType: described(t.string, 'The event as it was sent, such as `PUT Succeeded`.'),
    description: described(t.string, 'What was done, for people; may be empty.'),
    data: described(FreeObjectCodec, 'The state of the subscription after the event, in `state`.'),
    timestamp: described(Instant, 'When the event arrived.'),
  },
  'MarketplaceAuditEvent',
)

export const AuditReportsResp = answer(
  {
    auditReports: described(
      t.record(t.string, t.readonlyArray(MarketplaceAuditEvent)),
      'The events by month in UTC, such as `2026-11`, the oldest first; at most 1,000 of the newest.',
    ),
  },
  'AuditReportsResp',
)

export const SettingWarnings = answer(
  {
    warnings: described(
      t.record(t.string, t.readonlyArray(t.string)),
      'What must be corrected in the settings, for people, by the name of the part.',
    ),
  },
  'SettingWarnings',
)

export const InstallerPath = request(
  { installerID: described(refText('installer', 'id', 'the id of an installer'), 'The id of the installer.') },
  'InstallerPath',
)

export const MarketplaceInstallerStatus = answer(
  {
    status: described(oneOf('Pending', 'Bound'), 'Whether the installer is bound.'),
    link: described(t.string, 'The archive of the installer; empty if it is not bound, or the link has ended.'),
    isExpired: described(t.boolean, 'The installer is not bound, and cannot be any more.'),
    meta: described(
      answer(
        {
          ID: described(t.string, 'The id of the installer.'),
          deploymentType: described(Marketplace, 'The marketplace of the installer.'),
          adminDisplayName: described(t.string, 'The name of the first account; empty if none was sent.'),
          clusterID: described(t.string, 'The cluster that is bound; empty if none is.'),
          createTimestamp: described(Instant, 'When the installer was created.'),
          expiryTimestamp: described(Instant, 'Until when it can be bound.'),
        },
        'MarketplaceInstallerMetadata',
      ),
      'What the installer is.',
    ),
  },
  'MarketplaceInstallerStatus',
)

export const ArchiveLinkPath = request(
  {
    installer: described(
      refText('installer archive', 'installer', 'the id of an installer'),
      'The id of the installer, as the link has it.',
    ),
  },
  'InstallerArchivePath',
)
export const ArchiveLinkQuery = request(
  {
    expires: described(
      naming(queryIntFrom(0, Number.MAX_SAFE_INTEGER), 'installer archive', 'expires'),
      'When the link ends, in milliseconds since the epoch.',
    ),
    signature: described(
      naming(patternText(/^[\w-]{43}$/, 43, 'a signature'), 'installer archive', 'signature'),
      'The signature of the link. It is over all other parts.',
    ),
  },
  'InstallerArchiveQuery',
)
