import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { enterRole } from './enter-role.ts'
import { AlreadyMember } from './failures.ts'
import { findOwnInvitation, invitationGone } from './find-invitation.ts'
import type { HeldOrganization } from './in-organization.ts'
import type { TeamChangeDeps } from './in-team.ts'
import type { Invitation, InvitationTokens } from './invitation-ports.ts'
import { mayInvite } from './invitation-rules.ts'
import type { OrganizationStores, PermissionLevels } from './ports.ts'
import { rightsOf } from './rights.ts'
import type { Rights } from './rights.ts'
import type { Organization, Team } from './types.ts'

type Refusal = Failure<'InvitationGone' | 'InvitationForAnother' | 'AlreadyMember' | 'TeamNameTaken'>

/**
 * Makes the caller a member as the invitation says: once, and only while its maker could still give as much.
 * The organization is held meanwhile, so that leaving owners and changed teams are seen or wait.
 */
export const makeAcceptInvitation =
  (deps: TeamChangeDeps & { readonly clock: Clock; readonly invitationTokens: InvitationTokens }) =>
  (call: SignedInCall, token: string): Outcome<Refusal, void> =>
    deps.uow.run<Refusal, void>(call, async (stores) => {
      const found = await findOwnInvitation({ ...deps, invitations: stores.invitations }, call, token)
      if (isLeft(found)) return found
      const { invitation, hash } = found.right
      const { orgId } = invitation
      const organization = (await stores.organizations.lock(orgId)) ? await stores.organizations.findById(orgId) : undefined
      const now = deps.clock.now()
      if (organization === undefined || !(await stores.invitations.take(hash, now))) return left(invitationGone())
      const { userId } = call.principal
      if ((await stores.memberships.find(orgId, userId)) !== undefined) {
        return left(AlreadyMember('You are a member of this organization already.'))
      }
      const entered = await enter(stores, deps.catalogue, organization, invitation, userId, now)
      if (isLeft(entered)) return entered
      await stores.audit.record({
        action: 'organization.invitation_accepted',
        objectType: 'organization',
        objectId: orgId,
        objectName: organization.name,
        tenantId: orgId,
        changes: { invitation: invitation.id, user: userId, inviter: invitation.inviterId, role: invitation.role, teams: invitation.teamIds },
      })
      return right(undefined)
    })

/** What the inviter holds now; undefined when the inviter may do nothing any more. */
const rightsOfInviter = async (
  stores: OrganizationStores,
  catalogue: PermissionLevels,
  { inviterId, orgId }: Invitation,
): Promise<Rights | undefined> => {
  const inviter = await stores.invitations.inviter(inviterId)
  if (inviter?.isActive !== true) return undefined
  return rightsOf(inviter.isSiteAdmin, await stores.memberships.standing(orgId, inviterId), catalogue)
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
  if (rights === undefined) return left(invitationGone())
  const held: HeldOrganization = { stores, organization, rights }
  const teams: Team[] = []
  for (const id of invitation.teamIds) {
    const team = await stores.teams.findById(id)
    if (team?.orgId === organization.id) teams.push(team)
  }
  if (isLeft(await mayInvite(held, rights, invitation.role, teams))) return left(invitationGone())
  await stores.memberships.add(organization.id, userId, at)
  for (const team of teams) await stores.teams.addMember(team, userId, at)
  const entered = await enterRole(held, teams, userId, invitation.role, at)
  if (!isLeft(entered)) return right(undefined)
  const { left: refused } = entered
  return refused.tag === 'TeamNameTaken' ? left({ ...refused, tag: refused.tag }) : left(invitationGone())
}
