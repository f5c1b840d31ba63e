import type { RoleId } from '../../../core/kernel/ids.ts'
import type { Organization, Team } from '../../../core/organizations/types.ts'
import type { Columns, Row } from '../kit/columns.ts'
import { aliased, pick, qualified, without } from '../kit/columns.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import { accounts } from '../tables/identity.ts'
import { organizations, teams } from '../tables/organizations.ts'

/** Where the objects of this part's types are. */
export const organizationObjectRows: readonly ObjectRows[] = [
  { type: 'team', table: 'teams', owner: 'org_id' },
  { type: 'robot_ac', table: 'robot_accounts', owner: 'org_id', hasLowerNames: true },
]

const a = aliased(accounts, 'a')

/** The columns of an organization that its owners change, and its type. A new column belongs to them. */
export const profileOfOrganization = without(
  organizations,
  'id',
  'orgType',
  'createdAt',
  'version',
  'twoFactorFrom',
  'twoFactorGraceDays',
  'maxTokenLifeDays',
  'policyVersion',
  'requiresPasskey',
)

/** An organization `o` with its account `a`. */
export const organizationRow = {
  ...pick(aliased(organizations, 'o'), 'id', 'orgType', 'createdAt', 'version'),
  ...qualified(profileOfOrganization, 'o'),
  ...pick(a, 'name', 'avatarDigest'),
}

/** A team `t` without its roles. */
export const teamRow = qualified(without(teams, 'lowerName'), 't')

type Prefixed<C extends Columns> = { readonly [K in keyof C & string as `org${Capitalize<K>}`]: C[K] }

const prefixedName = (field: string): string => `org${field.charAt(0).toUpperCase()}${field.slice(1)}`

const prefixed = <C extends Columns>(columns: C): Prefixed<C> =>
  Object.fromEntries(
    Object.entries(columns).map(([field, column]) => [prefixedName(field), column]),
  ) as unknown as Prefixed<C>

/** A team `t` with its organization: the columns of `o` and `a`, each with the prefix `org_`. */
export const teamInOrganizationRow = { ...prefixed(organizationRow), ...teamRow, orgId: teamRow.orgId }

export const organizationOfTeam = (row: Row<typeof teamInOrganizationRow>): Organization =>
  Object.fromEntries(
    Object.keys(organizationRow).map((field) => [field, row[prefixedName(field) as keyof typeof row]]),
  ) as unknown as Row<typeof organizationRow>

export const teamOf = (row: Row<typeof teamRow>, roleIds: readonly RoleId[]): Team => ({
  id: row.id,
  orgId: row.orgId,
  name: row.name,
  description: row.description,
  permission: row.permission,
  type: row.type,
  roleIds,
  createdAt: row.createdAt,
  version: row.version,
})
