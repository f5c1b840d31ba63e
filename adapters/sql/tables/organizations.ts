import type { InvitationId } from '../../../core/organizations/invitations/ports.ts'
import type { MembershipRole, TeamPermission, Visibility } from '../../../core/organizations/types.ts'
import type { OrgId, TeamId, UserId } from '../../../core/kernel/ids.ts'
import { fixedBytes, flag, id, instant, int, long, nullable, rowId, table, text, withDefault } from '../kit/columns.ts'

export const organizations = table('organizations', {
  id: id<OrgId>(),
  fullName: withDefault(text(100)),
  email: withDefault(text(254)),
  description: withDefault(text(255)),
  website: withDefault(text(255)),
  location: withDefault(text(50)),
  visibility: withDefault(text<Visibility>(16)),
  orgType: withDefault(int()),
  fleetEndpoint: withDefault(text(255)),
  createdAt: instant(),
  version: withDefault(long()),
  twoFactorFrom: nullable(instant()),
  twoFactorGraceDays: withDefault(int()),
  maxTokenLifeDays: withDefault(int()),
  policyVersion: withDefault(long()),
  requiresPasskey: withDefault(flag()),
})

export const orgMembers = table('org_members', {
  orgId: id<OrgId>(),
  userId: id<UserId>(),
  isPublic: withDefault(flag()),
  createdAt: instant(),
  twoFactorNotice: withDefault(int()),
  isProvisioned: withDefault(flag()),
})

export const teams = table('teams', {
  id: rowId<TeamId>(),
  orgId: id<OrgId>(),
  name: text(255),
  lowerName: text(255),
  description: withDefault(text(255)),
  permission: text<TeamPermission>(16),
  type: withDefault(text(32)),
  createdAt: instant(),
  version: withDefault(long()),
})

export const teamMembers = table('team_members', {
  teamId: id<TeamId>(),
  userId: id<UserId>(),
  orgId: id<OrgId>(),
  createdAt: instant(),
  source: nullable(text(48)),
})

export const orgInvitations = table('org_invitations', {
  id: rowId<InvitationId>(),
  orgId: id<OrgId>(),
  email: text(254),
  lowerEmail: text(254),
  role: text<MembershipRole>(16),
  inviterId: id<UserId>(),
  tokenHash: fixedBytes(32),
  createdAt: instant(),
  expiresAt: instant(),
})

export const orgInvitationTeams = table('org_invitation_teams', {
  invitationId: id<InvitationId>(),
  teamId: id<TeamId>(),
})

export const robotAccounts = table('robot_accounts', {
  id: id<UserId>(),
  orgId: id<OrgId>(),
  name: text(22),
  description: withDefault(text(255)),
  version: withDefault(long()),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    organizations: typeof import('./organizations.ts')
  }
}
