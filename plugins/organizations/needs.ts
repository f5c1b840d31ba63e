import { IdentitySettingsToken, IdentityStoresToken } from '../../core/identity/ports.ts'
import { AllowancesToken } from '../../core/identity/authentication/ports.ts'
import { ContentDigestToken } from '../../core/identity/accounts/ports.ts'
import { ConfinedTokensToken } from '../../core/identity/tokens/ports.ts'
import { PictureMakerToken } from '../../core/kernel/picture.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import { PermissionLevelsToken } from '../../core/kernel/rights.ts'
import { EntropyToken } from '../../core/kernel/entropy.ts'
import { AddressReaderToken, InvitationStoreToken, InvitationTokensToken } from '../../core/organizations/invitations/ports.ts'
import { PolicyStoreToken } from '../../core/organizations/organizations/ports.ts'
import { RobotStoreToken } from '../../core/organizations/robots/ports.ts'
import {
  MembershipStoreToken,
  OrganizationStoreToken,
  OrganizationTokenStoreToken,
  OrganizationUnitOfWorkToken,
  TeamStoreToken,
} from '../../core/organizations/ports.ts'
import type { Given } from '../kit/plugin.ts'

/** The ports of the organizations plugin. */
export const organizationNeeds = {
  organizations: OrganizationStoreToken,
  teams: TeamStoreToken,
  memberships: MembershipStoreToken,
  tokens: OrganizationTokenStoreToken,
  invitations: InvitationStoreToken,
  invitationTokens: InvitationTokensToken,
  addresses: AddressReaderToken,
  allowances: AllowancesToken,
  policies: PolicyStoreToken,
  robots: RobotStoreToken,
  confinedTokens: ConfinedTokensToken,
  pictures: PictureMakerToken,
  contentDigest: ContentDigestToken,
  uow: OrganizationUnitOfWorkToken,
  catalogue: PermissionLevelsToken,
  identity: IdentityStoresToken,
  identitySettings: IdentitySettingsToken,
  clock: ClockToken,
  entropy: EntropyToken,
}
export type OrganizationGiven = Given<typeof organizationNeeds>
