import type { UserId } from '../kernel/ids.ts'

/** What every entry of the audit log about a user's own account begins with; it stands in that account's log. */
export const auditedUser = (user: { readonly id: UserId; readonly login: string }) =>
  ({ objectType: 'user', objectId: user.id, objectName: user.login, tenantId: user.id }) as const
