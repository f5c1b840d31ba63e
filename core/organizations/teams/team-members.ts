import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { UserStore } from '../../identity/ports.ts'
import type { User } from '../../identity/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { OrgId, TeamId } from '../../kernel/ids.ts'
import type { Page, PageRequest } from '../../kernel/page.ts'
import type { SignedInCall } from '../../kernel/principal.ts'
import { auditOfTeam } from '../audit.ts'
import { AlreadyTeamMember, MemberMissing, MembershipActionUnknown, TeamMissing } from '../failures.ts'
import type { UserRef, WhenAbsent } from '../member-rules.ts'
import {
  absentMember,
  findAccount,
  findNewMember,
  userIdOf,
  levelOfTeam,
  mayChange,
  mayGive,
  mustHold,
} from '../member-rules.ts'
import { usersOf } from '../members/members.ts'
import type { MembershipStore, TeamStore } from '../ports.ts'
import type { TeamChangeDeps } from '../team-rules.ts'
import { withLockedTeam, leaveTeam, permissionsOfTeam } from '../team-rules.ts'

/** Lists the members of a team, by login. */
export const makeListTeamMembers =
  (deps: { readonly teams: Pick<TeamStore, 'listMembers'>; readonly users: Pick<UserStore, 'byIds'> }) =>
  async (
    _call: SignedInCall,
    { teamId, page }: { readonly teamId: TeamId; readonly page: PageRequest },
  ): Outcome<never, Page<User>> =>
    right(await usersOf(deps.users, await deps.teams.listMembers(teamId, page)))

/** Returns a member of a team. The failure is the same for a user who does not exist. */
export const makeGetTeamMember =
  (deps: {
    readonly teams: Pick<TeamStore, 'hasMember'>
    readonly memberships: Pick<MembershipStore, 'findAccount'>
    readonly users: Pick<UserStore, 'byId'>
  }) =>
  async (
    _call: SignedInCall,
    { teamId, login }: { readonly teamId: TeamId; readonly login: string },
  ): Outcome<Failure<'MemberMissing'>, User> => {
    const userId = userIdOf(await deps.memberships.findAccount(login))
    const user = (await deps.teams.hasMember(teamId, userId)) ? await deps.users.byId(userId) : undefined
    return user === undefined ? left(notInTeam()) : right(user)
  }

const notInTeam = () => MemberMissing('The user is not a member of this team.')

export interface AddTeamMemberInput {
  readonly teamId: TeamId
  readonly user: UserRef
  /** The result for a user who is already in the team. */
  readonly whenMember: 'done' | 'refused'
}

type AddTeamMemberFailure = Failure<
  'MemberMissing' | 'AccountNotEligible' | 'BeyondOwnRights' | 'TeamMissing' | 'AlreadyTeamMember'
>

/**
 * Adds a user to a team, and so to its organization. The caller must hold all that the team gives.
 */
export const makeAddTeamMember =
  (deps: TeamChangeDeps & { readonly clock: Clock }) =>
  (
    call: SignedInCall,
    { teamId: id, user: ref, whenMember }: AddTeamMemberInput,
  ): Outcome<AddTeamMemberFailure, void> =>
    withLockedTeam<AddTeamMemberFailure, void>(deps, call, id, async ({ stores, team, rights }) => {
      const isAllowed = mustHold(rights, 'add team members')
      if (isLeft(isAllowed)) return isAllowed
      const given = mayGive(rights, levelOfTeam(team.permission), await permissionsOfTeam(stores.teams, team))
      if (isLeft(given)) return given
      const found = await findNewMember(stores.memberships, call.principal, team.orgId, ref)
      if (isLeft(found)) return found
      const { id: userId, name } = found.right
      if (await stores.teams.hasMember(id, userId)) {
        if (whenMember === 'done') await stores.teams.unmark(id, userId)
        return whenMember === 'done'
          ? right(undefined)
          : left(AlreadyTeamMember('The user is already a member of this team.'))
      }
      const at = deps.clock.now()
      if ((await stores.memberships.find(team.orgId, userId)) === undefined) {
        await stores.memberships.add(team.orgId, userId, at)
      }
      await stores.teams.addMember(team, userId, at)
      await stores.audit.record(auditOfTeam(team, 'team.member_added', { user: userId, login: name }))
      return right(undefined)
    })

