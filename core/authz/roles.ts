import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { PermissionRef } from '../kernel/access.ts'
import { permissionKey } from '../kernel/access.ts'
import { isSameSet } from '../kernel/json.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { OrgId, RoleId, TeamId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { Rights } from '../kernel/rights.ts'
import { rightsOfSubject, subjectIn } from '../kernel/rights.ts'
import type { AuditEntry, UnitOfWork } from '../kernel/unit-of-work.ts'
import { accountMask } from './evaluate.ts'
import type { RoleStore, RoleStores } from './ports.ts'
import { AccessDenied } from './ports.ts'
import { mayGivePermissions, parseRoleName, parseRolePermissions } from './role-rules.ts'
import type { AuthorizationSchema } from './schema.ts'
import { relationBit } from './schema.ts'
import type { Role, RoleContent } from './types.ts'

const auditOf = defineAudit('role', ['role.created', 'role.updated', 'role.deleted'], ({ id, name, orgId }: Role) => ({
  objectId: id,
  objectName: name,
  tenantId: orgId,
}))

/** A longer list is replaced by its length: the row must fit its column. */
const maxShownItems = 100

/** Returns the named parts of a role for an audit row. All of a role's content may be shown. */
const shown = (role: RoleContent, parts: readonly (keyof RoleContent)[]): AuditEntry['changes'] => {
  const all = {
    name: role.name,
    description: role.description,
    permissions: listed(role.permissions.map(permissionKey)),
    teamIds: listed(role.teamIds),
  }
  return Object.fromEntries(parts.map((part) => [part, all[part]]))
}

const listed = <A extends string | number>(items: readonly A[]): string | readonly A[] =>
  items.length <= maxShownItems ? items : `${items.length} items`

/** The organization has no role with this id. */
export const RoleMissing = defineFailure('RoleMissing', 'NotFound', 'The role does not exist in the organization.')
/** The role has changed since the version that the caller named. */
export const RoleChanged = defineFailure('RoleChanged', 'StaleVersion', 'The role has changed since it was read.')

const roleMissing = (id: RoleId): Failure<'RoleMissing'> =>
  RoleMissing(`The role ${id} does not exist in the organization.`)

export type GetRole = (
  call: SignedInCall,
  input: { readonly orgId: OrgId; readonly id: RoleId },
) => Outcome<Failure<'RoleMissing'>, Role>

/** Returns a role of the organization. */
export const makeGetRole =
  ({ roles }: { readonly roles: Pick<RoleStore, 'get'> }): GetRole =>
  async (_call, { orgId, id }) => {
    const role = await roles.get(orgId, id)
    return role === undefined ? left(roleMissing(id)) : right(role)
  }

/**
 * Returns the role to change, locked until the transaction ends. `expectedVersion` is the version that the change
 * applies to.
 */
const takeRole = async (
  roles: RoleStore,
  {
    orgId,
    id,
    expectedVersion,
  }: { readonly orgId: OrgId; readonly id: RoleId; readonly expectedVersion: number | undefined },
): Promise<Either<Failure<'RoleMissing' | 'RoleChanged'>, Role>> => {
  const role = await roles.lock(orgId, id)
  if (role === undefined) return left(roleMissing(id))
  return expectedVersion === undefined || expectedVersion === role.version
    ? right(role)
    : left(RoleChanged('The role has changed since you read it. Read it again.'))
}

/** A team does not belong to the role's organization. The failure does not disclose whether it exists elsewhere. */
export const RoleTeamUnknown = defineFailure('RoleTeamUnknown', 'Invalid', 'A team does not exist in the organization.')

/**
 * Returns the teams of a role, each once, ascending. All belong to the organization and are locked until the
 * transaction ends.
 */
const takeRoleTeams = async (
  roles: RoleStore,
  orgId: OrgId,
  wanted: readonly TeamId[],
): Promise<Either<Failure<'RoleTeamUnknown'>, readonly TeamId[]>> => {
  const teamIds = [...new Set(wanted)].sort((a, b) => a - b)
  const own = await roles.lockTeams(orgId, teamIds)
  const foreign = teamIds.filter((id) => !own.has(id)).map(String)
  return foreign.length === 0
    ? right(teamIds)
    : left(RoleTeamUnknown(`These teams do not exist in the organization: ${foreign.join(', ')}`, { errors: foreign }))
}

