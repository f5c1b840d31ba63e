import type { MeteredHour } from '../../../core/marketplace/metering/hours/ports.ts'
import type { MeteredCloud, MeteringCall, UsageKey, UsageState } from '../../../core/marketplace/metering/types.ts'
import { instant, int, long, longText, named, rowId, table, text, withDefault } from '../kit/columns.ts'

export const meteringUsage = table('metering_usage', {
  id: rowId(),
  key: named('usage_key', text<UsageKey>(36)),
  cloud: text<MeteredCloud>(8),
  scope: text(64),
  start: named('start_at', instant()),
  end: named('end_at', instant()),
  state: text<UsageState>(8),
  answer: longText(),
  changedAt: instant(),
  claimedUntil: withDefault(instant()),
  product: withDefault(text(255)),
  dimension: withDefault(text(512)),
  quantity: withDefault(text(64)),
  consumer: withDefault(text(255)),
  subscriptionRef: withDefault(text(36)),
})

export const meteringScopes = table('metering_scopes', {
  scope: text(64),
  usedAt: instant(),
})

export const meteringCalls = table('metering_calls', {
  id: rowId(),
  key: named('usage_key', text<UsageKey>(36)),
  cloud: text<MeteredCloud>(8),
  at: instant(),
  askedBy: text(255),
  outcome: text<MeteringCall['outcome']>(8),
  code: text(64),
  answer: longText(),
  attempts: int(),
  milliseconds: int(),
})

export const meteringHours = table('metering_hours', {
  dimension: text(255),
  hour: named('hour_at', instant()),
  state: text<MeteredHour['state']>(8),
  quantity: long(),
  rest: long(),
  reason: text(64),
  changedAt: instant(),
})
