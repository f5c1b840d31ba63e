import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { Principal, SignedInCall } from '../kernel/principal.ts'
import type { Clock } from '../kernel/clock.ts'
import { InvitationForAnother, InvitationGone } from './failures.ts'
import type { Invitation, InvitationStore, InvitationTokens } from './invitation-ports.ts'
import type { OrganizationStore } from './ports.ts'
import type { Organization } from './types.ts'

/** One answer for all ways in which an invitation can be gone, an invented token included. */
export const invitationGone = (): Failure<'InvitationGone'> =>
  InvitationGone('This invitation is not valid: it has expired, was withdrawn or used. Ask for a new one.')

/** A token that is confined to one organization, or to public objects, makes its holder a member of no other. */
const reaches = ({ onlyOrgId, scopes }: Principal, invitation: Invitation): boolean =>
  !scopes.publicOnly && (onlyOrgId === undefined || onlyOrgId === invitation.orgId)

/**
 * The invitation that a token stands for, if it is the caller's: the caller has confirmed its address.
 * Failures: InvitationGone, InvitationForAnother.
 */
export const findOwnInvitation = async (
  deps: { readonly invitations: InvitationStore; readonly invitationTokens: Pick<InvitationTokens, 'digest'>; readonly clock: Clock },
  { principal }: SignedInCall,
  token: string,
): Outcome<Failure<'InvitationGone' | 'InvitationForAnother'>, { readonly invitation: Invitation; readonly hash: Uint8Array }> => {
  const hash = deps.invitationTokens.digest(token)
  const invitation = await deps.invitations.findByHash(hash)
  if (invitation === undefined || invitation.expiresAt.getTime() <= deps.clock.now().getTime() || !reaches(principal, invitation)) {
    return left(invitationGone())
  }
  return (await deps.invitations.holdsAddress(principal.userId, invitation.address.key))
    ? right({ invitation, hash })
    : left(InvitationForAnother('This invitation was sent to an address that your account has not confirmed. Sign in with the account that has it, or add and confirm it.'))
}

export interface ShownInvitation {
  readonly invitation: Invitation
  readonly organization: Organization
}

/** What the invited person is about to accept. */
export const makeShowInvitation =
  (deps: {
    readonly invitations: InvitationStore
    readonly invitationTokens: InvitationTokens
    readonly organizations: OrganizationStore
    readonly clock: Clock
  }) =>
  async (call: SignedInCall, token: string): Outcome<Failure<'InvitationGone' | 'InvitationForAnother'>, ShownInvitation> => {
    const found = await findOwnInvitation(deps, call, token)
    if (isLeft(found)) return found
    const { invitation } = found.right
    const organization = await deps.organizations.findById(invitation.orgId)
    return organization === undefined ? left(invitationGone()) : right({ invitation, organization })
  }
