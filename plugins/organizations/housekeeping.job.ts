import { makeOwnCall } from '../../core/kernel/principal.ts'
import { makeTellSecondFactor } from '../../core/organizations/organizations/policies.ts'
import type { Job } from '../kit/job.ts'
import type { OrganizationGiven } from './needs.ts'

const batch = 500

/** Removes expired invitations. */
export const removeExpiredInvitations = ({ invitations, clock }: Pick<OrganizationGiven, 'invitations' | 'clock'>): Job => ({
  id: 'organizations.removeExpiredInvitations',
  summary: 'Remove invitations that have expired',
  everySeconds: 3600,
  run: async (signal) => {
    while (!signal.aborted && (await invitations.removeExpired(clock.now(), batch)) === batch);
  },
})

const id = 'organizations.tellSecondFactor'

/** Mails members that their organization requires a second factor: soon after it is enabled, and near the end of the grace period. */
export const tellSecondFactor = (given: OrganizationGiven): Job => {
  const ownCall = makeOwnCall(given.entropy)
  const tell = makeTellSecondFactor({ ...given, baseUrl: () => given.identitySettings.baseUrl() })
  return {
    id,
    summary: 'Notify members without a second factor by mail if their organization requires one',
    everySeconds: 300,
    run: async (signal) => {
      const call = ownCall(id, signal)
      while (!signal.aborted && (await tell(call)) > 0);
    },
  }
}
