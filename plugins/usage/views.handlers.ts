import type { AccessGrant } from '../../core/kernel/access.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { definedFields } from '../../core/kernel/json.ts'
import { monthKey, monthText } from '../../core/usage/month.ts'
import type { UsageMonth } from '../../core/usage/types.ts'
import { makeFindReport } from '../../core/usage/reports/month-report.ts'
import { UsageReportStorePort } from '../../core/usage/reports/ports.ts'
import { DatabaseInventoryPort, UsageViewStorePort } from '../../core/usage/views/ports.ts'
import { makeReportNamespace, makeReportNamespaces } from '../../core/usage/views/namespace-reports.ts'
import type { UsageViewAnswer } from '../../core/usage/views/views.ts'
import { makeReadObject, makeReadObjectHistory, makeReadView } from '../../core/usage/views/views.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import type { Representation, Streamed } from '../kit/reply.ts'
import { attachment } from '../kit/reply.ts'
import type { ViewQuery } from './view-codecs.ts'
import {
  downloadReport,
  getObjectHistory,
  objectRoutes,
  reportNamespace,
  reportNamespaces,
  viewRoutes,
} from './views.routes.ts'

/** An empty value of a filter is the same as none: clients send empty fields of forms. */
const filterOf = ({ group, kind, clusterUID, namespace, namespaceUID, contractID }: ViewQuery) => {
  const given = (text: string | undefined) => (text === '' ? undefined : text)
  return definedFields({
    group: given(group),
    kind: given(kind),
    clusterUID: given(clusterUID)?.toLowerCase(),
    namespace: given(namespace),
    namespaceUID: given(namespaceUID)?.toLowerCase(),
    contractID,
  })
}

interface ViewRequest {
  readonly grant: AccessGrant
  readonly query: ViewQuery
}

/**
 * A provisional revision that is computed again from equal events, by another version of the code or after a wrong
 * clock, has another tag too.
 */
const tagOf = ({ revision, status, inputHash, generatedAt }: UsageMonth): string =>
  `${revision}-${status}-${inputHash.slice(0, 22)}-${generatedAt.getTime().toString(36)}`

/** The name of a file has the account, month, revision and status: a vendor keeps the files of many. */
const fileName = ({ objectName }: AccessGrant, { month, revision, status }: UsageMonth, rest: string): string =>
  `usage-${objectName}-${monthText(month)}-r${revision}-${status}${rest}`

/** Returns both forms of a view, or the one that `format` names. */
const streamedView = (
  { month, name, json, plainJson, csv }: UsageViewAnswer,
  { grant, query: { format } }: ViewRequest,
): Streamed => {
  const tag = tagOf(month)
  const asJson: Representation = {
    contentType: 'application/json; charset=utf-8',
    tag,
    pieces: plainJson,
    packedPieces: json,
  }
  const asCsv: Representation = {
    contentType: 'text/csv; charset=utf-8; header=present',
    tag: `${tag}-csv`,
    headers: { 'Content-Disposition': attachment(fileName(grant, month, `-${name}.csv`)) },
    pieces: csv,
  }
  const lastModified = month.generatedAt
  if (format === undefined) return { lastModified, representations: [asJson, asCsv] }
  return { lastModified, representations: [format === 'csv' ? asCsv : asJson] }
}

/** The views of generated months. */
export const viewGroup = defineGroup({
  needs: { views: UsageViewStorePort },
  routes: (given) => {
    const readView = makeReadView(given)
    const readObject = makeReadObject(given)
    return [
      handle(getObjectHistory, makeReadObjectHistory(given), {
        input: ({ grant, params }) => ({
          ownerId: grant.ownerId,
          clusterUid: params.clusterUID.toLowerCase(),
          objectUid: params.objectID.toLowerCase(),
        }),
        reply: ({ object, months, segments }) => ({ ...object, months, segments }),
      }),
      ...viewRoutes.map(({ route, product, view }) =>
        handle(route, readView, {
          input: ({ grant, params, query }) => ({
            ownerId: grant.ownerId,
            account: grant.objectName,
            month: monthKey(params.year, params.month),
            key: { product, view, viewType: query.view_type ?? 'total' },
            revision: query.revision,
            filter: filterOf(query),
          }),
          reply: streamedView,
        }),
      ),
      ...objectRoutes.map(({ route, product, view }) =>
        handle(route, readObject, {
          input: ({ grant, params, query }) => ({
            ownerId: grant.ownerId,
            account: grant.objectName,
            month: monthKey(params.year, params.month),
            key: { product, view, viewType: 'total' },
            revision: query.revision,
            clusterUid: params.clusterUID.toLowerCase(),
            objectUid: params.objectID.toLowerCase(),
          }),
          reply: streamedView,
        }),
      ),
    ]
  },
})

/** The reports for the bills of the users of databases. */
export const namespaceReportGroup = defineGroup({
  needs: { clock: ClockPort, inventory: DatabaseInventoryPort },
  routes: (given) => [
    handle(reportNamespaces, makeReportNamespaces(given), {
      input: ({ grant }) => ({ ownerId: grant.ownerId }),
      // It is read for each request, so each answer has another tag.
      reply: ({ generatedAt, json }) => ({
        lastModified: generatedAt,
        representations: [
          { contentType: 'application/json; charset=utf-8', tag: `at-${generatedAt.getTime()}`, pieces: json },
        ],
      }),
    }),
    handle(reportNamespace, makeReportNamespace(given), {
      input: ({ grant, params }) => ({
        ownerId: grant.ownerId,
        clusterUid: params.clusterID.toLowerCase(),
        namespace: params.namespaceName,
      }),
    }),
  ],
})

/** The reports of months as documents. */
export const reportGroup = defineGroup({
  needs: { reports: UsageReportStorePort },
  routes: (given) => [
    handle(downloadReport, makeFindReport(given), {
      input: ({ grant, params, query }) => ({
        ownerId: grant.ownerId,
        month: monthKey(params.year, params.month),
        revision: query.revision,
      }),
      reply: (report, { grant }) => ({
        lastModified: report.month.generatedAt,
        representations: [
          {
            contentType: 'application/pdf',
            tag: `${tagOf(report.month)}-pdf`,
            headers: {
              'Content-Disposition': attachment(fileName(grant, report.month, '.pdf')),
              'Content-Length': String(report.size),
            },
            pieces: () => given.reports.pieces(report),
          },
        ],
      }),
    }),
  ],
})
