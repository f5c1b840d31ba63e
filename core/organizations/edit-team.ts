import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { RoleId, TeamId } from '../kernel/ids.ts'
import { changedFields, isSameSet, isUnchanged } from '../kernel/changed-fields.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { TeamChanged } from './failures.ts'
import { inTeam } from './in-team.ts'
import type { HeldTeam, TeamChangeDeps } from './in-team.ts'
import { parseTeamName } from './names.ts'
import type { TeamChanges } from './ports.ts'
import { levelOfTeam, mayChange, mayGive, mustHold } from './rights.ts'
import { guardOwnersTeam, isOwnersTeam, parseNewPermission, parseTeamType, readRoles } from './team-rules.ts'
import type { TeamInOrganization, TeamPermission } from './types.ts'

/** An absent field stays as it is. */
export interface EditTeamInput {
  readonly name?: string
  readonly description?: string
  readonly permission?: TeamPermission
  readonly type?: string
  readonly roleIds?: readonly RoleId[]
}

type FormRefusal = Failure<'TeamNameRefused' | 'TeamTypeUnknown' | 'TeamLevelRefused' | 'OwnersTeamFixed'>
type Refusal =
  | FormRefusal
  | Failure<'TeamNameTaken' | 'TeamRolesRefused' | 'BeyondOwnRights' | 'TeamMissing' | 'TeamChanged'>

/** Changes a team that stands below the caller, to something that gives no more than the caller holds. */
export const makeEditTeam =
  (deps: TeamChangeDeps) =>
  (call: SignedInCall<TeamInOrganization>, id: TeamId, input: EditTeamInput, expectedVersion: number | undefined): Outcome<Refusal, TeamInOrganization> =>
    inTeam<Refusal, TeamInOrganization>(deps, call, id, async (held) => {
      const { stores, team, organization } = held
      const changes = readChanges(held, input)
      if (isLeft(changes)) return changes
      const roleIds = input.roleIds === undefined ? undefined : [...new Set(input.roleIds)]
      const allowed = await judge(held, changes.right, roleIds)
      if (isLeft(allowed)) return allowed
      if (expectedVersion !== undefined && expectedVersion !== team.version) return left(changedSince())
      const changed = changedFields(team, changes.right)
      const changesRoles = roleIds !== undefined && !isSameSet(roleIds, team.roleIds)
      if (isUnchanged(changed) && !changesRoles) return right({ team, organization })
      const updated = await stores.teams.update(id, changed, expectedVersion)
      if (isLeft(updated)) return updated
      if (!updated.right) return left(changedSince())
      if (changesRoles) await stores.teams.replaceRoles(team, roleIds)
      await stores.audit.record({
        action: 'team.edited',
        objectType: 'team',
        objectId: id,
        objectName: changed.name ?? team.name,
        tenantId: team.orgId,
        changes: {
          fields: Object.keys(changed),
          ...(changed.permission === undefined ? {} : { permission: changed.permission }),
          ...(changesRoles ? { roles: roleIds } : {}),
        },
      })
      const after = await stores.teams.findById(id)
      if (after === undefined) throw new Error('The team that was just changed is not there.')
      return right({ team: after, organization })
    })

const changedSince = () => TeamChanged('The team was changed in the meantime.')

const readChanges = ({ team }: HeldTeam, input: EditTeamInput): Either<FormRefusal, TeamChanges> => {
  const guarded = guardOwnersTeam(team, input)
  if (isLeft(guarded)) return guarded
  const { name, description, permission, type } = input
  const parsedName = name === undefined || isOwnersTeam(team) ? right(name) : parseTeamName(name)
  if (isLeft(parsedName)) return parsedName
  const parsedType = type === undefined ? right(type) : parseTeamType(type)
  if (isLeft(parsedType)) return parsedType
  const parsedPermission = permission === undefined || isOwnersTeam(team) ? right(permission) : parseNewPermission(permission)
  if (isLeft(parsedPermission)) return parsedPermission
  return right({
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(permission === undefined ? {} : { permission }),
    ...(type === undefined ? {} : { type }),
  })
}

/** The team as it is must be below the caller; what it comes to give beyond that, the caller must hold. */
const judge = async (
  { stores, team, rights }: HeldTeam,
  changes: TeamChanges,
  roleIds: readonly RoleId[] | undefined,
): Outcome<Failure<'BeyondOwnRights' | 'TeamRolesRefused'>, void> => {
  const isAllowed = mustHold(rights, 'edit teams')
  if (isLeft(isAllowed)) return isAllowed
  const below = mayChange(rights, levelOfTeam(team.permission))
  if (isLeft(below)) return below
  const roles = await readRoles(stores.teams, team.orgId, roleIds ?? [])
  if (isLeft(roles)) return roles
  const attached = [...roles.right].filter(([id]) => !team.roleIds.includes(id)).flatMap(([, permissions]) => permissions)
  return mayGive(rights, levelOfTeam(changes.permission ?? 'none'), attached)
}
