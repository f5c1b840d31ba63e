import { left, right } from 'fp-ts/lib/Either.js'
import type { OrgId, RoleId } from '../kernel/brand.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { RoleStores } from './ports.ts'
import { roleAudit } from './role-audit.ts'
import { RoleChanged, RoleMissing } from './update-role.ts'

export interface DeleteRoleInput {
  readonly orgId: OrgId
  readonly id: RoleId
  readonly expectedVersion: number | undefined
}

export type DeleteRole = (call: SignedInCall, input: DeleteRoleInput) => Outcome<Failure<'RoleMissing' | 'RoleChanged'>, void>

/** Removes a role and detaches it from its teams: the next request of their members is decided without it. */
export const makeDeleteRole =
  ({ unitOfWork }: { readonly unitOfWork: UnitOfWork<RoleStores> }): DeleteRole =>
  (call, { orgId, id, expectedVersion }) =>
    unitOfWork.run<Failure<'RoleMissing' | 'RoleChanged'>, void>(call, async ({ roles, audit }) => {
      const role = await roles.lock(orgId, id)
      if (role === undefined) return left(RoleMissing(`There is no role ${id} in this organization.`))
      if (expectedVersion !== undefined && expectedVersion !== role.version) {
        return left(RoleChanged('The role has changed since you read it. Read it again.'))
      }
      await roles.remove(orgId, id)
      await audit.record(roleAudit('role.deleted', role, ['permissions', 'teamIds']))
      return right(undefined)
    })
