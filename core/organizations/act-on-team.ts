import { left } from 'fp-ts/lib/Either.js'
import type { OrgId, TeamId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { MembershipActionUnknown, TeamMissing } from './failures.ts'
import type { UserRef } from './find-user.ts'
import type { makeAddTeamMember } from './add-team-member.ts'
import type { TeamStore } from './ports.ts'
import type { makeRemoveTeamMember } from './remove-team-member.ts'

export interface TeamAction {
  readonly orgId: OrgId
  readonly teamId: TeamId
  readonly action: string
  readonly userId: number
  readonly login: string | undefined
}

type Refusal = Failure<
  | 'MembershipActionUnknown'
  | 'MemberMissing'
  | 'AccountNotEligible'
  | 'BeyondOwnRights'
  | 'TeamMissing'
  | 'AlreadyTeamMember'
  | 'LastOwner'
>

/** The one-route form of joining, leaving, adding and removing; the team must be of the organization that is named. */
export const makeActOnTeam =
  (deps: {
    readonly teams: TeamStore
    readonly add: ReturnType<typeof makeAddTeamMember>
    readonly remove: ReturnType<typeof makeRemoveTeamMember>
  }) =>
  async (call: SignedInCall, input: TeamAction): Outcome<Refusal, void> => {
    const { action, teamId, userId, login } = input
    if ((await deps.teams.findById(teamId))?.orgId !== input.orgId) return left(TeamMissing('There is no such team.'))
    const named: UserRef = action === 'add' && login !== undefined ? { name: login } : { id: userId }
    const isSelf = userId === call.principal.userId
    if ((action === 'join' || action === 'leave') && !isSelf) {
      return left(MembershipActionUnknown(`Only the caller can ${action}: uid must be your own.`))
    }
    switch (action) {
      case 'join':
      case 'add':
        return deps.add(call, teamId, named, 'refused')
      case 'leave':
      case 'remove':
        return deps.remove(call, teamId, named)
      default:
        return left(MembershipActionUnknown('The action is one of join, leave, remove and add.'))
    }
  }
