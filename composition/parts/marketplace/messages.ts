import { makePushTokens } from '../../../adapters/marketplace/push-tokens.ts'
import { makeTopicMessages } from '../../../adapters/marketplace/topic-messages.ts'
import type { GuardedFetch } from '../../../adapters/outbound/guarded-fetch.ts'
import { makeUserFetch } from '../../../adapters/outbound/user-fetch.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import {
  MarketplaceSettingsPort,
  ProviderMessageCountersPort,
  PushTokensPort,
  TopicMessagesPort,
} from '../../../core/marketplace/ports.ts'
import { marketplaceMessagesPlugin } from '../../../plugins/marketplace/plugin.ts'
import { bind } from '../../part/binding.ts'
import type { Counts } from '../../part/gauges.ts'
import { defineGauges, makeCounts, otherLabel } from '../../part/gauges.ts'
import { definePart } from '../../part/part.ts'
import { absentUnlessSet, withDefault } from '../../part/setting.ts'
import { listOf, matching } from '../../part/setting-type.ts'

/** Requests certificates, keys and confirmations of the providers. */
export const MessageFetchPort = portKey<GuardedFetch>('marketplace.MessageFetch')

const MessageCountsPort = portKey<Counts>('marketplace.MessageCounts')

/** The actions that have series of their own. Others count together, since the provider may add any. */
const countedActions: ReadonlySet<string> = new Set([
  'subscribe-success',
  'subscribe-fail',
  'unsubscribe-pending',
  'unsubscribe-success',
  'entitlement-updated',
  'UnsubscribeConfirmation',
  'ACCOUNT_ACTIVE',
  'ACCOUNT_DELETED',
  'ENTITLEMENT_CREATION_REQUESTED',
  'ENTITLEMENT_ACTIVE',
  'ENTITLEMENT_PLAN_CHANGE_REQUESTED',
  'ENTITLEMENT_PLAN_CHANGED',
  'ENTITLEMENT_PLAN_CHANGE_CANCELLED',
  'ENTITLEMENT_PENDING_CANCELLATION',
  'ENTITLEMENT_CANCELLATION_REVERTED',
  'ENTITLEMENT_CANCELLING',
  'ENTITLEMENT_CANCELLED',
  'ENTITLEMENT_DELETED',
])

/** Messages of providers about customers, which a topic or a subscription of the vendor sends. */
export const part = definePart({
  plugin: marketplaceMessagesPlugin,
  settings: {
    cloudASnsTopics: withDefault(
      'MOORAGE_CLOUD_A_SNS_TOPICS',
      listOf(matching(/^arn:[a-z0-9-]+:sns:[a-z0-9-]+:\d{12}:[\w.-]{1,256}$/, 'the ARN of a topic')),
      '',
      'Topics (SNS) of cloud A whose messages are received; they are reported to the operator.',
      { after: 'MOORAGE_CLOUD_A_IP_RANGES' },
    ),
    cloudCPushAccount: absentUnlessSet(
      'MOORAGE_CLOUD_C_PUSH_ACCOUNT',
      matching(/^[^\s<>@]{1,64}@[^\s<>@]{1,189}$/, 'the mail address of a service account'),
      'The service account as which a subscription (Pub/Sub) of cloud C pushes messages; they are reported to the ' +
        'operator.',
      { after: 'MOORAGE_CLOUD_C_TEST_INSTALLER' },
    ),
    cloudCPushAudience: absentUnlessSet(
      'MOORAGE_CLOUD_C_PUSH_AUDIENCE',
      matching(/^\S{1,1024}$/, 'a text without spaces'),
      'The audience of the tokens of that subscription.',
      { fallbackText: 'the address of the route, as the provider has it by default' },
    ),
  },
  isWanted: ({ cloudASnsTopics, cloudCPushAccount }) => cloudASnsTopics.length > 0 || cloudCPushAccount !== undefined,
  provide: ({ settings, resolver, readings }) => [
    bind(MessageFetchPort, {}, () => makeUserFetch({ settings, resolver, readings })),
    bind(TopicMessagesPort, { clock: ClockPort, fetch: MessageFetchPort }, (given) =>
      makeTopicMessages({ ...given, topics: settings.cloudASnsTopics }),
    ),
    bind(
      PushTokensPort,
      { clock: ClockPort, fetch: MessageFetchPort, marketplace: MarketplaceSettingsPort },
      ({ clock, fetch, marketplace }) =>
        makePushTokens({
          clock,
          fetch,
          account: settings.cloudCPushAccount,
          audience: () =>
            settings.cloudCPushAudience ??
            `${marketplace.listenerUrl()}/marketplace/api/v1/marketplaces/cloudC/messages`,
        }),
    ),
    bind(MessageCountsPort, {}, () => makeCounts(['provider', 'action'], 2)),
    bind(ProviderMessageCountersPort, { counts: MessageCountsPort }, ({ counts }) => ({
      count: (marketplace, action) => counts.add(marketplace, countedActions.has(action) ? action : otherLabel),
    })),
  ],
  metrics: [
    defineGauges(
      {
        moorage_marketplace_messages_total: {
          type: 'counter',
          help: 'Messages of marketplaces about customers since the start, by action; each may need an operator.',
          label: ['provider', 'action'],
        },
      },
      { counts: MessageCountsPort },
      ({ counts }) =>
        () => ({ moorage_marketplace_messages_total: counts.samples() }),
    ),
  ],
})
