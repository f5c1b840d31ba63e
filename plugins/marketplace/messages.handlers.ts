import { left, right } from 'fp-ts/lib/Either.js'
import { ClockPort } from '../../core/kernel/clock.ts'
import { LogPort } from '../../core/kernel/log.ts'
import { refusalOfDeployment } from '../../core/marketplace/notifications/notifications.ts'
import {
  makeAdmitPush,
  makeReceivePushedMessage,
  makeReceiveTopicMessage,
} from '../../core/marketplace/notifications/provider-messages.ts'
import {
  MarketplaceSettingsPort,
  MarketplaceUnitOfWorkPort,
  NotificationDigestPort,
  NotificationInboxPort,
  NotificationLimitsPort,
  NotificationLimiterPort,
  ProviderMessageCountersPort,
  PushTokensPort,
  TopicMessagesPort,
} from '../../core/marketplace/ports.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { receivePushedMessage, receiveTopicMessage } from './messages.routes.ts'

/** Messages that the providers of clouds A and C send by topics and subscriptions. */
export const messageGroup = defineGroup({
  needs: {
    clock: ClockPort,
    digest: NotificationDigestPort,
    inbox: NotificationInboxPort,
    limits: NotificationLimitsPort,
    log: LogPort,
    messages: TopicMessagesPort,
    settings: MarketplaceSettingsPort,
    counters: ProviderMessageCountersPort,
    tokens: PushTokensPort,
    limiter: NotificationLimiterPort,
    unitOfWork: MarketplaceUnitOfWorkPort,
  },
  routes: (given) => {
    const admitPush = makeAdmitPush(given)
    return [
      handle(receiveTopicMessage, makeReceiveTopicMessage(given), {
        admission: {
          bySender: () => {
            const refused = refusalOfDeployment(given.settings, 'CloudA')
            return refused === undefined ? right(true) : left(refused)
          },
        },
        input: ({ body }) => body,
      }),
      handle(receivePushedMessage, makeReceivePushedMessage(given), {
        admission: {
          bySender: ({ sourceIp, authorization }) => {
            const refused = refusalOfDeployment(given.settings, 'CloudC')
            return refused === undefined ? admitPush(sourceIp, authorization) : left(refused)
          },
        },
        input: ({ body }) => ({
          subscription: body.subscription,
          messageId: body.message.messageId,
          data: body.message.data,
        }),
      }),
    ]
  },
})
