import type { OrgId, RoleId, TeamId } from '../../../core/kernel/ids.ts'
import type { Organization, Team, TeamPermission, Visibility } from '../../../core/organizations/types.ts'
import type { Num } from '../kit/statement.ts'
import type { ObjectRows } from '../kit/object-rows.ts'

/** Where the objects of this part's types are. */
export const organizationObjectRows: readonly ObjectRows[] = [
  { type: 'team', table: 'teams', owner: 'org_id' },
  { type: 'robot_ac', table: 'robot_accounts', owner: 'org_id', hasLowerNames: true },
]

export interface OrganizationRow {
  readonly id: Num
  readonly name: string
  readonly full_name: string
  readonly email: string
  readonly description: string
  readonly website: string
  readonly location: string
  readonly visibility: string
  readonly org_type: Num
  readonly fleet_endpoint: string
  readonly avatar_digest: string | null
  readonly created_at: Num
  readonly version: Num
}
export const organizationColumns = [
  'o.id',
  'a.name',
  'o.full_name',
  'o.email',
  'o.description',
  'o.website',
  'o.location',
  'o.visibility',
  'o.org_type',
  'o.fleet_endpoint',
  'a.avatar_digest',
  'o.created_at',
  'o.version',
] as const

export const organizationOf = (row: OrganizationRow): Organization => ({
  id: Number(row.id) as OrgId,
  name: row.name,
  fullName: row.full_name,
  email: row.email,
  description: row.description,
  website: row.website,
  location: row.location,
  visibility: row.visibility as Visibility,
  orgType: Number(row.org_type),
  fleetEndpoint: row.fleet_endpoint,
  avatarDigest: row.avatar_digest ?? undefined,
  createdAt: new Date(Number(row.created_at)),
  version: Number(row.version),
})

/** An organization as a part of a team's row: its columns from the tables `o` and `a`, each with the prefix `org_`. */
export type TeamOrganizationRow = {
  readonly [Column in keyof OrganizationRow as `org_${Column}`]: OrganizationRow[Column]
}

/** Without the id, which a team's row has. */
export const teamOrganizationColumns = organizationColumns
  .filter((column) => column !== 'o.id')
  .map((column) => `${column} as org_${column.slice(2)}`)

export const organizationOfTeam = (row: TeamOrganizationRow): Organization =>
  organizationOf({
    id: row.org_id,
    name: row.org_name,
    full_name: row.org_full_name,
    email: row.org_email,
    description: row.org_description,
    website: row.org_website,
    location: row.org_location,
    visibility: row.org_visibility,
    org_type: row.org_org_type,
    fleet_endpoint: row.org_fleet_endpoint,
    avatar_digest: row.org_avatar_digest,
    created_at: row.org_created_at,
    version: row.org_version,
  })

export interface TeamRow {
  readonly id: Num
  readonly org_id: Num
  readonly name: string
  readonly description: string
  readonly permission: string
  readonly type: string
  readonly created_at: Num
  readonly version: Num
}
export const teamColumns = [
  't.id',
  't.org_id',
  't.name',
  't.description',
  't.permission',
  't.type',
  't.created_at',
  't.version',
] as const

export const teamOf = (row: TeamRow, roleIds: readonly RoleId[]): Team => ({
  id: Number(row.id) as TeamId,
  orgId: Number(row.org_id) as OrgId,
  name: row.name,
  description: row.description,
  permission: row.permission as TeamPermission,
  type: row.type,
  roleIds,
  createdAt: new Date(Number(row.created_at)),
  version: Number(row.version),
})
