import type { AuditEntry } from '../kernel/unit-of-work.ts'
import type { BusUser } from './types.ts'

/** The audit row of a change to credentials of the bus; the public key tells which they are. */
export const busAudit = (action: string, user: Pick<BusUser, 'id' | 'ownerId' | 'purpose' | 'publicKey'>): AuditEntry => ({
  action,
  objectType: 'bus_credentials',
  objectId: user.id,
  objectName: user.publicKey,
  tenantId: user.ownerId,
  changes: { purpose: user.purpose },
})
