import { left, right } from 'fp-ts/lib/Either.js'
import { ConfinedTokenRefused } from '../../../core/identity/tokens/ports.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import type { TeamId, TokenId, UserId } from '../../../core/kernel/ids.ts'
import { parseInstant } from '../../../core/kernel/clock.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import { makeCreateRobot, makeDeleteRobot, makeEditRobot } from '../../../core/organizations/robots/robots.ts'
import { RobotMissing } from '../../../core/organizations/failures.ts'
import type { Robot } from '../../../core/organizations/robots/ports.ts'
import { makeCreateRobotToken, makeDeleteRobotToken } from '../../../core/organizations/robots/robot-tokens.ts'
import { createdWire, tokenWire } from '../../identity/tokens/token-wire.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import type { OrganizationGiven } from '../needs.ts'
import { orgOf } from '../organizations/organizations.handlers.ts'
import {
  createRobot,
  createRobotToken,
  deleteRobot,
  deleteRobotToken,
  editRobot,
  getRobot,
  listRobots,
  listRobotTokens,
} from './robots.routes.ts'
import { definedFields } from '../../../core/kernel/fields.ts'

const robotWire = (robot: Robot) => ({
  id: robot.id,
  name: robot.name,
  login: robot.login,
  description: robot.description,
  team_ids: robot.teamIds,
  created_at: robot.createdAt.toISOString(),
  active: robot.isActive,
})

const versionedRobot = (robot: Robot) => ({ value: robotWire(robot), version: robot.version })

/** Returns the robot account on which a route was granted. */
const robotOf = (grant: AccessGrant): UserId => grant.objectId as UserId

const teamIdsOf = (ids: readonly number[]): readonly TeamId[] => ids.map((id) => id as TeamId)

const accountRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const create = makeCreateRobot(given)
  const edit = makeEditRobot(given)
  const remove = makeDeleteRobot(given)
  return [
    handleChange(createRobot, robotWire, ({ call, grant, body }) =>
      create(call, orgOf(grant), { name: body.name, description: body.description ?? '', teamIds: teamIdsOf(body.team_ids ?? []) }),
    ),
    handle(listRobots, async ({ grant, page }) => right(mapPage(await given.robots.list(orgOf(grant), page), robotWire))),
    handle(getRobot, async ({ grant }) => {
      const robot = await given.robots.find(orgOf(grant), robotOf(grant))
      if (robot === undefined) return left(RobotMissing('The robot account does not exist in the organization.'))
      return right(versionedRobot(robot))
    }),
    handleChange(editRobot, versionedRobot, ({ call, grant, body, expectedVersion }) => {
      const input = {
        ...definedFields({ description: body.description, isActive: body.active }),
        ...(body.team_ids === undefined ? {} : { teamIds: teamIdsOf(body.team_ids) }),
      }
      return edit(call, orgOf(grant), robotOf(grant), input, expectedVersion)
    }),
    handle(deleteRobot, ({ call, grant }) => remove(call, orgOf(grant), robotOf(grant))),
  ]
}

const tokenRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const create = makeCreateRobotToken(given)
  const remove = makeDeleteRobotToken(given)
  return [
    handleChange(createRobotToken, createdWire, async ({ call, grant, body }) => {
      const expiresAt = body.expires_at === undefined ? undefined : parseInstant(body.expires_at)
      if (body.expires_at !== undefined && expiresAt === undefined) {
        return left(ConfinedTokenRefused('expires_at: must be an RFC 3339 date-time.'))
      }
      return create(call, orgOf(grant), robotOf(grant), { name: body.name, scopes: body.scopes, expiresAt })
    }),
    handle(listRobotTokens, async ({ grant, page }) =>
      right(mapPage(await given.identity.tokens.list(robotOf(grant), page), (token) => tokenWire(token))),
    ),
    handle(deleteRobotToken, ({ call, grant, params }) => remove(call, orgOf(grant), robotOf(grant), params.id as TokenId)),
  ]
}

export const robotRoutes = (given: OrganizationGiven): readonly BoundRoute[] => [...accountRoutes(given), ...tokenRoutes(given)]
