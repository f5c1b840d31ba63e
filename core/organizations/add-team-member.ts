import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TeamId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { AlreadyTeamMember } from './failures.ts'
import { findNewMember } from './find-user.ts'
import type { UserRef } from './find-user.ts'
import { inTeam } from './in-team.ts'
import type { TeamChangeDeps } from './in-team.ts'
import { levelOfTeam, mayGive, mustHold } from './rights.ts'
import { permissionsOfTeam } from './team-rules.ts'

type Refusal = Failure<'MemberMissing' | 'AccountNotEligible' | 'BeyondOwnRights' | 'TeamMissing' | 'AlreadyTeamMember'>

/**
 * Puts a user into a team and so into its organization. The caller must hold all that the team gives.
 * `whenMember` says what a user who is in the team already means.
 */
export const makeAddTeamMember =
  (deps: TeamChangeDeps & { readonly clock: Clock }) =>
  (call: SignedInCall, id: TeamId, ref: UserRef, whenMember: 'done' | 'refused'): Outcome<Refusal, void> =>
    inTeam<Refusal, void>(deps, call, id, async ({ stores, team, rights }) => {
      const isAllowed = mustHold(rights, 'add team members')
      if (isLeft(isAllowed)) return isAllowed
      const given = mayGive(rights, levelOfTeam(team.permission), await permissionsOfTeam(stores.teams, team))
      if (isLeft(given)) return given
      const found = await findNewMember(stores.memberships, call.principal, team.orgId, ref)
      if (isLeft(found)) return found
      const { id: userId, name } = found.right
      if (await stores.teams.hasMember(id, userId)) {
        return whenMember === 'done' ? right(undefined) : left(AlreadyTeamMember('The user is in this team already.'))
      }
      const at = deps.clock.now()
      if ((await stores.memberships.find(team.orgId, userId)) === undefined) {
        await stores.memberships.add(team.orgId, userId, at)
      }
      await stores.teams.addMember(team, userId, at)
      await stores.audit.record({
        action: 'team.member_added',
        objectType: 'team',
        objectId: id,
        objectName: team.name,
        tenantId: team.orgId,
        changes: { user: userId, login: name },
      })
      return right(undefined)
    })
