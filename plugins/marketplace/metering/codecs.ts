import * as t from 'io-ts'
import { callOutcomes, usageStates } from '../../../core/marketplace/metering/types.ts'
import {
  answer,
  described,
  Float,
  freeText,
  Instant,
  int32,
  listOf,
  naming,
  noted,
  oneOf,
  optional,
  patternText,
  plainValue,
  request,
  SafeInteger,
} from '../../kit/codecs.ts'

const Tag = request(
  {
    Key: described(freeText(1000, 1), 'The name of the tag.'),
    Value: described(freeText(1000), 'The value of the tag.'),
  },
  'MeteringTag',
)

const Allocation = request(
  {
    AllocatedUsageQuantity: described(int32(0), 'The usage of this part.'),
    Tags: described(optional(listOf(Tag, 50)), 'The tags of this part; absent for the part without tags.'),
  },
  'UsageAllocation',
)

export const MeterUsageInput = request(
  {
    ProductCode: described(freeText(255, 1), 'The code of the product in the marketplace.'),
    Timestamp: described(Instant, 'An instant in the hour of the usage, RFC 3339; the provider takes recent ones.'),
    UsageDimension: described(freeText(255, 1), 'The name of the dimension, as the product defines it.'),
    DryRun: described(optional(t.boolean), 'True: the provider checks the request and records nothing.'),
    UsageQuantity: described(optional(int32(0)), 'The usage in the hour, 0 to 2147483647; 0 if absent.'),
    UsageAllocations: described(
      optional(listOf(Allocation, 2500)),
      'The usage by tags, at most 2,500 parts; their sum must be the quantity.',
    ),
  },
  'MeterUsageInput',
)

export const MeterUsageOutput = answer(
  {
    MeteringRecordId: described(t.string, 'The id of the record at the provider; empty for a dry run.'),
  },
  'MeterUsageOutput',
)

const int64Text = /^-?[0-9]{1,19}$/
const isInt64 = (value: bigint): boolean => BigInt.asIntN(64, value) === value

/** A 64-bit integer as a JSON integer or as text, as other programs of the provider send it. */
const Int64Value = noted(
  new t.Type<bigint, string, unknown>(
    'int64, as an integer or as text',
    (u): u is bigint => typeof u === 'bigint' && isInt64(u),
    (u, c) => {
      const isNumber = typeof u === 'bigint' || (typeof u === 'number' && Number.isSafeInteger(u))
      if (!isNumber && !(typeof u === 'string' && int64Text.test(u))) return t.failure(u, c)
      const value = BigInt(u as string | number | bigint)
      return isInt64(value) ? t.success(value) : t.failure(u, c)
    },
    String,
  ),
  { format: 'int64' },
)

const UsageValue = request(
  {
    int64Value: described(optional(Int64Value), 'The value as an integer; it wins over the other one.'),
    doubleValue: described(optional(Float), 'The value as a number.'),
  },
  'UsageValue',
)

export const CloudCUsageReport = request(
  {
    name: described(optional(freeText(255)), 'The name of the operation; `<serviceName>/report` if it is empty.'),
    serviceName: described(
      patternText(/^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/, 253, 'the name of a service, as product.endpoints.example'),
      'The name of the service of the product.',
    ),
    dimension: described(
      freeText(255, 1),
      'The metric, with or without the name of the service and a slash before it.',
    ),
    startTime: described(Instant, 'The start of the time, RFC 3339; fractions of a millisecond are dropped.'),
    endTime: described(Instant, 'The end of the time, RFC 3339, after the start.'),
    labels: described(optional(t.record(t.string, freeText(1000))), 'Labels of the usage.'),
    value: described(UsageValue, 'The usage; one of the two values is required.'),
  },
  'CloudCUsageReport',
)

const recordQuery = {
  subscription: described(
    optional(
      naming(
        patternText(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 36, 'the id of a subscription'),
        'subscription',
        'id',
      ),
    ),
    'Only usage of this subscription; all if absent.',
  ),
  since: described(optional(plainValue(Instant)), 'Only what is at or after this RFC 3339 time; all if absent.'),
  until: described(optional(plainValue(Instant)), 'Only what is before this RFC 3339 time; all if absent.'),
}

export const MeteredUsageQuery = request(
  { ...recordQuery, outcome: described(optional(plainValue(oneOf(...usageStates))), 'Only usage in this state.') },
  'MeteredUsageQuery',
)
export const MeteringCallQuery = request(
  { ...recordQuery, outcome: described(optional(plainValue(oneOf(...callOutcomes))), 'Only calls with this outcome.') },
  'MeteringCallQuery',
)

const usageWords = {
  usageId: described(t.string, 'Identifies the usage: the client token of cloud A, or the operation id of cloud C.'),
  cloud: described(oneOf('cloudA', 'cloudC'), 'The cloud.'),
  subscriptionId: described(t.string, 'The subscription; empty if there was none, or several.'),
  product: described(t.string, 'The product code of cloud A, or the name of the service of cloud C.'),
  dimension: described(t.string, 'The dimension of cloud A, or the name of the metric of cloud C.'),
  quantity: described(t.string, 'How much.'),
  consumer: described(t.string, 'The consumer of cloud C; empty for cloud A.'),
}

export const MeteredUsageRecord = answer(
  {
    ...usageWords,
    start: described(Instant, 'The start of the usage.'),
    end: described(Instant, 'The end of the usage.'),
    state: described(
      oneOf(...usageStates),
      '`sent`: there is no answer yet. `unknown`: the answer was lost; the provider may have recorded it.',
    ),
    answer: described(t.string, 'The id of the record at the provider, or its answer as JSON; empty if not accepted.'),
    lastChangedAt: described(Instant, 'When it was last sent or answered.'),
  },
  'MeteredUsageRecord',
)

export const MeteringCallRecord = answer(
  {
    ...usageWords,
    calledAt: described(Instant, 'When the call ended.'),
    askedBy: described(t.string, 'The login of who reported, or the name of the job.'),
    outcome: described(oneOf(...callOutcomes), '`failed`: nothing was sent. `unknown`: the answer was lost.'),
    code: described(t.string, 'The code of the failure; empty if there is none.'),
    answer: described(t.string, 'The id of the record at the provider, or its answer as JSON; empty if not accepted.'),
    attempts: described(SafeInteger, 'How often the request was sent.'),
    milliseconds: described(SafeInteger, 'How long it took.'),
  },
  'MeteringCallRecord',
)

export const MeteredMonthQuery = request(
  {
    month: described(
      optional(naming(patternText(/^20\d{2}-(?:0[1-9]|1[0-2])$/, 7, 'a month, as 2026-11'), 'month', 'month')),
      'The month, in UTC; the running one if absent.',
    ),
  },
  'MeteredMonthQuery',
)

export const MeteredMonthRecord = answer(
  {
    subscriptionId: described(t.string, 'The subscription; empty if there was none, or several.'),
    dimension: described(t.string, 'The dimension, as the setting names it.'),
    used: described(Float, 'The usage that is known, in core-hours or GiB-hours: the sum of the other three.'),
    metered: described(Float, 'What the provider has recorded.'),
    lost: described(Float, 'What the provider has not recorded and does not take any more.'),
    waiting: described(Float, 'What is still to be reported.'),
  },
  'MeteredMonth',
)
export const MeteredMonthFigures = answer(
  { figures: described(t.readonlyArray(MeteredMonthRecord), 'By subscription and dimension.') },
  'MeteredMonthFigures',
)
