import { makeRetireEvents } from '../../core/audit/audit-chain.ts'
import type { RetireEventsDeps } from '../../core/audit/audit-chain.ts'
import type { Job } from '../kit/job.ts'

/** Removes audit events that are older than the retention period that the operator configured. */
export const retireEventsJob = (deps: RetireEventsDeps): Job => ({
  id: 'audit.retireEvents',
  summary: 'Remove audit rows that are older than MOORAGE_AUDIT_RETENTION_DAYS',
  everySeconds: 3600,
  run: makeRetireEvents(deps),
})
