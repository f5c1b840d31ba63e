import { IdentitySettingsPort } from '../../core/identity/ports.ts'
import { ClockPort } from '../../core/kernel/clock.ts'
import { EntropyPort } from '../../core/kernel/secret.ts'
import { makeOwnCall } from '../../core/kernel/principal.ts'
import { InvitationStorePort } from '../../core/organizations/invitations/ports.ts'
import { makeNotifySecondFactor } from '../../core/organizations/organizations/policies.ts'
import { OrganizationUnitOfWorkPort } from '../../core/organizations/ports.ts'
import { defineGroup } from '../kit/group.ts'

const batch = 500

/** Removes expired invitations. */
export const removeExpiredInvitations = defineGroup({
  needs: { invitations: InvitationStorePort, clock: ClockPort },
  jobs: ({ invitations, clock }) => [
    {
      id: 'organizations.removeExpiredInvitations',
      summary: 'Remove invitations that have expired',
      everySeconds: 3600,
      run: async (signal) => {
        while (!signal.aborted && (await invitations.removeExpired(clock.now(), batch)) === batch);
      },
    },
  ],
})

const id = 'organizations.notifySecondFactor'

/**
 * Mails members that their organization requires a second factor: soon after it is enabled, and near the end of the
 * grace period.
 */
export const notifySecondFactor = defineGroup({
  needs: {
    unitOfWork: OrganizationUnitOfWorkPort,
    identitySettings: IdentitySettingsPort,
    clock: ClockPort,
    entropy: EntropyPort,
  },
  jobs: (given) => {
    const ownCall = makeOwnCall(given.entropy)
    const tell = makeNotifySecondFactor({ ...given, baseUrl: () => given.identitySettings.baseUrl() })
    return [
      {
        id,
        summary: 'Notify members without a second factor by mail if their organization requires one',
        everySeconds: 300,
        run: async (signal) => {
          const call = ownCall(id, signal)
          while (!signal.aborted && (await tell(call)) > 0);
        },
      },
    ]
  },
})
