import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Allowances } from '../../identity/attempt-ports.ts'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId, TeamId, UserId } from '../../kernel/ids.ts'
import type { Mail } from '../../mail/ports.ts'
import type { Principal, SignedInCall } from '../../kernel/principal.ts'
import type { PermissionLevels, Rights } from '../../kernel/rights.ts'
import { noRights, rightsOf } from '../../kernel/rights.ts'
import type { Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfOrganization } from '../audit.ts'
import {
  AlreadyMember,
  InvitationForAnother,
  InvitationGone,
  InvitationMissing,
  InvitationRefused,
  TooManyInvitations,
} from '../failures.ts'
import { levelOfRole, levelOfTeam, mayGive, mustBeProven, mustHold } from '../member-rules.ts'
import { addToRole } from '../members/memberships.ts'
import type { OrganizationStore, OrganizationStores } from '../ports.ts'
import type { LockedOrganization, TeamChangeDeps } from '../team-rules.ts'
import { permissionsOfTeam, withLockedOrganization } from '../team-rules.ts'
import type { MembershipRole, Organization, Team } from '../types.ts'
import type {
  AddressReader,
  Invitation,
  InvitationId,
  InvitationStore,
  InvitationTokens,
  InvitedAddress,
} from './ports.ts'

const invitationDays = 7
const maxPendingInvitations = 100
const maxTeamsOfInvitation = 50

/** Reads teams by id. Refuses any team of another organization. */
const readTeams = async (
  { stores, organization }: Pick<LockedOrganization, 'stores' | 'organization'>,
  teamIds: readonly TeamId[],
): Outcome<Failure<'InvitationRefused'>, readonly Team[]> => {
  const teams: Team[] = []
  for (const id of teamIds) {
    const team = await stores.teams.findById(id)
    if (team?.orgId !== organization.id) return left(InvitationRefused(`The organization has no team ${id}.`))
    teams.push(team)
  }
  return right(teams)
}

/**
 * Checks whether a user with these rights may give another user this role and these teams. It is checked when an
 * invitation is created and, with the inviter's rights at that time, again when it is accepted.
 */
const mayInvite = async (
  { stores, organization }: Pick<LockedOrganization, 'stores' | 'organization'>,
  rights: Rights,
  role: MembershipRole,
  teams: readonly Team[],
): Outcome<Failure<'BeyondOwnRights'>, void> => {
  const isAllowed = mustHold(rights, 'add members')
  if (isLeft(isAllowed)) return isAllowed
  if (teams.length > 0) {
    const mayAdd = mustHold(rights, 'add team members')
    if (isLeft(mayAdd)) return mayAdd
  }
  const ofRole = await stores.teams.findByPermission(organization.id, levelOfRole(role))
  const byRole = mayGive(
    rights,
    levelOfRole(role),
    ofRole === undefined ? [] : await permissionsOfTeam(stores.teams, ofRole),
  )
  if (isLeft(byRole)) return byRole
  for (const team of teams) {
    const given = mayGive(rights, levelOfTeam(team.permission), await permissionsOfTeam(stores.teams, team))
    if (isLeft(given)) return given
  }
  return right(undefined)
}

export interface InviteMemberDeps extends TeamChangeDeps {
  readonly clock: Clock
  readonly addresses: AddressReader
  readonly invitationTokens: InvitationTokens
  readonly allowances: Allowances
  /** Returns `{base_url}`; called at each use. */
  readonly baseUrl: () => string
}

export interface InviteMemberInput {
  readonly orgId: OrgId
  readonly email: string
  readonly role: MembershipRole
  readonly teamIds: readonly TeamId[]
}

type InviteMemberFailure = Failure<
  | 'NotAuthenticated'
  | 'InvitationRefused'
  | 'AlreadyMember'
  | 'BeyondOwnRights'
  | 'OrganizationMissing'
  | 'TooManyInvitations'
>

/**
 * Invites the user of an e-mail address. The response, and the work, are the same whether an account has that address
 * or not. The exception is a member who shows the address to the other members (AlreadyMember).
 */
export const makeInviteMember =
  (deps: InviteMemberDeps) =>
  async (
    call: SignedInCall<Invitation>,
    { orgId: id, ...input }: InviteMemberInput,
  ): Outcome<InviteMemberFailure, Invitation> => {
    const read = deps.addresses.read(input.email)
    if (isLeft(read)) return left(InvitationRefused(read.left))
    const address = read.right
    const teamIds = [...new Set(input.teamIds)].sort((a, b) => a - b)
    if (teamIds.length > maxTeamsOfInvitation)
      return left(InvitationRefused(`An invitation names at most ${maxTeamsOfInvitation} teams.`))
    const allowed = await mayMail(deps.allowances, call, id, address)
    if (isLeft(allowed)) return allowed
    return withLockedOrganization<InviteMemberFailure, Invitation>(deps, call, id, async (held) => {
      const { stores, organization, rights } = held
      const proven = await mustBeProven(stores, call.principal)
      if (isLeft(proven)) return proven
      const teams = await readTeams(held, teamIds)
      if (isLeft(teams)) return teams
      const isAllowed = await mayInvite(held, rights, input.role, teams.right)
      if (isLeft(isAllowed)) return isAllowed
      const createdAt = deps.clock.now()
      const room = await hasRoom(held, call, address, createdAt)
      if (isLeft(room)) return room
      const token = deps.invitationTokens.make()
      const facts = {
        orgId: id,
        address,
        role: input.role,
        teamIds,
        inviterId: call.principal.userId,
        createdAt,
        expiresAt: laterByDays(createdAt, invitationDays),
      }
      const invitationId = await stores.invitations.put({
        ...facts,
        hash: deps.invitationTokens.digest(token.reveal()),
      })
      await stores.mail.post(invitationMail(organization, call.principal.login, facts, linkTo(deps.baseUrl(), token)))
      const shown = { invitation: invitationId, email: address.text, role: input.role, teams: teamIds }
      await stores.audit.record(auditOfOrganization(organization, 'organization.member_invited', shown))
      return right({ id: invitationId, inviterLogin: call.principal.login, ...facts })
    })
  }

