import * as t from 'io-ts'
import {
  SinkCustomerMissing,
  SinkEventMissing,
  SinkEventNotHeld,
  UsageSinkInvalid,
  UsageSinkMissing,
} from '../../core/rating/sinks/ports.ts'
import { query, requires, siteAdmin } from '../kit/access.ts'
import { empty, json, list, packed } from '../kit/reply.ts'
import { body, routesOf } from '../kit/route.ts'
import { InAccount } from './codecs.ts'
import { Resolution, SinkAnswer, SinkCustomer, SinkEvent, SinkEventPath, SinkInput, SinkPath } from './sink-codecs.ts'

const common = { tag: 'Prices & Invoices', scopeCategory: 'billing' } as const
const route = routesOf({ ...common, access: siteAdmin })
/** Site admins alone hold the relation. */
const customerRoute = routesOf({
  ...common,
  access: requires('can_view_usage_analytics', { type: 'account', name: query('org') }),
  params: SinkPath,
  query: InAccount,
})

const sinkInput = { kind: 'stripe', address: 'https://api.stripe.com', from: '2026-11', enabled: true }
const sinkExample = {
  name: 'stripe',
  ...sinkInput,
  nextAttemptAt: '2026-12-05T08:00:00.000Z',
  failures: 0,
  lastError: '',
  pending: 0,
  unmapped: 2,
  refused: 0,
  unknown: 0,
}
const customerExample = { externalID: 'cus_NeZwdNtLEOXuvB' }
const eventExample = {
  id: 7,
  eventID: 'moorage.3.202611.1.42.dbProduct.cpu.prod',
  account: 'acme',
  month: '2026-11',
  revision: 1,
  contractID: 42,
  product: 'dbProduct',
  measure: 'cpu',
  use: 'prod',
  value: '12.340',
  state: 'unmapped',
  reason: '',
  createdAt: '2026-12-05T08:00:00.000Z',
}

export const listSinks = route({
  id: 'rating.listSinks',
  method: 'GET',
  path: '/rating/sinks',
  summary: 'List the billing engines to which usage is sent, by name',
  description: 'With what waits to be sent, and why the last attempt failed.',
  ok: json(200, t.readonlyArray(SinkAnswer), [sinkExample]),
})

export const putSink = route({
  id: 'rating.putSink',
  method: 'PUT',
  path: '/rating/sinks/{sink}',
  summary: 'Create a billing engine to which usage is sent, or replace its details',
  description:
    'The quantities of each final month are sent, by contract, product, measure and use. A new revision sends the ' +
    'differences. Addresses are public ones, and those that the operator allows.',
  params: SinkPath,
  body: body(SinkInput, { ...sinkInput, key: 'rk_live_example' }),
  ok: json(200, SinkAnswer, sinkExample),
  failures: [UsageSinkInvalid],
})

export const getSinkCustomer = customerRoute({
  id: 'rating.getSinkCustomer',
  method: 'GET',
  path: '/rating/sinks/{sink}/customer',
  summary: 'Get the customer of an account at a billing engine',
  description: 'Usage of an account without one waits.',
  ok: json(200, SinkCustomer, customerExample),
  failures: [UsageSinkMissing, SinkCustomerMissing],
})

export const putSinkCustomer = customerRoute({
  id: 'rating.putSinkCustomer',
  method: 'PUT',
  path: '/rating/sinks/{sink}/customer',
  summary: 'Set the customer of an account at a billing engine',
  description: 'What waits for it is sent next. What was sent stays with the former customer.',
  body: body(SinkCustomer, customerExample),
  ok: json(200, SinkCustomer, customerExample),
  failures: [UsageSinkMissing],
})

export const listSinkEvents = route({
  id: 'rating.listSinkEvents',
  method: 'GET',
  path: '/rating/sinks/{sink}/events',
  summary: 'List what is not sent to a billing engine, and why, the oldest first',
  description: 'Each event is a quantity of a final month, or the difference that a new revision makes to it.',
  params: SinkPath,
  ok: packed(list(SinkEvent, eventExample)),
  failures: [UsageSinkMissing],
})

export const resolveSinkEvent = route({
  id: 'rating.resolveSinkEvent',
  method: 'POST',
  path: '/rating/sinks/{sink}/events/{eventID}/resolve',
  summary: 'Decide on an event that was refused, or of which it is unknown whether it arrived',
  description: 'Look at the engine first. An event that counts as sent is the base of later differences.',
  params: SinkEventPath,
  body: body(Resolution, { as: 'send-again' }),
  ok: empty(204),
  failures: [UsageSinkMissing, SinkEventMissing, SinkEventNotHeld],
})
