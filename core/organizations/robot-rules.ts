import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { accountNamePattern } from '../kernel/ids.ts'
import type { TeamId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { RobotRefused } from './failures.ts'
import type { HeldOrganization } from './in-organization.ts'
import { maxRobotNameLength } from './robot-ports.ts'
import { levelOfTeam, mayGive } from './rights.ts'
import { isOwnersTeam, permissionsOfTeam } from './team-rules.ts'
import type { Team } from './types.ts'

export const maxRobots = 100
const maxTeamsOfRobot = 50

/** Lower case, so that one name is written in one way. */
export const parseRobotName = (text: string): Either<Failure<'RobotRefused'>, string> =>
  text.length <= maxRobotNameLength && accountNamePattern.test(text)
    ? right(text.toLowerCase())
    : left(RobotRefused(`A robot account's name has 1 to ${maxRobotNameLength} letters or digits, with single "-", "_" or "." between them.`))

/** Reads teams for a robot; refuses foreign ones and the team Owners, which is for people. */
export const readRobotTeams = async (
  { stores, organization }: HeldOrganization,
  teamIds: readonly TeamId[],
): Outcome<Failure<'RobotRefused'>, readonly Team[]> => {
  const ids = [...new Set(teamIds)]
  if (ids.length > maxTeamsOfRobot) return left(RobotRefused(`A robot account is in at most ${maxTeamsOfRobot} teams.`))
  const teams: Team[] = []
  for (const id of ids) {
    const team = await stores.teams.findById(id)
    if (team?.orgId !== organization.id) return left(RobotRefused(`The organization has no team ${id}.`))
    if (isOwnersTeam(team)) return left(RobotRefused('A robot account cannot be an owner.'))
    teams.push(team)
  }
  return right(teams)
}

/** Whoever puts a robot into teams, or makes a token for one in them, holds all that these teams give. */
export const mayWield = async ({ stores, rights }: HeldOrganization, teams: readonly Team[]): Outcome<Failure<'BeyondOwnRights'>, void> => {
  for (const team of teams) {
    const given = mayGive(rights, levelOfTeam(team.permission), await permissionsOfTeam(stores.teams, team))
    if (isLeft(given)) return given
  }
  return right(undefined)
}