/** Limits invitations: each is mail to an address that another user chose. */
const mayMail = async (
  allowances: Allowances,
  { principal }: SignedInCall<never>,
  orgId: OrgId,
  { key }: InvitedAddress,
): Outcome<Failure<'TooManyInvitations'>, void> => {
  const wait =
    (await allowances.take('invitation', String(principal.impersonator?.userId ?? principal.userId))) ??
    (await allowances.take('invitation-address', `${orgId} ${key}`)) ??
    // Organizations are free to create: without this limit, forty of them could send two hundred mails a day to one
    // person.
    (await allowances.take('invitation-mailbox', key))
  return wait === undefined
    ? right(undefined)
    : left(TooManyInvitations('Too many invitations were sent today. Try again later.', { retryAfterSeconds: wait }))
}

const hasRoom = async (
  { stores, organization }: LockedOrganization,
  call: SignedInCall<never>,
  { key }: InvitedAddress,
  now: Date,
): Outcome<Failure<'AlreadyMember' | 'InvitationRefused'>, void> => {
  const member = await stores.invitations.memberWithAddress(organization.id, key)
  const count = await stores.invitations.countPending(organization.id, key, now)
  if (count >= maxPendingInvitations) {
    return left(
      InvitationRefused(`The organization has ${maxPendingInvitations} pending invitations. Withdraw some first.`),
    )
  }
  const isTold = member !== undefined && (member.showsAddress || call.principal.isSiteAdmin)
  return isTold ? left(AlreadyMember('A member of the organization has this address.')) : right(undefined)
}

const linkTo = (baseUrl: string, token: Secret): Secret => secret(`${baseUrl}/accept-invitation?code=${token.reveal()}`)

const invitationMail = (
  organization: Organization,
  inviter: string,
  { address, role, expiresAt }: Pick<Invitation, 'address' | 'role' | 'expiresAt'>,
  url: Secret,
): Mail => ({
  to: address.text,
  subject: `Invitation to the organization ${organization.name}`,
  paragraphs: [
    `${inviter} invites you to become ${role === 'member' ? 'a member' : `an ${role}`} of the organization ` +
      `${organization.name}.`,
    'Sign in with an account that has this address confirmed, then accept. The link works once, until ' +
      `${expiresAt.toISOString()}.`,
    'If you did not expect this, do nothing: without you nothing happens.',
  ],
  action: { label: 'Accept the invitation', url },
})

/** Withdraws an invitation; its link becomes invalid. */
export const makeWithdrawInvitation =
  (deps: { readonly unitOfWork: UnitOfWork<OrganizationStores> }) =>
  async (
    call: SignedInCall,
    { orgId, id }: { readonly orgId: OrgId; readonly id: InvitationId },
  ): Outcome<Failure<'InvitationMissing'>, void> =>
    deps.unitOfWork.run<Failure<'InvitationMissing'>, void>(call, async ({ invitations, audit }) => {
      const found = await invitations.find(orgId, id)
      if (found === undefined || !(await invitations.remove(orgId, id))) {
        return left(InvitationMissing('The invitation does not exist in the organization.'))
      }
      await audit.record(
        auditOfOrganization({ id: orgId }, 'organization.invitation_withdrawn', {
          invitation: id,
          email: found.address.text,
        }),
      )
      return right(undefined)
    })

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
  deps: {
    readonly invitations: InvitationStore
    readonly invitationTokens: Pick<InvitationTokens, 'digest'>
    readonly clock: Clock
  },
  { principal }: SignedInCall,
  token: string,
): Outcome<
  Failure<'InvitationGone' | 'InvitationForAnother'>,
  { readonly invitation: Invitation; readonly hash: Uint8Array }
> => {
  const hash = deps.invitationTokens.digest(token)
  const invitation = await deps.invitations.findByHash(hash)
  if (
    invitation === undefined ||
    invitation.expiresAt.getTime() <= deps.clock.now().getTime() ||
    !reaches(principal, invitation)
  ) {
    return left(invitationGone())
  }
  return (await deps.invitations.holdsAddress(principal.userId, invitation.address.key))
    ? right({ invitation, hash })
    : left(
        InvitationForAnother(
          'This invitation was sent to an address that your account has not confirmed. Sign in with the ' +
            'account that has it, or add and confirm it.',
        ),
      )
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
  async (
    call: SignedInCall,
    token: string,
  ): Outcome<Failure<'InvitationGone' | 'InvitationForAnother'>, ShownInvitation> => {
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
      const organization = (await stores.organizations.lock(orgId))
        ? await stores.organizations.findById(orgId)
        : undefined
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
const rightsOfInviter = async (
  stores: OrganizationStores,
  catalogue: PermissionLevels,
  { inviterId, orgId }: Invitation,
): Promise<Rights> => {
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
