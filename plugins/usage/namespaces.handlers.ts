import { ClockToken } from '../../core/kernel/clock.ts'
import { DatabaseInventoryToken } from '../../core/usage/views/namespace-ports.ts'
import { makeReportNamespace, makeReportNamespaces } from '../../core/usage/views/namespace-reports.ts'
import { defineGroup } from '../kit/group.ts'
import { handle } from '../kit/handle.ts'
import { reportNamespace, reportNamespaces } from './namespaces.routes.ts'

/** The reports for the bills of the users of databases. */
export const namespaceReportGroup = defineGroup({
  needs: { clock: ClockToken, inventory: DatabaseInventoryToken },
  routes: (given) => [
    handle(reportNamespaces, makeReportNamespaces(given), {
      input: ({ grant }) => ({ ownerId: grant.ownerId }),
      // It is read for each request, so each answer has another tag.
      reply: ({ generatedAt, json }) => ({ lastModified: generatedAt, representations: [{ contentType: 'application/json; charset=utf-8', tag: `at-${generatedAt.getTime()}`, pieces: json }] }),
    }),
    handle(reportNamespace, makeReportNamespace(given), {
      input: ({ grant, params }) => ({ ownerId: grant.ownerId, clusterUid: params.clusterID.toLowerCase(), namespace: params.namespaceName }),
    }),
  ],
})
