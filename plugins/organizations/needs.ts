import { IdentitySettingsToken, IdentityStoresToken } from '../../core/identity/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import {
  MembershipStoreToken,
  OrganizationStoreToken,
  OrganizationTokenStoreToken,
  OrganizationUnitOfWorkToken,
  PermissionLevelsToken,
  TeamStoreToken,
} from '../../core/organizations/ports.ts'
import type { Given } from '../kit/plugin.ts'

/** The ports of the organizations plugin. */
export const organizationNeeds = {
  organizations: OrganizationStoreToken,
  teams: TeamStoreToken,
  memberships: MembershipStoreToken,
  tokens: OrganizationTokenStoreToken,
  uow: OrganizationUnitOfWorkToken,
  catalogue: PermissionLevelsToken,
  identity: IdentityStoresToken,
  identitySettings: IdentitySettingsToken,
  clock: ClockToken,
}
export type OrganizationGiven = Given<typeof organizationNeeds>
