import * as t from 'io-ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { answer, Float, freeText, Instant, noted, optional, patternText, queryId, repeatable, request, SafeInteger } from '../kit/codecs.ts'

export const SystemOutageRequest = request(
  {
    accountName: optional(noted(freeText(40), { description: 'All accounts without it.' })),
    clusterID: optional(noted(freeText(36), { description: 'The UID of a cluster; all clusters without it.' })),
    start: Instant,
    end: Instant,
    tags: optional(t.readonlyArray(freeText(64))),
    comments: optional(freeText()),
  },
  'SystemOutageRequest',
)

export const SystemOutageApiForm = answer(
  {
    id: SafeInteger,
    accountID: noted(SafeInteger, { description: '0 if the outage concerns all accounts.' }),
    accountName: t.string,
    clusterID: t.string,
    start: Instant,
    end: Instant,
    tags: t.readonlyArray(t.string),
    comments: t.string,
    createdAt: Instant,
  },
  'SystemOutageApiForm',
)
const TagPercentage = answer({ tag: t.string, percentage: Float }, 'TagPercentage')
const EntityDurationPercentage = answer({ entity: t.string, entityName: t.string, durationHours: Float, percentage: Float }, 'EntityDurationPercentage')
export const SystemOutageReport = answer(
  {
    totalOutages: SafeInteger,
    totalDurationHours: Float,
    topTagsPercentage: t.readonlyArray(TagPercentage),
    topAccountsDuration: t.readonlyArray(EntityDurationPercentage),
    topClustersDuration: t.readonlyArray(EntityDurationPercentage),
  },
  'SystemOutageReport',
)
export const SystemOutagesAndReportAPIForm = answer({ report: SystemOutageReport, entries: t.readonlyArray(SystemOutageApiForm) }, 'SystemOutagesAndReportAPIForm')

/** An instant in a query string. */
export const OutageReportQuery = request(
  {
    start: optional(Instant),
    account_id: optional(queryId<AccountId>()),
    cluster_id: optional(patternText(/^[0-9a-fA-F-]{1,36}$/, 36, 'the UID of a cluster')),
    tags: repeatable(freeText(64)),
  },
  'SystemOutageReportQuery',
)

export const outageExample = {
  id: 3,
  accountID: 0,
  accountName: '',
  clusterID: '',
  start: '2026-11-20T10:00:00.000Z',
  end: '2026-11-20T12:30:00.000Z',
  tags: ['network'],
  comments: 'The message bus was away.',
  createdAt: '2026-11-20T13:00:00.000Z',
}
export const outageReportExample = {
  report: { totalOutages: 1, totalDurationHours: 2.5, topTagsPercentage: [{ tag: 'network', percentage: 100 }], topAccountsDuration: [], topClustersDuration: [] },
  entries: [outageExample],
}
