import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { FederatedCredential } from './types.ts'

/** The audit rows about a federated credential, in the log of its organization. */
export const auditOfFederatedCredential = defineAudit(
  'federated_credential',
  [
    'federated_credential.created',
    'federated_credential.changed',
    'federated_credential.deleted',
    'federated_credential.token_issued',
  ],
  ({ id, name, orgId }: Pick<FederatedCredential, 'id' | 'name' | 'orgId'>) => ({
    objectId: id,
    objectName: name,
    tenantId: orgId,
  }),
)
