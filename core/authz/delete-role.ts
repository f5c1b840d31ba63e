import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { OrgId, RoleId } from '../kernel/ids.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { RoleStores } from './ports.ts'
import { roleAudit } from './role-audit.ts'
import { takeRole } from './take-role.ts'

export interface DeleteRoleInput {
  readonly orgId: OrgId
  readonly id: RoleId
  /** The role is to go in this version only. */
  readonly expectedVersion: number | undefined
}

export type DeleteRoleFailure = Failure<'RoleMissing' | 'RoleChanged'>

export type DeleteRole = (call: SignedInCall, input: DeleteRoleInput) => Outcome<DeleteRoleFailure, void>

/** Removes a role and detaches it from its teams: the next request of their members is decided without it. */
export const makeDeleteRole =
  ({ unitOfWork }: { readonly unitOfWork: UnitOfWork<RoleStores> }): DeleteRole =>
  (call, input) =>
    unitOfWork.run<DeleteRoleFailure, void>(call, async ({ roles, audit }) => {
      const role = await takeRole(roles, input)
      if (isLeft(role)) return role
      await roles.remove(input.orgId, input.id)
      await audit.record(roleAudit('role.deleted', role.right, ['permissions', 'teamIds']))
      return right(undefined)
    })