/**
 * Locks the organization of a role and returns the caller's rights there, which then hold until the transaction ends.
 * The request was authorized before the transaction, so the relation that it needs is checked again.
 * Failure: AccessDenied.
 */
const takeRights = async (
  { rights }: RoleStores,
  schema: AuthorizationSchema,
  { principal }: SignedInCall<never>,
  orgId: OrgId,
  { type, relation }: { readonly type: 'organization' | 'role'; readonly relation: string },
): Promise<Either<Failure<'AccessDenied'>, Rights>> => {
  const subject = (await rights.lock(orgId)) ? await subjectIn(rights, principal, orgId) : undefined
  const compiled = schema.types.get(type)
  if (compiled === undefined) throw new Error(`No plugin declares the object type ${type}.`)
  const held = subject === undefined ? 0n : subject.isSiteAdmin ? compiled.every : accountMask(compiled, subject)
  return (held & relationBit(compiled, relation)) === 0n
    ? left(AccessDenied(`You need "${relation}" on this ${type}.`))
    : right(rightsOfSubject(subject, schema))
}

export interface CreateRoleInput extends RoleContent {
  readonly orgId: OrgId
}

export type CreateRoleFailure = Failure<
  | 'RoleNameRefused'
  | 'RolePermissionsEmpty'
  | 'PermissionUnknown'
  | 'PermissionIncomplete'
  | 'PermissionNotHeld'
  | 'RoleTeamUnknown'
  | 'RoleNameTaken'
  | 'AccessDenied'
>

export type CreateRole = (call: SignedInCall<Role>, input: CreateRoleInput) => Outcome<CreateRoleFailure, Role>

export interface CreateRoleDeps {
  readonly schema: AuthorizationSchema
  readonly clock: Clock
  readonly unitOfWork: UnitOfWork<RoleStores>
}

/** Creates a role and attaches it to teams, in one transaction. The caller must hold every permission of the role. */
export const makeCreateRole =
  ({ schema, clock, unitOfWork }: CreateRoleDeps): CreateRole =>
  async (call, { orgId, ...content }) => {
    const name = parseRoleName(content.name)
    if (isLeft(name)) return name
    const permissions = parseRolePermissions(schema, content.permissions)
    if (isLeft(permissions)) return permissions
    return unitOfWork.run<CreateRoleFailure, Role>(call, async (stores) => {
      const { roles, audit } = stores
      const rights = await takeRights(stores, schema, call, orgId, {
        type: 'organization',
        relation: 'can_create_role',
      })
      if (isLeft(rights)) return rights
      const given = mayGivePermissions(rights.right, permissions.right)
      if (isLeft(given)) return given
      const teamIds = await takeRoleTeams(roles, orgId, content.teamIds)
      if (isLeft(teamIds)) return teamIds
      const role = await roles.insert(
        orgId,
        { name: name.right, description: content.description, permissions: permissions.right, teamIds: teamIds.right },
        clock.now(),
      )
      if (isLeft(role)) return role
      await audit.record(
        auditOf(role.right, 'role.created', shown(role.right, ['name', 'description', 'permissions', 'teamIds'])),
      )
      return right(role.right)
    })
  }

/** The parts to replace. An undefined part is unchanged. */
export type RoleChange = { readonly [Part in keyof RoleContent]: RoleContent[Part] | undefined }

export interface UpdateRoleInput {
  readonly orgId: OrgId
  readonly id: RoleId
  readonly change: RoleChange
  /** If set, the change applies to this version of the role only. */
  readonly expectedVersion: number | undefined
}

export type UpdateRoleFailure = CreateRoleFailure | Failure<'RoleMissing' | 'RoleChanged'>

export type UpdateRole = (call: SignedInCall<Role>, input: UpdateRoleInput) => Outcome<UpdateRoleFailure, Role>

