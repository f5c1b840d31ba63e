import type { Job } from '../kit/job.ts'
import type { OrganizationGiven } from './needs.ts'

const batch = 500

/** Removes invitations that nobody answered in time. */
export const removeExpiredInvitations = ({ invitations, clock }: Pick<OrganizationGiven, 'invitations' | 'clock'>): Job => ({
  id: 'organizations.removeExpiredInvitations',
  summary: 'Remove invitations that have expired',
  everySeconds: 3600,
  run: async (signal) => {
    while (!signal.aborted && (await invitations.removeExpired(clock.now(), batch)) === batch);
  },
})
