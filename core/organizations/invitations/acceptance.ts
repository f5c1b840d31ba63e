import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import type { Principal, SignedInCall } from '../../kernel/principal.ts'
import type { PermissionLevels, Rights } from '../../kernel/rights.ts'
import { noRights, rightsOf } from '../../kernel/rights.ts'
import { auditOfOrganization } from '../audit.ts'
import { AlreadyMember, InvitationForAnother, InvitationGone } from '../failures.ts'
import { addToRole } from '../members/memberships.ts'
import type { OrganizationStore, OrganizationStores } from '../ports.ts'
import type { LockedOrganization, TeamChangeDeps } from '../teams/team-rules.ts'
import type { Organization, Team } from '../types.ts'
import { mayInvite } from './invitations.ts'
import type { Invitation, InvitationStore, InvitationTokens } from './ports.ts'

/** The one failure for every way in which an invitation can be invalid, including an unknown token. */
const invitationGone = (): Failure<'InvitationGone'> =>
  InvitationGone('This invitation is not valid: it has expired, was withdrawn or used. Ask for a new one.')

/** A token restricted to one organization, or to public objects, cannot make its holder a member of another one. */
const reaches = ({ onlyOrgId, scopes }: Principal, invitation: Invitation): boolean =>
  !scopes.publicOnly && (onlyOrgId === undefined || onlyOrgId === invitation.orgId)

/**
 * Returns the invitation of a token if it is the caller's: the caller must have confirmed its address.
 * Failures: InvitationGone, InvitationForAnother.
 */
const findOwnInvitation = async (
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

/** Shows the invitation to the invited user before it is accepted. */
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

type AcceptInvitationFailure = Failure<'InvitationGone' | 'InvitationForAnother' | 'AlreadyMember' | 'TeamNameTaken'>

/**
 * Makes the caller a member as the invitation says: once, and only while its inviter could still give as much. The
 * organization is locked, so that concurrent changes of owners and teams are seen or wait.
 */
export const makeAcceptInvitation =
  (deps: TeamChangeDeps & { readonly clock: Clock; readonly invitationTokens: InvitationTokens }) =>
  (call: SignedInCall, token: string): Outcome<AcceptInvitationFailure, void> =>
    deps.unitOfWork.run<AcceptInvitationFailure, void>(call, async (stores) => {
      const found = await findOwnInvitation({ ...deps, invitations: stores.invitations }, call, token)
      if (isLeft(found)) return found
      const { invitation, hash } = found.right
      const { orgId } = invitation
      const organization = (await stores.organizations.lock(orgId)) ? await stores.organizations.findById(orgId) : undefined
      const now = deps.clock.now()
      if (organization === undefined || !(await stores.invitations.take(hash, now))) return left(invitationGone())
      const { userId } = call.principal
      if ((await stores.memberships.find(orgId, userId)) !== undefined) {
        return left(AlreadyMember('You are already a member of this organization.'))
      }
      const entered = await enter(stores, deps.catalogue, organization, invitation, userId, now)
      if (isLeft(entered)) return entered
      const { id, inviterId, role, teamIds } = invitation
      const facts = { invitation: id, user: userId, inviter: inviterId, role, teams: teamIds }
      await stores.audit.record(auditOfOrganization(organization, 'organization.invitation_accepted', facts))
      return right(undefined)
    })

/** Returns what the inviter holds now, in an organization that the transaction has locked. */
const rightsOfInviter = async (stores: OrganizationStores, catalogue: PermissionLevels, { inviterId, orgId }: Invitation): Promise<Rights> => {
  const held = await stores.rights.of(orgId, inviterId)
  return held === undefined ? noRights : rightsOf(held.isSiteAdmin, held.context, catalogue)
}

const enter = async (
  stores: OrganizationStores,
  catalogue: PermissionLevels,
  organization: Organization,
  invitation: Invitation,
  userId: UserId,
  at: Date,
): Outcome<Failure<'InvitationGone' | 'TeamNameTaken'>, void> => {
  const rights = await rightsOfInviter(stores, catalogue, invitation)
  const held: LockedOrganization = { stores, organization, rights }
  const teams: Team[] = []
  for (const id of invitation.teamIds) {
    const team = await stores.teams.findById(id)
    if (team?.orgId === organization.id) teams.push(team)
  }
  if (isLeft(await mayInvite(held, rights, invitation.role, teams))) return left(invitationGone())
  await stores.memberships.add(organization.id, userId, at)
  for (const team of teams) await stores.teams.addMember(team, userId, at)
  const entered = await addToRole(held, teams, userId, invitation.role, at)
  if (!isLeft(entered)) return right(undefined)
  const { left: refused } = entered
  return refused.tag === 'TeamNameTaken' ? left({ ...refused, tag: refused.tag }) : left(invitationGone())
}
