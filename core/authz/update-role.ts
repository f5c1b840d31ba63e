import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Standing, PermissionRef } from '../kernel/access.ts'
import { permissionKey } from '../kernel/access.ts'
import type { OrgId, RoleId } from '../kernel/ids.ts'
import { isSameSet } from '../kernel/changed-fields.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { CreateRoleDeps, CreateRoleFailure } from './create-role.ts'
import { roleAudit } from './role-audit.ts'
import { mayGivePermissions, parseRoleName, parseRolePermissions } from './role-rules.ts'
import { takeRole } from './take-role.ts'
import { takeRoleTeams } from './take-role-teams.ts'
import type { AuthorizationSchema } from './schema.ts'
import type { Role, RoleContent } from './types.ts'

/** What to replace; a part that is undefined stays as it is. */
export type RoleChange = { readonly [Part in keyof RoleContent]: RoleContent[Part] | undefined }

export interface UpdateRoleInput {
  readonly orgId: OrgId
  readonly id: RoleId
  readonly change: RoleChange
  /** The change is meant for this version of the role only. */
  readonly expectedVersion: number | undefined
  /** What the caller holds in the organization. */
  readonly standing: Standing
}

export type UpdateRoleFailure = CreateRoleFailure | Failure<'RoleMissing' | 'RoleChanged'>

export type UpdateRole = (call: SignedInCall<Role>, input: UpdateRoleInput) => Outcome<UpdateRoleFailure, Role>

/**
 * Replaces the given parts of a role, in one transaction. Whoever changes its permissions or its teams must hold every
 * permission that the role then has: a role stronger than oneself can be renamed, but not handed on.
 */
export const makeUpdateRole =
  ({ schema, clock, unitOfWork }: CreateRoleDeps): UpdateRole =>
  async (call, { orgId, id, change, expectedVersion, standing }) => {
    const parsed = parseChange(schema, change)
    if (isLeft(parsed)) return parsed
    const wanted = parsed.right
    const giver = { isSiteAdmin: call.principal.isSiteAdmin, standing }

    return unitOfWork.run<UpdateRoleFailure, Role>(call, async ({ roles, audit }) => {
      const taken = await takeRole(roles, { orgId, id, expectedVersion })
      if (isLeft(taken)) return taken
      const role = taken.right
      const permissions = wanted.permissions ?? role.permissions
      if (!isSamePermissions(permissions, role.permissions) || !isSameSet([...new Set(wanted.teamIds ?? role.teamIds)], role.teamIds)) {
        const given = mayGivePermissions(schema, giver, permissions)
        if (isLeft(given)) return given
      }
      const teamIds = wanted.teamIds === undefined ? right(role.teamIds) : await takeRoleTeams(roles, orgId, wanted.teamIds)
      if (isLeft(teamIds)) return teamIds
      const content: RoleContent = {
        name: wanted.name ?? role.name,
        description: wanted.description ?? role.description,
        permissions,
        teamIds: teamIds.right,
      }
      if (isSameContent(role, content)) return right(role)
      const replaced = await roles.replace(role, content, clock.now())
      if (isLeft(replaced)) return replaced
      await audit.record(roleAudit('role.updated', replaced.right, suppliedParts(wanted)))
      return right(replaced.right)
    })
  }

const isSamePermissions = (a: readonly PermissionRef[], b: readonly PermissionRef[]): boolean => isSameSet(a.map(permissionKey), b.map(permissionKey))

const isSameContent = (a: RoleContent, b: RoleContent): boolean =>
  a.name === b.name && a.description === b.description && isSameSet(a.teamIds, b.teamIds) && isSamePermissions(a.permissions, b.permissions)

/** Checks what can be checked without the stored role. */
const parseChange = (
  schema: AuthorizationSchema,
  change: RoleChange,
): Either<Failure<'RoleNameRefused' | 'RolePermissionsEmpty' | 'PermissionUnknown' | 'PermissionIncomplete'>, RoleChange> => {
  const name = change.name === undefined ? right(undefined) : parseRoleName(change.name)
  if (isLeft(name)) return name
  const permissions = change.permissions === undefined ? right(undefined) : parseRolePermissions(schema, change.permissions)
  if (isLeft(permissions)) return permissions
  return right({ ...change, name: name.right, permissions: permissions.right })
}

const suppliedParts = (change: RoleChange): readonly (keyof RoleContent)[] =>
  (['name', 'description', 'permissions', 'teamIds'] as const).filter((part) => change[part] !== undefined)
