import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, TeamId, UserId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import { changedFields, isUnchanged } from '../kernel/changed-fields.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { RobotChanged, RobotMissing } from './failures.ts'
import { inOrganization } from './in-organization.ts'
import type { HeldOrganization } from './in-organization.ts'
import type { TeamChangeDeps } from './in-team.ts'
import { mustHold } from './rights.ts'
import { mayWield, readRobotTeams } from './robot-rules.ts'
import type { Robot } from './robot-ports.ts'

export interface EditRobotInput {
  readonly description?: string
  readonly isActive?: boolean
  /** Replaces the teams. */
  readonly teamIds?: readonly TeamId[]
}

type Refusal = Failure<'RobotRefused' | 'RobotMissing' | 'RobotChanged' | 'BeyondOwnRights' | 'OrganizationMissing'>

/**
 * Changes a robot account. Whoever puts it into teams, or wakes it up, holds all that the teams which it is in afterwards
 * give; taking it out of teams and putting it to sleep needs no more than the right to manage robot accounts.
 */
export const makeEditRobot =
  (deps: TeamChangeDeps & { readonly clock: Clock }) =>
  (call: SignedInCall<Robot>, orgId: OrgId, id: UserId, input: EditRobotInput, expectedVersion: number | undefined): Outcome<Refusal, Robot> =>
    inOrganization<Refusal, Robot>(deps, call, orgId, async (held) => {
      const { stores, rights } = held
      const isAllowed = mustHold(rights, 'manage robot accounts')
      if (isLeft(isAllowed)) return isAllowed
      const robot = await stores.robots.find(orgId, id)
      if (robot === undefined) return left(RobotMissing('The organization has no such robot account.'))
      const moved = await moveTeams(held, robot, input, deps.clock.now())
      if (isLeft(moved)) return moved
      const changed = changedFields(robot, { description: input.description, isActive: input.isActive })
      const isNoChange = isUnchanged(changed) && !moved.right
      if (isNoChange && (expectedVersion === undefined || expectedVersion === robot.version)) return right(robot)
      if (!(await stores.robots.update(orgId, id, changed, expectedVersion))) {
        return left(RobotChanged('The robot account was changed by somebody else meanwhile.'))
      }
      const after = await stores.robots.find(orgId, id)
      if (after === undefined) throw new Error('The robot account that was just changed is not there.')
      await stores.audit.record({
        action: 'robot.changed',
        objectType: 'robot_ac',
        objectId: id,
        objectName: robot.login,
        tenantId: orgId,
        changes: { fields: [...Object.keys(changed), ...(moved.right ? ['teamIds'] : [])], active: after.isActive, teams: after.teamIds },
      })
      return right(after)
    })

/** Whether the teams changed. */
const moveTeams = async (
  held: HeldOrganization,
  robot: Robot,
  { teamIds, isActive }: EditRobotInput,
  at: Date,
): Outcome<Failure<'RobotRefused' | 'BeyondOwnRights'>, boolean> => {
  const wanted = [...new Set(teamIds ?? robot.teamIds)]
  const added = wanted.filter((id) => !robot.teamIds.includes(id))
  const teams = await readRobotTeams(held, wanted)
  if (isLeft(teams)) return teams
  if (added.length > 0 || (isActive === true && !robot.isActive)) {
    const given = await mayWield(held, teams.right)
    if (isLeft(given)) return given
  }
  const gone = robot.teamIds.filter((id) => !wanted.includes(id))
  for (const id of gone) await held.stores.teams.removeMember(id, robot.id)
  for (const team of teams.right) if (added.includes(team.id)) await held.stores.teams.addMember(team, robot.id, at)
  return right(gone.length + added.length > 0)
}
