import { right } from 'fp-ts/lib/Either.js'
import { IdentityStoresPort } from '../../../core/identity/ports.ts'
import { ConfinedTokensPort } from '../../../core/identity/tokens/ports.ts'
import type { AccessGrant } from '../../../core/kernel/access.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { UserId } from '../../../core/kernel/ids.ts'
import { PermissionLevelsPort } from '../../../core/kernel/rights.ts'
import type { Robot } from '../../../core/organizations/ports.ts'
import { OrganizationUnitOfWorkPort, RobotStorePort } from '../../../core/organizations/ports.ts'
import {
  makeCreateRobotToken,
  makeDeleteRobotToken,
  makeCreateRobot,
  makeDeleteRobot,
  makeEditRobot,
  makeGetRobot,
} from '../../../core/organizations/robots/robots.ts'
import { createdWire, tokenWire } from '../../identity/tokens/codecs.ts'
import { objectIdOf, orgOf } from '../../kit/access.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
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

const toWire = (robot: Robot) => ({
  id: robot.id,
  name: robot.name,
  login: robot.login,
  description: robot.description,
  team_ids: robot.teamIds,
  created_at: robot.createdAt,
  active: robot.isActive,
})

const robotOf = (grant: AccessGrant) => ({ orgId: orgOf(grant), id: objectIdOf<UserId>(grant) })

export const robotGroup = defineGroup({
  needs: {
    robots: RobotStorePort,
    unitOfWork: OrganizationUnitOfWorkPort,
    catalogue: PermissionLevelsPort,
    clock: ClockPort,
  },
  routes: (given) => [
    handle(createRobot, makeCreateRobot(given), {
      input: ({ grant, body }) => ({
        orgId: orgOf(grant),
        name: body.name,
        description: body.description ?? '',
        teamIds: body.team_ids ?? [],
      }),
      reply: toWire,
    }),
    handle(listRobots, async (_call, { grant, page }) => right(await given.robots.list(orgOf(grant), page)), {
      reply: toWire,
    }),
    handle(getRobot, makeGetRobot(given), { input: ({ grant }) => robotOf(grant), reply: toWire }),
    handle(editRobot, makeEditRobot(given), {
      input: ({ grant, body, expectedVersion }) => ({
        ...robotOf(grant),
        change: definedFields({ description: body.description, isActive: body.active, teamIds: body.team_ids }),
        expectedVersion,
      }),
      reply: toWire,
    }),
    handle(deleteRobot, makeDeleteRobot(given), { input: ({ grant }) => robotOf(grant) }),
  ],
})

export const robotTokenGroup = defineGroup({
  needs: {
    identity: IdentityStoresPort,
    confinedTokens: ConfinedTokensPort,
    unitOfWork: OrganizationUnitOfWorkPort,
    catalogue: PermissionLevelsPort,
  },
  routes: (given) => [
    handle(createRobotToken, makeCreateRobotToken(given), {
      input: ({ grant, body }) => ({
        orgId: orgOf(grant),
        robotId: objectIdOf<UserId>(grant),
        name: body.name,
        scopes: body.scopes,
        expiresAt: body.expires_at,
      }),
      reply: createdWire,
    }),
    handle(
      listRobotTokens,
      async (_call, { grant, page }) => right(await given.identity.tokens.list(objectIdOf<UserId>(grant), page)),
      { reply: (token) => tokenWire(token) },
    ),
    handle(deleteRobotToken, makeDeleteRobotToken(given), {
      input: ({ grant, params }) => ({ orgId: orgOf(grant), robotId: objectIdOf<UserId>(grant), id: params.id }),
    }),
  ],
})
