import * as t from 'io-ts'
import { daySeconds } from '../../core/usage/month.ts'
import { usageProducts } from '../../core/usage/types.ts'
import { answer, Float, freeText, Instant, noted, oneOf, optional, PathName, request, SafeInteger } from '../kit/codecs.ts'
import { billablePairs, UsedPair, UsedQuota } from './view-codecs.ts'

const org = { org: noted(PathName, { description: 'The account whose usage is shown.' }) }

/** A day in UTC in a query string, as days since the epoch. */
const Day = noted(
  new t.Type<number, string, unknown>(
    'a day in the form 2026-11-22',
    (u): u is number => typeof u === 'number',
    (u, c) => {
      const at = typeof u === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(u) ? Date.parse(`${u}T00:00:00Z`) : Number.NaN
      return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== u ? t.failure(u, c) : t.success(at / 1000 / daySeconds)
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
    from: noted(optional(Day), { description: 'The first day of arrival, in UTC; 34 days before `to` without it.' }),
    to: noted(optional(Day), { description: 'The last day of arrival, in UTC; today without it.' }),
  },
  'UsageIntakeQuery',
)

const MonthState = { revision: SafeInteger, status: oneOf('provisional', 'final'), generatedAt: Instant }
const monthText = noted(freeText(7), { description: 'The month in the form `2026-06`.' })

export const GeneratedDates = answer(
  {
    yearMonthList: t.record(t.string, t.readonlyArray(t.string)),
    months: noted(t.readonlyArray(answer({ month: monthText, ...MonthState }, 'GeneratedMonth')), { description: 'The same months, each with its newest revision.' }),
  },
  'GeneratedDates',
)

export const IntakeSums = answer(
  {
    items: t.readonlyArray(
      answer(
        {
          day: noted(t.string, { description: 'The day of arrival, in UTC.' }),
          clusterUID: t.string,
          received: noted(SafeInteger, { description: 'All events: accepted, repeated and refused ones.' }),
          accepted: SafeInteger,
          repeated: noted(SafeInteger, { description: 'Events that were received before.' }),
          refused: SafeInteger,
          late: noted(SafeInteger, { description: 'Of the accepted events: those that arrived more than 24 hours after their time.' }),
        },
        'UsageIntake',
      ),
    ),
  },
  'UsageIntakeSums',
)

export const RefusedEvents = answer(
  {
    items: t.readonlyArray(
      answer({ receivedAt: Instant, clusterUID: t.string, id: noted(t.string, { description: 'The id that the sender gave the event.' }), type: t.string, reason: t.string, message: t.string }, 'RefusedUsageEvent'),
    ),
  },
  'RefusedUsageEvents',
)

export const RunningMonthFigures = answer(
  {
    month: monthText,
    contracts: t.readonlyArray(
      answer(
        {
          contractID: SafeInteger,
          name: t.string,
          billed: UsedPair,
          quota: noted(t.union([UsedQuota, t.null]), { description: 'Null if the contract has no quota.' }),
          computedAt: Instant,
        },
        'RunningContract',
      ),
    ),
  },
  'RunningUsageMonth',
)

export const Customers = answer(
  {
    month: monthText,
    customers: t.readonlyArray(
      answer(
        {
          account: t.string,
          accountID: SafeInteger,
          ...MonthState,
          products: t.readonlyArray(answer({ product: oneOf(...usageProducts), objectCount: SafeInteger, cpu: Float, memory: Float, ...billablePairs }, 'CustomerProduct')),
        },
        'CustomerMonth',
      ),
    ),
  },
  'CustomersOfMonth',
)

export const CloseQuery = request(
  { ...org, status: noted(optional(oneOf('provisional', 'final')), { description: 'The status of the revision. Without it: `final` from 72 hours after the end of the month on, before `provisional`.' }) },
  'CloseUsageMonthQuery',
)
export const ReopenQuery = request(org, 'ReopenUsageMonthQuery')

export const ChangedMonth = answer(
  { month: monthText, ...MonthState, isNew: noted(t.boolean, { description: 'False if the newest revision was computed from the same events: then nothing was written.' }) },
  'ChangedUsageMonth',
)

const state = { revision: 1, status: 'final', generatedAt: '2026-07-04T00:30:00.000Z' }
const clusterUID = '0d3fdb5c-7d7c-4d6e-9a3d-3c1f3a1d2c44'
const pair = { cpu: 1.5, memory: 6 }
const none = { cpu: 0, memory: 0 }

export const generatedExample = { yearMonthList: { '2026': ['June'] }, months: [{ month: '2026-06', ...state }] }
export const intakeExample = { items: [{ day: '2026-06-30', clusterUID, received: 120, accepted: 110, repeated: 8, refused: 2, late: 1 }] }
export const refusedExample = { items: [{ receivedAt: '2026-06-30T10:00:00.000Z', clusterUID, id: 'a1', type: 'object.created', reason: 'invalid', message: 'kind must be the name of a kind.' }] }
export const runningExample = {
  month: '2026-07',
  contracts: [{ contractID: 42, name: 'Databases', billed: pair, quota: { metric: 'cpu_core_month', limit: 10, billed: 1.5, excess: 0, usedPercent: 15 }, computedAt: '2026-07-10T10:00:00.000Z' }],
}
export const customersExample = {
  month: '2026-06',
  customers: [{ account: 'acme', accountID: 7, ...state, products: [{ product: 'dbProduct', objectCount: 1, ...pair, prod: pair, nonProd: none, free: { trial: none, freeContract: none } }] }],
}
export const changedExample = { month: '2026-06', ...state, isNew: true }
