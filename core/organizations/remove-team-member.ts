import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { TeamId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { MemberMissing } from './failures.ts'
import { findAccount, userIdOf } from './find-user.ts'
import type { UserRef } from './find-user.ts'
import { inTeam } from './in-team.ts'
import type { TeamChangeDeps } from './in-team.ts'
import { leaveTeam } from './leave-team.ts'
import { levelOfTeam, mayChange, mustHold } from './rights.ts'

type Refusal = Failure<'MemberMissing' | 'BeyondOwnRights' | 'TeamMissing' | 'LastOwner'>

/** Takes a user out of a team: anyone themselves, others from a team below the caller. With the last team goes the membership. */
export const makeRemoveTeamMember =
  (deps: TeamChangeDeps) =>
  (call: SignedInCall, id: TeamId, ref: UserRef): Outcome<Refusal, void> =>
    inTeam<Refusal, void>(deps, call, id, async ({ stores, team, rights }) => {
      const account = await findAccount(stores.memberships, ref)
      const userId = userIdOf(account)
      if (userId !== call.principal.userId) {
        const isAllowed = mustHold(rights, 'remove team members')
        if (isLeft(isAllowed)) return isAllowed
        const below = mayChange(rights, levelOfTeam(team.permission))
        if (isLeft(below)) return below
      }
      if (!(await stores.teams.hasMember(id, userId))) return left(MemberMissing('The user is not in this team.'))
      const gone = await leaveTeam(stores, team, userId)
      if (isLeft(gone)) return gone
      const remaining = await stores.teams.listOfMember(team.orgId, userId)
      if (remaining.length === 0) await stores.memberships.remove(team.orgId, userId)
      await stores.audit.record({
        action: 'team.member_removed',
        objectType: 'team',
        objectId: id,
        objectName: team.name,
        tenantId: team.orgId,
        changes: { user: userId, login: account?.name ?? '', leftOrganization: remaining.length === 0 },
      })
      return right(undefined)
    })
