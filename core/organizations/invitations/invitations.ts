import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Allowances } from '../../identity/authentication/ports.ts'
import type { Clock } from '../../kernel/clock.ts'
import { laterByDays } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId, TeamId } from '../../kernel/ids.ts'
import type { Mail } from '../../kernel/mail.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import type { Rights } from '../../kernel/rights.ts'
import type { Secret } from '../../kernel/secret.ts'
import { secret } from '../../kernel/secret.ts'
import type { UnitOfWork } from '../../kernel/unit-of-work.ts'
import { auditOfOrganization } from '../audit.ts'
import { AlreadyMember, InvitationMissing, InvitationRefused, TooManyInvitations } from '../failures.ts'
import { levelOfRole, levelOfTeam, mayGive, mustHold } from '../members/rights.ts'
import type { OrganizationStores } from '../ports.ts'
import type { LockedOrganization, TeamChangeDeps } from '../teams/team-rules.ts'
import { withLockedOrganization, permissionsOfTeam } from '../teams/team-rules.ts'
import type { MembershipRole, Organization, Team } from '../types.ts'
import type { AddressReader, Invitation, InvitationId, InvitationTokens, InvitedAddress } from './ports.ts'

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
export const mayInvite = async (
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
  const byRole = mayGive(rights, levelOfRole(role), ofRole === undefined ? [] : await permissionsOfTeam(stores.teams, ofRole))
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

type InviteMemberFailure = Failure<'InvitationRefused' | 'AlreadyMember' | 'BeyondOwnRights' | 'OrganizationMissing' | 'TooManyInvitations'>

/**
 * Invites the user of an e-mail address. The response, and the work, are the same whether an account has that address
 * or not. The exception is a member who shows the address to the other members (AlreadyMember).
 */
export const makeInviteMember =
  (deps: InviteMemberDeps) =>
  async (call: SignedInCall<Invitation>, { orgId: id, ...input }: InviteMemberInput): Outcome<InviteMemberFailure, Invitation> => {
    const address = deps.addresses.read(input.email)
    if (address === undefined) return left(InvitationRefused('email: must be an e-mail address.'))
    const teamIds = [...new Set(input.teamIds)].sort((a, b) => a - b)
    if (teamIds.length > maxTeamsOfInvitation) return left(InvitationRefused(`An invitation names at most ${maxTeamsOfInvitation} teams.`))
    const allowed = await mayMail(deps.allowances, call, id, address)
    if (isLeft(allowed)) return allowed
    return withLockedOrganization<InviteMemberFailure, Invitation>(deps, call, id, async (held) => {
      const { stores, organization, rights } = held
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
      const invitationId = await stores.invitations.put({ ...facts, hash: deps.invitationTokens.digest(token.reveal()) })
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
    return left(InvitationRefused(`The organization has ${maxPendingInvitations} pending invitations. Withdraw some first.`))
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
    `${inviter} invites you to become ${role === 'member' ? 'a member' : `an ${role}`} of the organization ${organization.name}.`,
    `Sign in with an account that has this address confirmed, then accept. The link works once, until ${expiresAt.toISOString()}.`,
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
      await audit.record(auditOfOrganization({ id: orgId }, 'organization.invitation_withdrawn', { invitation: id, email: found.address.text }))
      return right(undefined)
    })
