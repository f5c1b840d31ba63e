import type { PushDue } from '../../core/bus/push-due.ts'
import type { Job } from '../kit/job.ts'

/** Gives the server again what it lost. */
export const reconcileClaimsJob = (reconcile: PushDue): Job => ({
  id: 'bus.reconcileClaims',
  summary: 'Give the message bus the claims of accounts that it has lost or never got',
  everySeconds: 60,
  run: reconcile,
})
