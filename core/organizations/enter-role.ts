import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Level } from '../kernel/access.ts'
import { reaches } from '../kernel/access.ts'
import type { UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { HeldOrganization } from './in-organization.ts'
import { TeamNameTaken } from './ports.ts'
import { levelOfRole, levelOfTeam, mayGive } from './rights.ts'
import { defaultTeamType, permissionsOfTeam } from './team-rules.ts'
import type { MembershipRole, Team } from './types.ts'

/** A member needs some team at or below the role's level; admins and owners one of exactly that level. */
const isInRole = (teams: readonly Team[], role: MembershipRole): boolean =>
  role === 'member'
    ? teams.some((team) => !reaches(levelOfTeam(team.permission), 'admin'))
    : teams.some((team) => team.permission === role)

/** Puts a user, who is in these teams, into a team of the role, and so into the organization. Right true when the user entered one. */
export const enterRole = async (
  held: HeldOrganization,
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

/** The oldest team of the role's level; one is made where the organization has none. */
const teamForRole = async (
  { stores, organization }: HeldOrganization,
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
    return left(TeamNameTaken(`No team gives the level "${permission}", and the name "${name}" is taken by another team.`))
  }
  const team = await stores.teams.findById(inserted.right)
  if (team === undefined) throw new Error('The team that was just inserted is not there.')
  return right(team)
}
