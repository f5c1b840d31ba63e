import { path, requires, signedIn, siteAdmin } from '../kit/access.ts'
import { OrgPathName, request } from '../kit/codecs.ts'
import { keyed, list, packed, text } from '../kit/reply.ts'
import { routesOf } from '../kit/route.ts'
import { AuditEventResponse, AuditExportQuery, AuditQuery } from './codecs.ts'
import { toWireJson } from '../../core/kernel/json.ts'

const organizationRoute = routesOf({
  tag: 'Identity - Organizations & Teams',
  access: requires('can_view_audit', { type: 'organization', name: path('orgname') }),
  scopeCategory: 'organization',
  params: request({ orgname: OrgPathName }, 'AuditOrganizationPath'),
})
const siteRoute = routesOf({ tag: 'Administration', access: siteAdmin, scopeCategory: 'admin' })
const ownRoute = routesOf({ tag: 'Identity - Users & Settings', access: signedIn, scopeCategory: 'user' })

const example = {
  id: 9001,
  time: '2026-05-01T08:00:00.000Z',
  action: 'role.created',
  result: 'done',
  actor_id: 5,
  actor: 'ada',
  method: 'token',
  token_id: 77,
  source_ip: '192.0.2.7',
  request_id: '0b5c3a52f1d24d6a',
  operation: 'authz.createRole',
  object_type: 'role',
  object_id: 12,
  object_name: 'cluster viewers',
  owner_id: 7,
  changes: { permissions: ['cluster_mgmt/view clusters'] },
}

const filtersText =
  'Filters are combined: an event must match all of them. With `since`, or with both `action` and `actor`, a page ' +
  'examines 10,000 events at most: it may have fewer events than `limit`, or none, while `Link` has a next page. ' +
  '`page` reaches the first 10,000 events; `Link` leads further.'

export const listOrganizationAudit = organizationRoute({
  id: 'audit.listOrganizationEvents',
  method: 'GET',
  path: '/orgs/{orgname}/audit',
  summary: 'List the changes in an organization, newest first',
  description: 'Needs the right to view the audit log of the organization. ' + filtersText,
  query: AuditQuery,
  ok: packed(keyed(list(AuditEventResponse, example))),
})

export const listSiteAudit = siteRoute({
  id: 'audit.listEvents',
  method: 'GET',
  path: '/admin/audit',
  summary: 'List all changes and refusals, newest first',
  description: 'Only site admins. ' + filtersText,
  query: AuditQuery,
  ok: packed(keyed(list(AuditEventResponse, example))),
})

export const listOwnAudit = ownRoute({
  id: 'audit.listOwnEvents',
  method: 'GET',
  path: '/user/audit',
  summary: "List the events of the caller's own account, newest first",
  description:
    'Sign-ins and failed sign-ins, locks, tokens, sessions, changes of the password and the second factor. ' +
    filtersText,
  query: AuditQuery,
  ok: packed(keyed(list(AuditEventResponse, example))),
})

const exportDescription =
  'One JSON object per line, oldest first, at most 1,000. To follow the log, repeat the request with ' +
  '`after` set to the id of the last line. An empty response means that there are no new rows, or that ' +
  'they wait for a change with a lower id that is not committed yet, for at most a minute.'
const lines = text('application/x-ndjson', `${toWireJson(example)}\n`)

export const exportOrganizationAudit = organizationRoute({
  id: 'audit.exportOrganizationEvents',
  method: 'GET',
  path: '/orgs/{orgname}/audit/export',
  summary: 'Export the audit log of an organization',
  description: exportDescription,
  query: AuditExportQuery,
  ok: lines,
})

export const exportSiteAudit = siteRoute({
  id: 'audit.exportEvents',
  method: 'GET',
  path: '/admin/audit/export',
  summary: 'Export the audit log of the whole site',
  description: exportDescription,
  query: AuditExportQuery,
  ok: lines,
})
