import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { RoleId, TeamId } from '../../../core/kernel/ids.ts'
import { mapPage } from '../../../core/kernel/page.ts'
import type { SignedInCall } from '../../../core/kernel/principal.ts'
import { makeActOnTeam, makeAddTeamMember, makeRemoveTeamMember } from '../../../core/organizations/teams/team-members.ts'
import {
  makeCreateTeam,
  makeDeleteTeam,
  makeEditTeam,
  makeFindTeam,
  makeListOwnTeams,
  makeListTeams,
  makeSearchTeams,
} from '../../../core/organizations/teams/teams.ts'
import { MemberMissing } from '../../../core/organizations/failures.ts'
import { userIdOf } from '../../../core/organizations/members/accounts.ts'
import type { TeamInOrganization } from '../../../core/organizations/types.ts'
import { placeOf, userWire, viewerOf } from '../../identity/accounts/user-wire.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import type { OrganizationGiven } from '../needs.ts'
import { teamWire } from '../organizations/organization-wire.ts'
import { orgOf } from '../organizations/organizations.handlers.ts'
import {
  actOnTeam,
  addTeamMember,
  createTeam,
  deleteTeam,
  editTeam,
  getTeam,
  getTeamMember,
  listOwnTeams,
  listTeamMembers,
  listTeams,
  removeTeamMember,
  searchTeams,
} from './teams.routes.ts'
import { definedFields } from '../../../core/kernel/fields.ts'

const rolesOf = (ids: readonly number[]): readonly RoleId[] => ids as readonly RoleId[]

const changeRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const create = makeCreateTeam(given)
  const edit = makeEditTeam(given)
  const remove = makeDeleteTeam(given)
  const add = makeAddTeamMember(given)
  const removeMember = makeRemoveTeamMember(given)
  const act = makeActOnTeam({ teams: given.teams, add, remove: removeMember })
  const versionedTeam = (found: TeamInOrganization, { call }: { readonly call: SignedInCall }) => ({
    value: teamWire(given, call, found),
    version: found.team.version,
  })
  return [
    handleChange(
      createTeam,
      (team: TeamInOrganization, { call }) => teamWire(given, call, team),
      ({ call, grant, body }) =>
        create(call, orgOf(grant), {
          name: body.name,
          description: body.description ?? '',
          permission: body.permission,
          type: body.type,
          roleIds: rolesOf(body.assignedRoleIDs ?? []),
        }),
    ),
    handleChange(editTeam, versionedTeam, ({ call, params, body, expectedVersion }) => {
      const input = {
        ...definedFields({ name: body.name, description: body.description, permission: body.permission, type: body.type }),
        ...(body.assignedRoleIDs === undefined ? {} : { roleIds: rolesOf(body.assignedRoleIDs) }),
      }
      return edit(call, params.teamid as TeamId, input, expectedVersion)
    }),
    handle(deleteTeam, ({ call, params }) => remove(call, params.teamid as TeamId)),
    handle(addTeamMember, ({ call, params }) => add(call, params.teamid as TeamId, { name: params.username }, 'done')),
    handle(removeTeamMember, ({ call, params }) => removeMember(call, params.teamid as TeamId, { name: params.username })),
    handle(actOnTeam, ({ call, grant, params, query }) =>
      act(call, {
        orgId: orgOf(grant),
        teamId: params.teamid as TeamId,
        action: params.action,
        userId: query.uid,
        login: query.uname,
      }),
    ),
  ]
}

const readRoutes = (given: OrganizationGiven): readonly BoundRoute[] => {
  const { teams, memberships, identity, identitySettings } = given
  const find = makeFindTeam(given)
  const listAll = makeListTeams(given)
  const search = makeSearchTeams(given)
  const listOwn = makeListOwnTeams(given)
  return [
    handle(listTeams, async ({ call, grant, page }) => {
      const listed = await listAll(orgOf(grant), page)
      return isLeft(listed) ? listed : right(mapPage(listed.right, (team) => teamWire(given, call, team)))
    }),
    handle(searchTeams, async ({ call, grant, query, page }) => {
      const text = { text: query.q ?? '', includesDescription: query.include_desc ?? false }
      const level = grant.context.isMember ? grant.context.level : 'none'
      return right(mapPage(await search(call, orgOf(grant), level, text, page), (team) => teamWire(given, call, team)))
    }),
    handle(getTeam, async ({ call, params }) => {
      const found = await find(params.teamid as TeamId)
      return isLeft(found) ? found : right({ value: teamWire(given, call, found.right), version: found.right.team.version })
    }),
    handle(listOwnTeams, async ({ call, page }) =>
      right(mapPage(await listOwn(call, page), (team) => teamWire(given, call, team))),
    ),
    handle(listTeamMembers, async ({ call, params, page }) => {
      const listed = await teams.listMembers(params.teamid as TeamId, page)
      const users = await identity.users.byIds(listed.items)
      return right({ ...listed, items: users.map((user) => userWire(placeOf(identitySettings, call), viewerOf(call.principal), user)) })
    }),
    handle(getTeamMember, async ({ call, params }) => {
      const userId = userIdOf(await memberships.findAccount(params.username))
      const isMember = await teams.hasMember(params.teamid as TeamId, userId)
      const user = isMember ? await identity.users.byId(userId) : undefined
      if (user === undefined) return left(MemberMissing('The user is not a member of this team.'))
      return right(userWire(placeOf(identitySettings, call), viewerOf(call.principal), user))
    }),
  ]
}

export const teamRoutes = (given: OrganizationGiven): readonly BoundRoute[] => [...readRoutes(given), ...changeRoutes(given)]
