import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Level } from '../kernel/access.ts'
import { reaches } from '../kernel/access.ts'
import type { OrgId, UserId } from '../kernel/ids.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UserStore } from '../identity/ports.ts'
import type { User } from '../identity/types.ts'
import { enterRole } from './enter-role.ts'
import { MemberMissing } from './failures.ts'
import { findNewMember } from './find-user.ts'
import { inOrganization } from './in-organization.ts'
import type { HeldOrganization } from './in-organization.ts'
import type { TeamChangeDeps } from './in-team.ts'
import { leaveTeam } from './leave-team.ts'
import { levelOfRole, levelOfTeam, mayChange, mustHold } from './rights.ts'
import type { MembershipRole, Organization, Team } from './types.ts'

export interface SettledMembership {
  readonly user: User
  readonly organization: Organization
  readonly role: MembershipRole
}

type Refusal = Failure<
  | 'MemberMissing'
  | 'AccountNotEligible'
  | 'BeyondOwnRights'
  | 'OrganizationMissing'
  | 'LastOwner'
  | 'TeamNameTaken'
>

/**
 * Makes a user a member in exactly this role: into the oldest team of the role's level, out of every team above it.
 * A role `member` leaves someone who is in lower teams where they are. Everyone may lower themselves.
 */
export const makeSetMembership =
  (deps: TeamChangeDeps & { readonly clock: Clock; readonly users: Pick<UserStore, 'byLogin'> }) =>
  async (call: SignedInCall<SettledMembership>, id: OrgId, login: string, role: MembershipRole): Outcome<Refusal, SettledMembership> => {
    const user = await deps.users.byLogin(login)
    return inOrganization<Refusal, SettledMembership>(deps, call, id, async (held) => {
      const { stores, organization, rights } = held
      const isAllowed = mustHold(rights, 'add members')
      if (isLeft(isAllowed)) return isAllowed
      const found = await findNewMember(stores.memberships, call.principal, id, { name: login })
      if (isLeft(found)) return found
      const { id: userId, name } = found.right
      if (user?.id !== userId) return left(MemberMissing('There is no such user.'))
      const at = deps.clock.now()
      const teams = await stores.teams.listOfMember(id, userId)
      const entered = await enterRole(held, teams, userId, role, at)
      if (isLeft(entered)) return entered
      const isSelf = userId === call.principal.userId
      const lowered = await leaveTeamsAbove(held, teams, userId, levelOfRole(role), isSelf)
      if (isLeft(lowered)) return lowered
      if (entered.right || lowered.right > 0) {
        await stores.audit.record({
          action: 'organization.membership_set',
          objectType: 'organization',
          objectId: id,
          objectName: organization.name,
          tenantId: id,
          changes: { user: userId, login: name, role },
        })
      }
      return right({ user, organization, role })
    })
  }

/** Right with the number of teams that were left. */
const leaveTeamsAbove = async (
  { stores, rights }: HeldOrganization,
  teams: readonly Team[],
  userId: UserId,
  level: Level,
  isSelf: boolean,
): Outcome<Failure<'BeyondOwnRights' | 'LastOwner'>, number> => {
  const limit: Level = level === 'read' ? 'write' : level
  const above = teams.filter((team) => !reaches(limit, levelOfTeam(team.permission)))
  for (const team of above) {
    const below = isSelf ? right(undefined) : mayChange(rights, levelOfTeam(team.permission))
    if (isLeft(below)) return below
    const gone = await leaveTeam(stores, team, userId)
    if (isLeft(gone)) return gone
  }
  return right(above.length)
}
