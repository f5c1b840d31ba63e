import {
  MessageUndecided,
  NotificationInvalid,
  NotificationRefused,
  TooManyNotifications,
} from '../../core/marketplace/ports.ts'
import { anyone } from '../kit/access.ts'
import { empty } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import { CloudAMessage, CloudCMessage } from './codecs.ts'

const route = routesOf({
  tag: 'Marketplace',
  access: anyone,
  failures: [MessageUndecided, NotificationInvalid, NotificationRefused, TooManyNotifications],
})
const dialect = 'marketplace'
/** Topics and subscriptions send messages of at most 256 KiB; what surrounds and escapes them is as much again. */
const options = { limitBytes: 524_288, refusedAs: 400 } as const
const changesNothing = 'The operator is notified once; no subscription changes. A repeated message does nothing.'

export const receiveTopicMessage = route({
  id: 'marketplace.receiveTopicMessage',
  method: 'POST',
  path: '/marketplaces/cloudA/messages',
  summary: 'Receive a message of a topic of cloud A',
  description: `Of SNS, signed, and of the last hour; the subscription of an accepted topic is confirmed. ${changesNothing}`,
  dialect,
  body: body(
    CloudAMessage,
    {
      Type: 'Notification',
      MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
      TopicArn: 'arn:aws:sns:us-east-1:123456789012:subscriptions',
      Message: '{"action": "unsubscribe-success", "customer-identifier": "X01EXAMPLEX", "product-code": "example"}',
      Timestamp: '2026-11-20T12:00:00.000Z',
      SignatureVersion: '2',
      Signature: 'EXAMPLEw6JRN',
      SigningCertURL:
        'https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem',
    },
    { ...options, orPlainText: true },
  ),
  ok: empty(200),
})

export const receivePushedMessage = route({
  id: 'marketplace.receivePushedMessage',
  method: 'POST',
  path: '/marketplaces/cloudC/messages',
  summary: 'Receive a message that a subscription of cloud C pushes',
  description: `Of Pub/Sub, with a token of the service account of the subscription. ${changesNothing}`,
  dialect,
  body: body(
    CloudCMessage,
    {
      message: {
        data: 'eyJldmVudFR5cGUiOiJFTlRJVExFTUVOVF9DQU5DRUxMRUQiLCJlbnRpdGxlbWVudCI6eyJpZCI6ImUtMSJ9fQ==',
        messageId: '2070443601311540',
      },
      subscription: 'projects/vendor/subscriptions/marketplace',
    },
    options,
  ),
  ok: empty(200),
})
