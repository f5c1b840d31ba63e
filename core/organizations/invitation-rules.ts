import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TeamId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { InvitationRefused } from './failures.ts'
import type { HeldOrganization } from './in-organization.ts'
import { levelOfRole, levelOfTeam, mayGive, mustHold } from './rights.ts'
import type { Rights } from './rights.ts'
import { permissionsOfTeam } from './team-rules.ts'
import type { MembershipRole, Team } from './types.ts'

export const invitationDays = 7
export const maxPendingInvitations = 100
export const maxTeamsOfInvitation = 50

/** Reads teams by id; refuses any that is not the organization's. */
export const readTeams = async (
  { stores, organization }: Pick<HeldOrganization, 'stores' | 'organization'>,
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
 * Whether someone with these rights may make another a member in this role and these teams. Judged when an invitation is
 * made and, by the rights that its maker holds then, once more when it is accepted.
 */
export const mayInvite = async (
  { stores, organization }: Pick<HeldOrganization, 'stores' | 'organization'>,
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
