import type { Role, RolePrincipal } from '../../../core/authz/types.ts'
import type { OrgId, RoleId, TeamId } from '../../../core/kernel/ids.ts'
import type { PermissionRef } from '../../../core/kernel/access.ts'

export interface RoleRow {
  readonly id: number
  readonly org_id: number
  readonly name: string
  readonly description: string
  readonly created_at: number
  readonly updated_at: number
  readonly version: number
}

export const roleColumns = ['id', 'org_id', 'name', 'description', 'created_at', 'updated_at', 'version'] as const

export interface RolePermissionRow extends PermissionRef {
  readonly role_id: number
}

export interface TeamRoleRow {
  readonly role_id: number
  readonly team_id: number
}

/** A role of its rows. */
export const roleOf = (row: RoleRow, permissions: readonly PermissionRef[], teamIds: readonly number[]): Role => ({
  id: row.id as RoleId,
  orgId: row.org_id as OrgId,
  name: row.name,
  description: row.description,
  permissions: permissions.map(({ namespace, action }) => ({ namespace, action })),
  teamIds: teamIds.map((id) => id as TeamId),
  createdAt: new Date(row.created_at),
  updatedAt: new Date(row.updated_at),
  version: row.version,
})

export interface PrincipalRow {
  readonly type: string
  readonly id: number
  readonly name: string
  readonly display_name: string
  /** MySQL gives the minimum over a union as text. */
  readonly via_team_id: number | string | null
}

export const principalOf = (row: PrincipalRow): RolePrincipal => ({
  type: row.type === 'team' ? 'team' : 'user',
  id: row.id,
  name: row.name,
  displayName: row.display_name,
  ...(row.via_team_id === null ? {} : { viaTeamId: Number(row.via_team_id) as TeamId }),
})
