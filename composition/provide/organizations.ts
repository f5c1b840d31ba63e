import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlMembershipStore } from '../../adapters/sql/organizations/membership-store.ts'
import { makeSqlOrganizationStore } from '../../adapters/sql/organizations/organization-store.ts'
import { makeSqlOrganizationTokenStore } from '../../adapters/sql/organizations/organization-token-store.ts'
import { makeSqlTeamStore } from '../../adapters/sql/organizations/team-store.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/unit-of-work.ts'
import { AuditChainToken } from '../../core/audit/ports.ts'
import type { Catalogue } from '../../core/authz/types.ts'
import { permissionKey } from '../../core/kernel/permission.ts'
import {
  MembershipStoreToken,
  OrganizationStoreToken,
  OrganizationTokenStoreToken,
  OrganizationUnitOfWorkToken,
  PermissionLevelsToken,
  TeamStoreToken,
} from '../../core/organizations/ports.ts'
import type { PermissionLevels } from '../../core/organizations/ports.ts'
import type { Provide } from '../boot.ts'

const levelsOf = (catalogue: Catalogue): PermissionLevels => {
  const levels = new Map(catalogue.permissions.map((permission) => [permissionKey(permission), permission.level]))
  return { levelOf: (permission) => levels.get(permissionKey(permission)) }
}

export const provideOrganizations: Provide = (container, boot) => {
  const { database } = boot
  const organizations = makeSqlOrganizationStore(database)
  const teams = makeSqlTeamStore(database)
  const memberships = makeSqlMembershipStore(database)
  const tokens = makeSqlOrganizationTokenStore(database)
  container.provideValue(PermissionLevelsToken, levelsOf(boot.catalogue))
  container.provide(OrganizationStoreToken, () => organizations(database))
  container.provide(TeamStoreToken, () => teams(database))
  container.provide(MembershipStoreToken, () => memberships(database))
  container.provide(OrganizationTokenStoreToken, () => tokens(database))
  container.provide(OrganizationUnitOfWorkToken, (resolve) =>
    makeSqlUnitOfWork(
      database,
      (tx, audit) => ({
        organizations: organizations(tx),
        teams: teams(tx),
        memberships: memberships(tx),
        tokens: tokens(tx),
        audit,
      }),
      makeSqlAuditTrail(database, resolve(AuditChainToken)),
    ),
  )
}