/**
 * Replaces the given parts of a role, in one transaction. To change its permissions or its teams, the caller must hold
 * every permission that the role has afterwards: a role with more permissions than the caller's can be renamed, but not
 * given to others.
 */
export const makeUpdateRole =
  ({ schema, clock, unitOfWork }: CreateRoleDeps): UpdateRole =>
  async (call, { orgId, id, change, expectedVersion }) => {
    const parsed = parseChange(schema, change)
    if (isLeft(parsed)) return parsed
    const wanted = parsed.right
    return unitOfWork.run<UpdateRoleFailure, Role>(call, async (stores) => {
      const { roles, audit } = stores
      const rights = await takeRights(stores, schema, call, orgId, { type: 'role', relation: 'can_edit' })
      if (isLeft(rights)) return rights
      const taken = await takeRole(roles, { orgId, id, expectedVersion })
      if (isLeft(taken)) return taken
      const role = taken.right
      const permissions = wanted.permissions ?? role.permissions
      if (
        !isSamePermissions(permissions, role.permissions) ||
        !isSameSet([...new Set(wanted.teamIds ?? role.teamIds)], role.teamIds)
      ) {
        const given = mayGivePermissions(rights.right, permissions)
        if (isLeft(given)) return given
      }
      const teamIds =
        wanted.teamIds === undefined ? right(role.teamIds) : await takeRoleTeams(roles, orgId, wanted.teamIds)
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
      await audit.record(auditOf(replaced.right, 'role.updated', shown(replaced.right, suppliedParts(wanted))))
      return right(replaced.right)
    })
  }

const isSamePermissions = (a: readonly PermissionRef[], b: readonly PermissionRef[]): boolean =>
  isSameSet(a.map(permissionKey), b.map(permissionKey))

const isSameContent = (a: RoleContent, b: RoleContent): boolean =>
  a.name === b.name &&
  a.description === b.description &&
  isSameSet(a.teamIds, b.teamIds) &&
  isSamePermissions(a.permissions, b.permissions)

/** Performs the checks that do not need the stored role. */
const parseChange = (
  schema: AuthorizationSchema,
  change: RoleChange,
): Either<
  Failure<'RoleNameRefused' | 'RolePermissionsEmpty' | 'PermissionUnknown' | 'PermissionIncomplete'>,
  RoleChange
> => {
  const name = change.name === undefined ? right(undefined) : parseRoleName(change.name)
  if (isLeft(name)) return name
  const permissions =
    change.permissions === undefined ? right(undefined) : parseRolePermissions(schema, change.permissions)
  if (isLeft(permissions)) return permissions
  return right({ ...change, name: name.right, permissions: permissions.right })
}

const suppliedParts = (change: RoleChange): readonly (keyof RoleContent)[] =>
  (['name', 'description', 'permissions', 'teamIds'] as const).filter((part) => change[part] !== undefined)

export interface DeleteRoleInput {
  readonly orgId: OrgId
  readonly id: RoleId
  /** If set, only this version of the role is deleted. */
  readonly expectedVersion: number | undefined
}

export type DeleteRoleFailure = Failure<'RoleMissing' | 'RoleChanged' | 'AccessDenied'>

export type DeleteRole = (call: SignedInCall, input: DeleteRoleInput) => Outcome<DeleteRoleFailure, void>

/** Deletes a role and detaches it from its teams. It no longer applies from the next request of their members. */
export const makeDeleteRole =
  ({ schema, unitOfWork }: Pick<CreateRoleDeps, 'schema' | 'unitOfWork'>): DeleteRole =>
  (call, input) =>
    unitOfWork.run<DeleteRoleFailure, void>(call, async (stores) => {
      const { roles, audit } = stores
      const rights = await takeRights(stores, schema, call, input.orgId, { type: 'role', relation: 'can_delete' })
      if (isLeft(rights)) return rights
      const role = await takeRole(roles, input)
      if (isLeft(role)) return role
      await roles.remove(input.orgId, input.id)
      await audit.record(auditOf(role.right, 'role.deleted', shown(role.right, ['permissions', 'teamIds'])))
      return right(undefined)
    })
