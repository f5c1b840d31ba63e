import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, TeamId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { RobotRefused } from './failures.ts'
import { inOrganization } from './in-organization.ts'
import type { TeamChangeDeps } from './in-team.ts'
import { mustHold } from './rights.ts'
import { maxRobots, mayWield, parseRobotName, readRobotTeams } from './robot-rules.ts'
import type { Robot } from './robot-ports.ts'

export interface CreateRobotInput {
  readonly name: string
  readonly description: string
  readonly teamIds: readonly TeamId[]
}

type Refusal = Failure<'RobotRefused' | 'RobotNameTaken' | 'BeyondOwnRights' | 'OrganizationMissing'>

/** Makes a robot account that holds no more than its maker. */
export const makeCreateRobot =
  (deps: TeamChangeDeps & { readonly clock: Clock }) =>
  async (call: SignedInCall<Robot>, orgId: OrgId, input: CreateRobotInput): Outcome<Refusal, Robot> => {
    const name = parseRobotName(input.name)
    if (isLeft(name)) return name
    return inOrganization<Refusal, Robot>(deps, call, orgId, async (held) => {
      const { stores, organization, rights } = held
      const isAllowed = mustHold(rights, 'manage robot accounts')
      if (isLeft(isAllowed)) return isAllowed
      const teams = await readRobotTeams(held, input.teamIds)
      if (isLeft(teams)) return teams
      const given = await mayWield(held, teams.right)
      if (isLeft(given)) return given
      if ((await stores.robots.count(orgId)) >= maxRobots) {
        return left(RobotRefused(`An organization has at most ${maxRobots} robot accounts.`))
      }
      const createdAt = deps.clock.now()
      const inserted = await stores.robots.insert({ orgId, orgName: organization.name, name: name.right, description: input.description, createdAt })
      if (isLeft(inserted)) return inserted
      for (const team of teams.right) await stores.teams.addMember(team, inserted.right, createdAt)
      const robot = await stores.robots.find(orgId, inserted.right)
      if (robot === undefined) throw new Error('The robot account that was just inserted is not there.')
      await stores.audit.record({
        action: 'robot.created',
        objectType: 'robot_ac',
        objectId: robot.id,
        objectName: robot.login,
        tenantId: orgId,
        changes: { teams: robot.teamIds },
      })
      return right(robot)
    })
  }
