import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, RoleId } from '../kernel/ids.ts'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { RoleStore } from './ports.ts'
import type { Role } from './types.ts'

/** The organization has no role of this id. */
export const RoleMissing = defineFailure('RoleMissing', 'NotFound')
/** The role changed since the version that the caller named. */
export const RoleChanged = defineFailure('RoleChanged', 'StaleVersion')

export const roleMissing = (id: RoleId): Failure<'RoleMissing'> => RoleMissing(`There is no role ${id} in this organization.`)

/** The role to change, locked until the transaction ends; `expectedVersion` is the version that the change is meant for. */
export const takeRole = async (
  roles: RoleStore,
  { orgId, id, expectedVersion }: { readonly orgId: OrgId; readonly id: RoleId; readonly expectedVersion: number | undefined },
): Promise<Either<Failure<'RoleMissing' | 'RoleChanged'>, Role>> => {
  const role = await roles.lock(orgId, id)
  if (role === undefined) return left(roleMissing(id))
  return expectedVersion === undefined || expectedVersion === role.version
    ? right(role)
    : left(RoleChanged('The role has changed since you read it. Read it again.'))
}
