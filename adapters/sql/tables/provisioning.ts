import type { OrgId, TeamId, UserId } from '../../../core/kernel/ids.ts'
import type { FreeObject } from '../../../core/kernel/json.ts'
import { id, instant, json, long, nullable, table, text, withDefault } from '../kit/columns.ts'

export const provisionedUsers = table('provisioned_users', {
  userId: id<UserId>(),
  orgId: id<OrgId>(),
  userName: text(254),
  lowerUserName: text(254),
  externalId: nullable(text(255)),
  lowerDisplayName: text(100),
  attributes: json<FreeObject>(),
  createdAt: instant(),
  updatedAt: instant(),
  version: withDefault(long()),
})

export const provisionedEmails = table('provisioned_emails', {
  userId: id<UserId>(),
  orgId: id<OrgId>(),
  lowerEmail: text(254),
})

export const provisionedGroups = table('provisioned_groups', {
  teamId: id<TeamId>(),
  orgId: id<OrgId>(),
  displayName: text(255),
  lowerDisplayName: text(255),
  externalId: nullable(text(255)),
  createdAt: instant(),
  updatedAt: instant(),
  version: withDefault(long()),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    provisioning: typeof import('./provisioning.ts')
  }
}
