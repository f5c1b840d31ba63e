import { CachesPort } from '../../core/kernel/cache.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { monthKey, monthText } from '../../core/usage/month.ts'
import { CloseMonthPort } from '../../core/usage/months/close.ts'
import { makeExpireIntake, makeListIntake, makeListRefused } from '../../core/usage/events/intake.ts'
import {
  makeChangeMonth,
  makeListCustomers,
  makeListGeneratedMonths,
  makeReadRunningMonth,
} from '../../core/usage/months/overview.ts'
import type { ChangedMonth } from '../../core/usage/months/overview.ts'
import { UsageInputsPort } from '../../core/usage/months/ports.ts'
import { UsageOverviewStorePort } from '../../core/usage/overview-ports.ts'
import type { UsageMonth } from '../../core/usage/types.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { dayText } from './overview-codecs.ts'
import {
  closeMonth,
  getRunningMonth,
  listCustomers,
  listGeneratedMonths,
  listIntake,
  listRefusedEvents,
  reopenMonth,
} from './overview.routes.ts'

const stateOf = ({ month, revision, status, generatedAt }: UsageMonth) => ({
  month: monthText(month),
  revision,
  status,
  generatedAt,
})
const toChanged = ({ month, isNew }: ChangedMonth) => ({ ...stateOf(month), isNew })

/** What site admins see of the usage of accounts beside the views of one month, and the changes of months. */
export const overviewGroup = defineGroup({
  needs: {
    caches: CachesPort,
    clock: ClockPort,
    close: CloseMonthPort,
    inputs: UsageInputsPort,
    overview: UsageOverviewStorePort,
  },
  routes: (given) => {
    const change = makeChangeMonth(given)
    return [
      handle(listGeneratedMonths, makeListGeneratedMonths(given), {
        input: ({ grant }) => ({ ownerId: grant.ownerId }),
        reply: ({ names, months }) => ({ yearMonthList: names, months: months.map(stateOf) }),
      }),
      handle(listIntake, makeListIntake(given), {
        input: ({ grant, query: { from, to } }) => ({ ownerId: grant.ownerId, from, to }),
        reply: (sums) => ({
          items: sums.map(({ day, clusterUid, accepted, repeated, refused, late }) => ({
            day: dayText(day),
            clusterUID: clusterUid,
            received: accepted + repeated + refused,
            accepted,
            repeated,
            refused,
            late,
          })),
        }),
      }),
      handle(listRefusedEvents, makeListRefused(given), {
        input: ({ grant }) => ({ ownerId: grant.ownerId }),
        reply: (events) => ({
          items: events.map(({ receivedAt, clusterUid, eventId, type, reason, message }) => ({
            receivedAt,
            clusterUID: clusterUid,
            id: eventId,
            type,
            reason,
            message,
          })),
        }),
      }),
      handle(getRunningMonth, makeReadRunningMonth(given), {
        input: ({ grant }) => ({ ownerId: grant.ownerId }),
        reply: ({ month, contracts }) => ({
          month: monthText(month),
          contracts: contracts.map(({ contract, cpu, memory, quota, computedAt }) => ({
            contractID: contract.id,
            name: contract.name,
            billed: { cpu, memory },
            quota: quota === undefined ? null : { metric: contract.quota.metric, ...quota },
            computedAt,
          })),
        }),
      }),
      handle(listCustomers, makeListCustomers(given), {
        input: ({ params }) => ({ month: monthKey(params.year, params.month) }),
        reply: (customers, { params }) => ({
          month: monthText(monthKey(params.year, params.month)),
          customers: customers.map(({ accountName, month, products }) => {
            const { revision, status, generatedAt } = month
            return {
              account: accountName,
              accountID: month.ownerId,
              revision,
              status,
              generatedAt,
              products: products.map(({ clusterHours: _, ...totals }) => totals),
            }
          }),
        }),
      }),
      handle(closeMonth, change, {
        input: ({ grant, params, query: { status } }) => ({
          ownerId: grant.ownerId,
          month: monthKey(params.year, params.month),
          ...(status === undefined ? {} : { as: status }),
        }),
        reply: toChanged,
      }),
      handle(reopenMonth, change, {
        input: ({ grant, params }) => ({
          ownerId: grant.ownerId,
          month: monthKey(params.year, params.month),
          as: 'reopen' as const,
        }),
        reply: toChanged,
      }),
    ]
  },
  jobs: (given) => [
    {
      id: 'usage.expireIntake',
      summary: 'Remove sums of events after 14 months, and refused events after 35 days',
      everySeconds: 6 * 3600,
      run: makeExpireIntake(given),
    },
  ],
})
