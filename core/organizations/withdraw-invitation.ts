import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import { InvitationMissing } from './failures.ts'
import type { InvitationId } from './invitation-ports.ts'
import type { OrganizationStores } from './ports.ts'

/** Takes an invitation back; its link is worth nothing then. */
export const makeWithdrawInvitation =
  (deps: { readonly uow: UnitOfWork<OrganizationStores> }) =>
  async (call: SignedInCall, orgId: OrgId, id: InvitationId): Outcome<Failure<'InvitationMissing'>, void> =>
    deps.uow.run<Failure<'InvitationMissing'>, void>(call, async ({ invitations, audit }) => {
      const found = await invitations.find(orgId, id)
      if (found === undefined || !(await invitations.remove(orgId, id))) {
        return left(InvitationMissing('The organization has no such invitation.'))
      }
      await audit.record({
        action: 'organization.invitation_withdrawn',
        objectType: 'organization',
        objectId: orgId,
        tenantId: orgId,
        changes: { invitation: id, email: found.address.text },
      })
      return right(undefined)
    })
