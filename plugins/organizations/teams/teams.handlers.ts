import { right } from 'fp-ts/lib/Either.js'
import { IdentitySettingsPort, IdentityStoresPort } from '../../../core/identity/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import { PermissionLevelsPort } from '../../../core/kernel/rights.ts'
import {
  MembershipStorePort,
  OrganizationStorePort,
  OrganizationUnitOfWorkPort,
  TeamStorePort,
} from '../../../core/organizations/ports.ts'
import {
  makeActOnTeam,
  makeAddTeamMember,
  makeGetTeamMember,
  makeListTeamMembers,
  makeRemoveTeamMember,
} from '../../../core/organizations/teams/team-members.ts'
import {
  makeCreateTeam,
  makeDeleteTeam,
  makeEditTeam,
  makeGetTeam,
  makeListOwnTeams,
  makeListTeams,
  makeSearchTeams,
} from '../../../core/organizations/teams/teams.ts'
import type { TeamPermission } from '../../../core/organizations/types.ts'
import { orgOf } from '../../kit/access.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { memberWire, teamWire } from '../organizations/organization-wire.ts'
import {
  actOnTeam,
  addTeamMember,
  createTeam,
  deleteTeam,
  editTeam,
  getTeam,
  getTeamMember,
  listOwnTeams,
  listRepositoriesOfTeam,
  listTeamMembers,
  listTeams,
  removeTeamMember,
  searchTeams,
} from './teams.routes.ts'

/** An empty permission is that of no permission in the request. */
const permissionOf = (word: TeamPermission | '' | undefined): TeamPermission | undefined =>
  word === '' ? undefined : word

export const teamGroup = defineGroup({
  needs: {
    organizations: OrganizationStorePort,
    teams: TeamStorePort,
    unitOfWork: OrganizationUnitOfWorkPort,
    catalogue: PermissionLevelsPort,
    identitySettings: IdentitySettingsPort,
    clock: ClockPort,
  },
  routes: (given) => {
    const toWire = teamWire(given)
    return [
      handle(listTeams, makeListTeams(given), {
        input: ({ grant, page }) => ({ orgId: orgOf(grant), page }),
        reply: toWire,
      }),
      handle(searchTeams, makeSearchTeams(given), {
        input: ({ grant, query, page }) => ({
          orgId: orgOf(grant),
          level: grant.context.isMember ? grant.context.level : 'none',
          text: query.q ?? '',
          includesDescription: query.include_desc ?? false,
          page,
        }),
        reply: toWire,
      }),
      handle(getTeam, makeGetTeam(given), {
        input: ({ params }) => params.teamid,
        reply: toWire,
        version: ({ team }) => team.version,
      }),
      handle(listRepositoriesOfTeam, async () => right([])),
      handle(listOwnTeams, makeListOwnTeams(given), { input: ({ page }) => page, reply: toWire }),
      handle(createTeam, makeCreateTeam(given), {
        input: ({ grant, body }) => ({
          orgId: orgOf(grant),
          name: body.name,
          description: body.description ?? '',
          permission: permissionOf(body.permission),
          isCustom: body.is_custom,
          type: body.type,
          roleIds: body.assignedRoleIDs ?? [],
        }),
        reply: toWire,
      }),
      handle(editTeam, makeEditTeam(given), {
        input: ({ params, body, expectedVersion }) => ({
          id: params.teamid,
          change: definedFields({
            // Clients of this family send a name with every change.
            name: body.name === '' ? undefined : body.name,
            description: body.description,
            permission: permissionOf(body.permission),
            isCustom: body.is_custom,
            type: body.type,
            roleIds: body.assignedRoleIDs,
          }),
          expectedVersion,
        }),
        reply: toWire,
        version: ({ team }) => team.version,
      }),
      handle(deleteTeam, makeDeleteTeam(given), { input: ({ params }) => params.teamid }),
    ]
  },
})

export const teamMemberGroup = defineGroup({
  needs: {
    teams: TeamStorePort,
    memberships: MembershipStorePort,
    unitOfWork: OrganizationUnitOfWorkPort,
    catalogue: PermissionLevelsPort,
    identity: IdentityStoresPort,
    identitySettings: IdentitySettingsPort,
    clock: ClockPort,
  },
  routes: (given) => {
    const reads = { ...given, users: given.identity.users }
    const toWire = memberWire(given)
    const add = makeAddTeamMember(given)
    const remove = makeRemoveTeamMember(given)
    return [
      handle(listTeamMembers, makeListTeamMembers(reads), {
        input: ({ params, page }) => ({ teamId: params.teamid, page }),
        reply: toWire,
      }),
      handle(getTeamMember, makeGetTeamMember(reads), {
        input: ({ params }) => ({ teamId: params.teamid, login: params.username }),
        reply: toWire,
      }),
      handle(addTeamMember, add, {
        input: ({ params }) => ({ teamId: params.teamid, user: { name: params.username }, whenMember: 'done' }),
      }),
      handle(removeTeamMember, remove, {
        input: ({ params }) => ({
          teamId: params.teamid,
          user: { name: params.username },
          whenAbsent: 'done' as const,
        }),
      }),
      handle(actOnTeam, makeActOnTeam({ teams: given.teams, add, remove }), {
        input: ({ grant, params, query }) => ({
          orgId: orgOf(grant),
          teamId: params.teamid,
          action: params.action,
          userId: query.uid,
          login: query.uname,
        }),
      }),
    ]
  },
})
