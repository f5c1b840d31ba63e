import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../../identity/ports.ts'
import type { User } from '../../identity/types.ts'
import type { Level } from '../../kernel/access.ts'
import { reaches } from '../../kernel/access.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId, UserId } from '../../kernel/ids.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { auditOfOrganization } from '../audit.ts'
import { MemberMissing } from '../failures.ts'
import { TeamNameTaken } from '../ports.ts'
import type { LockedOrganization, TeamChangeDeps } from '../team-rules.ts'
import { defaultTeamType, withLockedOrganization, leaveTeam, permissionsOfTeam } from '../team-rules.ts'
import type { MembershipRole, Organization, Team } from '../types.ts'
import { findNewMember, levelOfRole, levelOfTeam, mayChange, mayGive, mustHold } from '../member-rules.ts'

/**
 * Reports whether the teams match the role. A member needs a team at or below the role's level; admins and owners need
 * one of exactly that level.
 */
const isInRole = (teams: readonly Team[], role: MembershipRole): boolean =>
  role === 'member'
    ? teams.some((team) => !reaches(levelOfTeam(team.permission), 'admin'))
    : teams.some((team) => team.permission === role)

/**
 * Puts a user, who is in these teams, into a team of the role, and so into the organization. Right is true if the user
 * entered a team.
 */
export const addToRole = async (
  held: LockedOrganization,
  teams: readonly Team[],
  userId: UserId,
  role: MembershipRole,
  at: Date,
): Outcome<Failure<'BeyondOwnRights' | 'TeamNameTaken'>, boolean> => {
  if (isInRole(teams, role)) return right(false)
  const { stores, organization, rights } = held
  const team = await teamForRole(held, role, at)
  if (isLeft(team)) return team
  const given = mayGive(rights, levelOfTeam(team.right.permission), await permissionsOfTeam(stores.teams, team.right))
  if (isLeft(given)) return given
  if ((await stores.memberships.find(organization.id, userId)) === undefined) {
    await stores.memberships.add(organization.id, userId, at)
  }
  await stores.teams.addMember(team.right, userId, at)
  return right(true)
}

/** Returns the oldest team of the role's level. If the organization has none, it is created. */
const teamForRole = async (
  { stores, organization }: LockedOrganization,
  role: MembershipRole,
  at: Date,
): Outcome<Failure<'TeamNameTaken'>, Team> => {
  const permission: Level = levelOfRole(role)
  const existing = await stores.teams.findByPermission(organization.id, permission)
  if (existing !== undefined) return right(existing)
  const name = role === 'admin' ? 'Admins' : 'Viewers'
  const inserted = await stores.teams.insert({
    orgId: organization.id,
    name,
    description: '',
    permission,
    type: defaultTeamType,
    createdAt: at,
  })
  if (isLeft(inserted)) {
    return left(
      TeamNameTaken(`No team gives the level "${permission}", and the name "${name}" is taken by another team.`),
    )
  }
  const team = await stores.teams.findById(inserted.right)
  if (team === undefined) throw new Error('The team that was just inserted is not there.')
  return right(team)
}

export interface ReconciledMembership {
  readonly user: User
  readonly organization: Organization
  readonly role: MembershipRole
}

export interface SetMembershipInput {
  readonly orgId: OrgId
  readonly login: string
  readonly role: MembershipRole
}

type SetMembershipFailure = Failure<
  'MemberMissing' | 'AccountNotEligible' | 'BeyondOwnRights' | 'OrganizationMissing' | 'LastOwner' | 'TeamNameTaken'
>

/**
 * Sets a user's membership to exactly this role: adds the user to the oldest team of the role's level, and removes the
 * user from every team above it. With role `member`, a user who is only in lower teams is unchanged. Every member may
 * lower their own role.
 */
export const makeSetMembership =
  (deps: TeamChangeDeps & { readonly clock: Clock; readonly users: Pick<UserStore, 'byLogin'> }) =>
  async (
    call: SignedInCall<ReconciledMembership>,
    { orgId: id, login, role }: SetMembershipInput,
  ): Outcome<SetMembershipFailure, ReconciledMembership> => {
    const user = await deps.users.byLogin(login)
    return withLockedOrganization<SetMembershipFailure, ReconciledMembership>(deps, call, id, async (held) => {
      const { stores, organization, rights } = held
      const isAllowed = mustHold(rights, 'add members')
      if (isLeft(isAllowed)) return isAllowed
      const found = await findNewMember(stores.memberships, call.principal, id, { name: login })
      if (isLeft(found)) return found
      const { id: userId, name } = found.right
      if (user?.id !== userId) return left(MemberMissing('The user does not exist.'))
      const at = deps.clock.now()
      const teams = await stores.teams.listOfMember(id, userId)
      const entered = await addToRole(held, teams, userId, role, at)
      if (isLeft(entered)) return entered
      const isSelf = userId === call.principal.userId
      const lowered = await leaveTeamsAbove(held, teams, userId, levelOfRole(role), isSelf)
      if (isLeft(lowered)) return lowered
      if (entered.right || lowered.right > 0) {
        await stores.audit.record(
          auditOfOrganization(organization, 'organization.membership_set', { user: userId, login: name, role }),
        )
      }
      return right({ user, organization, role })
    })
  }

/** Right is the number of teams that the user left. */
const leaveTeamsAbove = async (
  { stores, rights }: LockedOrganization,
  teams: readonly Team[],
  userId: UserId,
  level: Level,
  isSelf: boolean,
): Outcome<Failure<'BeyondOwnRights' | 'LastOwner'>, number> => {
  const limit: Level = level === 'read' ? 'write' : level
  const above = teams.filter((team) => !reaches(limit, levelOfTeam(team.permission)))
  for (const team of above) {
    const below = isSelf ? right(undefined) : mayChange(rights, levelOfTeam(team.permission))
    if (isLeft(below)) return below
    const gone = await leaveTeam(stores, team, userId)
    if (isLeft(gone)) return gone
  }
  return right(above.length)
}
