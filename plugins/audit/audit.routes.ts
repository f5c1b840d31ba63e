import { path, read, requires, siteAdmin } from '../kit/access.ts'
import { PathName, request } from '../kit/codecs.ts'
import { list } from '../kit/reply.ts'
import { defineRoute } from '../kit/route.ts'
import { AuditEventResponse, AuditQuery } from './codecs.ts'

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

export const listOrganizationAudit = defineRoute({
  id: 'audit.listOrganizationEvents',
  method: 'GET',
  path: '/orgs/{orgname}/audit',
  summary: 'List what was changed in an organization, newest first',
  tag: 'Identity - Organizations & Teams',
  access: requires('can_view_audit', { type: 'organization', name: path('orgname') }),
  scope: read('organization'),
  params: request({ orgname: PathName }, 'AuditOrganizationPath'),
  query: AuditQuery,
  ok: list(AuditEventResponse, example),
  failures: [],
})

export const listSiteAudit = defineRoute({
  id: 'audit.listEvents',
  method: 'GET',
  path: '/admin/audit',
  summary: 'List every change and every refusal, newest first',
  tag: 'Administration',
  access: siteAdmin,
  scope: read('admin'),
  query: AuditQuery,
  ok: list(AuditEventResponse, example),
  failures: [],
})
