import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { RobotMissing } from './failures.ts'
import { inOrganization } from './in-organization.ts'
import type { TeamChangeDeps } from './in-team.ts'
import { mustHold } from './rights.ts'

type Refusal = Failure<'RobotMissing' | 'BeyondOwnRights' | 'OrganizationMissing'>

/** Deletes a robot account and its tokens. */
export const makeDeleteRobot =
  (deps: TeamChangeDeps) =>
  (call: SignedInCall, orgId: OrgId, id: UserId): Outcome<Refusal, void> =>
    inOrganization<Refusal, void>(deps, call, orgId, async ({ stores, rights }) => {
      const isAllowed = mustHold(rights, 'manage robot accounts')
      if (isLeft(isAllowed)) return isAllowed
      const robot = await stores.robots.find(orgId, id)
      if (robot === undefined) return left(RobotMissing('The organization has no such robot account.'))
      await stores.robots.remove(orgId, id)
      await stores.audit.record({ action: 'robot.deleted', objectType: 'robot_ac', objectId: id, objectName: robot.login, tenantId: orgId })
      return right(undefined)
    })
