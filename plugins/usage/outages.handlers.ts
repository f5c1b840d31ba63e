import { ClockPort } from '../../core/kernel/clock.ts'
import type { Outage } from '../../core/usage/outages/ports.ts'
import { OutageStorePort, OutageUnitOfWorkPort } from '../../core/usage/outages/ports.ts'
import { makeListOutageTags, makeRecordOutage, makeReportOutages } from '../../core/usage/outages/outages.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { getOutageReport, listOutageTags, recordOutage } from './outages.routes.ts'

const toOutage = ({ id, owner, clusterUid, from, to, tags, comments, createdAt }: Outage) => ({
  id,
  accountID: owner?.id ?? 0,
  accountName: owner?.name ?? '',
  clusterID: clusterUid,
  start: new Date(from * 1000),
  end: new Date(to * 1000),
  tags,
  comments,
  createdAt,
})

/** Outages, for site admins. */
export const outageGroup = defineGroup({
  needs: { clock: ClockPort, outages: OutageStorePort, unitOfWork: OutageUnitOfWorkPort },
  routes: (given) => [
    handle(recordOutage, makeRecordOutage(given), {
      input: ({ body: { clusterID, tags = [], comments = '', ...body } }) => ({
        ...body,
        clusterUid: clusterID,
        tags,
        comments,
      }),
      reply: toOutage,
    }),
    handle(getOutageReport, makeReportOutages(given.outages), {
      input: ({ query }) => ({
        start: query.start,
        accountId: query.account_id,
        clusterUid: query.cluster_id,
        tags: query.tags,
      }),
      reply: ({ topTags, topAccounts, topClusters, entries, ...report }) => ({
        report: {
          ...report,
          topTagsPercentage: topTags,
          topAccountsDuration: topAccounts,
          topClustersDuration: topClusters,
        },
        entries: entries.map(toOutage),
      }),
    }),
    handle(listOutageTags, makeListOutageTags(given.outages)),
  ],
})