type RemoveTeamMemberFailure = Failure<'MemberMissing' | 'BeyondOwnRights' | 'TeamMissing' | 'LastOwner'>

export interface RemoveTeamMemberInput {
  readonly teamId: TeamId
  readonly user: UserRef
  readonly whenAbsent?: WhenAbsent
}

/**
 * Removes a user from a team. A member may always leave; other members may be removed from a team below the caller.
 * Leaving the last team ends the membership.
 */
export const makeRemoveTeamMember =
  (deps: TeamChangeDeps) =>
  (
    call: SignedInCall,
    { teamId: id, user: ref, whenAbsent = 'refused' }: RemoveTeamMemberInput,
  ): Outcome<RemoveTeamMemberFailure, void> =>
    withLockedTeam<RemoveTeamMemberFailure, void>(deps, call, id, async ({ stores, team, rights }) => {
      const account = await findAccount(stores.memberships, ref)
      const userId = userIdOf(account)
      if (userId !== call.principal.userId) {
        const isAllowed = mustHold(rights, 'remove team members')
        if (isLeft(isAllowed)) return isAllowed
        const below = mayChange(rights, levelOfTeam(team.permission))
        if (isLeft(below)) return below
      }
      if (!(await stores.teams.hasMember(id, userId))) return absentMember(call, account, whenAbsent)
      const gone = await leaveTeam(stores, team, userId)
      if (isLeft(gone)) return gone
      const remaining = await stores.teams.listOfMember(team.orgId, userId)
      const leftOrganization =
        remaining.length === 0 && (await stores.memberships.find(team.orgId, userId))?.isProvisioned !== true
      if (leftOrganization) await stores.memberships.remove(team.orgId, userId)
      const facts = { user: userId, login: account?.name ?? '', leftOrganization }
      await stores.audit.record(auditOfTeam(team, 'team.member_removed', facts))
      return right(undefined)
    })

export interface TeamAction {
  readonly orgId: OrgId
  readonly teamId: TeamId
  readonly action: string
  readonly userId: number
  readonly login: string | undefined
}

type ActOnTeamFailure = Failure<
  | 'MembershipActionUnknown'
  | 'MemberMissing'
  | 'AccountNotEligible'
  | 'BeyondOwnRights'
  | 'TeamMissing'
  | 'AlreadyTeamMember'
  | 'LastOwner'
>

/** The single-route form of joining, leaving, adding and removing. The team must belong to the named organization. */
export const makeActOnTeam =
  (deps: {
    readonly teams: TeamStore
    readonly add: ReturnType<typeof makeAddTeamMember>
    readonly remove: ReturnType<typeof makeRemoveTeamMember>
  }) =>
  async (call: SignedInCall, input: TeamAction): Outcome<ActOnTeamFailure, void> => {
    const { action, teamId, userId, login } = input
    if ((await deps.teams.findById(teamId))?.orgId !== input.orgId) return left(TeamMissing('The team does not exist.'))
    const user: UserRef = action === 'add' && login !== undefined ? { name: login } : { id: userId }
    const isSelf = userId === call.principal.userId
    if ((action === 'join' || action === 'leave') && !isSelf) {
      return left(MembershipActionUnknown(`Only the caller can ${action}: uid must be your own.`))
    }
    switch (action) {
      case 'join':
      case 'add':
        return deps.add(call, { teamId, user, whenMember: 'refused' })
      case 'leave':
      case 'remove':
        return deps.remove(call, { teamId, user })
      default:
        return left(MembershipActionUnknown('The action is one of join, leave, remove and add.'))
    }
  }
