import type { OrgId, RoleId, TeamId, TokenId, UserId } from '../../core/kernel/ids.ts'
import type {
  MembershipStore,
  OrganizationStore,
  OrganizationTokenStore,
  TeamStore,
  PolicyStore,
  RobotStore,
} from '../../core/organizations/ports.ts'
import type { InvitationStore } from '../../core/organizations/invitations/ports.ts'
import type { OrganizationProfile, TeamPermission } from '../../core/organizations/types.ts'
import { emptyProfile } from '../../core/organizations/types.ts'
import { unwrap } from '../support/outcome.ts'

/** The stores of one empty place, and what other parts keep beside them. Made anew for each case. */
export interface StoresFixture {
  readonly organizations: OrganizationStore
  readonly teams: TeamStore
  readonly memberships: MembershipStore
  readonly tokens: OrganizationTokenStore
  readonly invitations: InvitationStore
  readonly policies: PolicyStore
  readonly robots: RobotStore
  user(name: string): Promise<UserId>
  /** A role with these permissions, as `namespace/action`. */
  role(orgId: OrgId, name: string, permissions: readonly string[]): Promise<RoleId>
  removeUser(userId: UserId): Promise<void>
  /** A primary address of the user. */
  email(userId: UserId, address: string, verified: boolean): Promise<void>
  /** A second factor of the user, which counts or waits for its first code. */
  factor(userId: UserId, isEnrolled: boolean): Promise<void>
  cluster(ownerId: number, name: string): Promise<void>
  /** A token of the user, confined to the organization or, with undefined, to none. */
  token(userId: UserId, name: string, onlyOrgId: OrgId | undefined): Promise<TokenId>
  close(): Promise<void>
}

export const at = new Date('2026-05-01T08:00:00.123Z')
export const firstPage = { page: 1, limit: 30 }
export const profile: OrganizationProfile = {
  ...emptyProfile,
  fullName: 'Ünïcode 𝒪rg',
  email: 'office@a.example',
  description: 'all of it',
  website: 'https://a.example',
  location: 'Ðere',
  visibility: 'private',
  fleetEndpoint: 'https://fleet.example',
}

export const addOrganization = async (
  fixture: StoresFixture,
  name: string,
  changes: Partial<OrganizationProfile> = {},
): Promise<OrgId> =>
  unwrap(await fixture.organizations.insert({ ...profile, ...changes, name, orgType: 0, createdAt: at }))

export const addTeam = async (
  fixture: StoresFixture,
  orgId: OrgId,
  name: string,
  permission: TeamPermission = 'read',
): Promise<TeamId> =>
  unwrap(
    await fixture.teams.insert({
      orgId,
      name,
      description: `the ${name}`,
      permission,
      type: 'kubernetes',
      createdAt: at,
    }),
  )
