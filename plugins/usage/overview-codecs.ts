import * as t from 'io-ts'
import { daySeconds } from '../../core/usage/month.ts'
import { usageProducts } from '../../core/usage/types.ts'
import {
  answer,
  described,
  Float,
  freeText,
  Instant,
  noted,
  oneOf,
  optional,
  pathName,
  plainValue,
  request,
  SafeInteger,
} from '../kit/codecs.ts'
import { billablePairs, UsedPair, UsedQuota } from './view-codecs.ts'

const org = { org: noted(pathName('account'), { description: 'The login of the account that is meant.' }) }

/** A day in UTC in a query string, as days since the epoch. */
const Day = noted(
  new t.Type<number, string, unknown>(
    'a day in the form 2026-11-22',
    (u): u is number => typeof u === 'number',
    (u, c) => {
      const at = typeof u === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(u) ? Date.parse(`${u}T00:00:00Z`) : Number.NaN
      return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== u
        ? t.failure(u, c)
        : t.success(at / 1000 / daySeconds)
    },
    (day) => dayText(day),
  ),
  { type: 'string', format: 'date' },
)

/** Returns a day since the epoch as `2026-11-22`. */
export const dayText = (day: number): string => new Date(day * daySeconds * 1000).toISOString().slice(0, 10)

export const IntakeQuery = request(
  {
    ...org,
    from: noted(optional(plainValue(Day)), {
      description: 'The first day of arrival, in UTC; 34 days before `to` without it.',
    }),
    to: noted(optional(plainValue(Day)), { description: 'The last day of arrival, in UTC; today without it.' }),
  },
  'UsageIntakeQuery',
)

const MonthState = {
  revision: described(SafeInteger, 'The number of the newest revision of the month, from 1.'),
  status: described(oneOf('provisional', 'final'), 'Figures of a `final` revision do not change any more.'),
  generatedAt: described(Instant, 'When the revision was computed.'),
}
const monthText = noted(freeText(7), { description: 'The month in the form `2026-06`.' })

export const GeneratedDates = answer(
  {
    yearMonthList: described(
      t.record(t.string, t.readonlyArray(t.string)),
      'By year, the English names of the months of which a report was generated.',
    ),
    months: noted(t.readonlyArray(answer({ month: monthText, ...MonthState }, 'GeneratedMonth')), {
      description: 'The same months, each with its newest revision.',
    }),
  },
  'GeneratedDates',
)

const Intake = answer(
  {
    day: described(t.string, 'The day of arrival, in UTC.'),
    clusterUID: described(t.string, 'The UID of the cluster that sent the events.'),
    received: described(SafeInteger, 'All events: accepted, repeated and refused ones.'),
    accepted: described(SafeInteger, 'Events that were recorded.'),
    repeated: described(SafeInteger, 'Events that were received before.'),
    refused: described(SafeInteger, 'Events that were refused and changed nothing.'),
    late: described(SafeInteger, 'Of the accepted events: those that arrived more than 24 hours after their time.'),
  },
  'UsageIntake',
)
export const IntakeSums = answer(
  { items: described(t.readonlyArray(Intake), 'The sums, by day and cluster, ascending.') },
  'UsageIntakeSums',
)

const RefusedEvent = answer(
  {
    receivedAt: described(Instant, 'When the event arrived.'),
    clusterUID: described(t.string, 'The UID of the cluster that sent it.'),
    id: described(t.string, 'The id that the sender gave the event.'),
    type: described(t.string, 'The type of the event, as the sender wrote it.'),
    reason: described(t.string, 'Why it was refused: `invalid`, `too-early`, `too-late` or `conflict`.'),
    message: described(t.string, 'What is wrong with it, in one sentence.'),
  },
  'RefusedUsageEvent',
)
export const RefusedEvents = answer(
  { items: described(t.readonlyArray(RefusedEvent), 'The refused events, the newest first.') },
  'RefusedUsageEvents',
)

const RunningContract = answer(
  {
    contractID: described(SafeInteger, 'The id of the contract.'),
    name: described(t.string, 'The name of the contract.'),
    billed: described(UsedPair, 'What was billed in the month so far.'),
    quota: described(
      t.union([UsedQuota, t.null]),
      'What the contract includes, and how much of it was billed; null if it has no quota.',
    ),
    computedAt: described(Instant, 'When the figures were computed.'),
  },
  'RunningContract',
)
export const RunningMonthFigures = answer(
  { month: monthText, contracts: described(t.readonlyArray(RunningContract), 'The contracts in force, by id.') },
  'RunningUsageMonth',
)

const CustomerProduct = answer(
  {
    product: described(oneOf(...usageProducts), 'The product that the figures are of.'),
    objectCount: described(SafeInteger, 'How many objects ran in the month.'),
    cpu: described(Float, 'All that they occupied, in core-months.'),
    memory: described(Float, 'All that they occupied, in GiB-months.'),
    ...billablePairs,
  },
  'CustomerProduct',
)
const CustomerMonth = answer(
  {
    account: described(t.string, 'The login of the account.'),
    accountID: described(SafeInteger, 'The id of the account.'),
    ...MonthState,
    products: described(t.readonlyArray(CustomerProduct), 'The totals of each product with objects.'),
  },
  'CustomerMonth',
)
export const Customers = answer(
  {
    month: monthText,
    customers: described(t.readonlyArray(CustomerMonth), 'The accounts with a report of the month, by name.'),
  },
  'CustomersOfMonth',
)

export const CloseQuery = request(
  {
    ...org,
    status: noted(optional(oneOf('provisional', 'final')), {
      description:
        'The status of the revision. Without it: `final` from 72 hours after the end of the month on, ' +
        'before `provisional`.',
    }),
  },
  'CloseUsageMonthQuery',
)
export const ReopenQuery = request(org, 'ReopenUsageMonthQuery')

export const ChangedMonth = answer(
  {
    month: monthText,
    ...MonthState,
    isNew: noted(t.boolean, {
      description: 'False if the newest revision was computed from the same events: then nothing was written.',
    }),
  },
  'ChangedUsageMonth',
)

const state = { revision: 1, status: 'final', generatedAt: '2026-07-04T00:30:00.000Z' }
const clusterUID = '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44'
const pair = { cpu: 1.5, memory: 6 }
const none = { cpu: 0, memory: 0 }

export const generatedExample = { yearMonthList: { '2026': ['June'] }, months: [{ month: '2026-06', ...state }] }
export const intakeExample = {
  items: [{ day: '2026-06-30', clusterUID, received: 120, accepted: 110, repeated: 8, refused: 2, late: 1 }],
}
export const refusedExample = {
  items: [
    {
      receivedAt: '2026-06-30T10:00:00.000Z',
      clusterUID,
      id: 'a1',
      type: 'object.created',
      reason: 'invalid',
      message: 'kind must be the name of a kind.',
    },
  ],
}
export const runningExample = {
  month: '2026-07',
  contracts: [
    {
      contractID: 42,
      name: 'Databases',
      billed: pair,
      quota: { metric: 'cpu_core_month', limit: 10, billed: 1.5, excess: 0, usedPercent: 15 },
      computedAt: '2026-07-10T10:00:00.000Z',
    },
  ],
}
export const customersExample = {
  month: '2026-06',
  customers: [
    {
      account: 'acme',
      accountID: 7,
      ...state,
      products: [
        {
          product: 'dbProduct',
          objectCount: 1,
          ...pair,
          prod: pair,
          nonProd: none,
          free: { trial: none, freeContract: none },
        },
      ],
    },
  ],
}
export const changedExample = { month: '2026-06', ...state, isNew: true }
