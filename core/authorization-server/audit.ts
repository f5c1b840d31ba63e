import type { UserId } from '../kernel/ids.ts'
import { definedFields } from '../kernel/json.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Application } from './types.ts'

/** The audit rows about an application: in the log of its owner, or of the site. */
export const auditOfApplication = defineAudit(
  'application',
  [
    'application.created',
    'application.changed',
    'application.secret_rotated',
    'application.trusted',
    'application.not_trusted',
    'application.deleted',
  ],
  ({ id, name, orgId, userId }: Pick<Application, 'id' | 'name' | 'orgId' | 'userId'>) => ({
    objectId: id,
    objectName: name,
    ...definedFields({ tenantId: orgId ?? userId }),
  }),
)

/** The audit rows about what a person allows an application, in the log of the person. */
export const auditOfConsent = defineAudit(
  'user',
  [
    'user.application_authorized',
    'user.application_refused',
    'user.application_withdrawn',
    'user.application_grant_revoked',
    'user.signed_out_by_application',
  ],
  ({ id, login }: { readonly id: UserId; readonly login?: string }) => ({
    objectId: id,
    ...definedFields({ objectName: login }),
    tenantId: id,
  }),
)
