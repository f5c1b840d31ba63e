import type { AvatarStore } from '../identity/accounts/ports.ts'
import type { AccessTokenStore } from '../identity/ports.ts'
import type { EntryContext, PermissionRef } from '../kernel/access.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { OrgId, RoleId, TeamId, TokenId, UserId } from '../kernel/ids.ts'
import type { MailOutbox } from '../mail/ports.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { Principal } from '../kernel/principal.ts'
import type { RightsStore } from '../kernel/rights.ts'
import { portKey } from '../kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import type { InvitationStore } from './invitations/ports.ts'
import type {
  AccountSummary,
  BlockingObject,
  MemberRights,
  Membership,
  Organization,
  OrganizationProfile,
  OrganizationToken,
  Team,
  TeamInOrganization,
  TeamPermission,
  Visibility,
} from './types.ts'

/** Another robot account of the organization has this name. */
export const RobotNameTaken = defineFailure(
  'RobotNameTaken',
  'Unprocessable',
  'Another robot account of the organization has this name.',
)

/** A non-human account: it has no password, no address, and no rights outside its organization. */
export interface Robot {
  readonly id: UserId
  readonly orgId: OrgId
  /** Unique within the organization; lower case. */
  readonly name: string
  /** The organization's name, `+`, and the robot's name. No user's name contains a plus sign. */
  readonly login: string
  readonly description: string
  readonly isActive: boolean
  /** Teams of the organization, ascending. They are the only source of the robot's rights. */
  readonly teamIds: readonly TeamId[]
  readonly createdAt: Date
  readonly version: number
}

export interface NewRobot {
  readonly orgId: OrgId
  readonly orgName: string
  readonly name: string
  readonly description: string
  readonly createdAt: Date
}
export type RobotChanges = Partial<Pick<Robot, 'description' | 'isActive'>>

/** Robot accounts. Each read and change is limited to one organization. */
export interface RobotStore {
  /** Sorted by name. */
  list(orgId: OrgId, page: PageRequest): Promise<Page<Robot>>
  find(orgId: OrgId, id: UserId): Promise<Robot | undefined>
  /** Returns the number of robot accounts of the organization. */
  count(orgId: OrgId): Promise<number>
  /** Inserts account, user, robot and membership, without a team. */
  insert(robot: NewRobot): Outcome<Failure<'RobotNameTaken'>, UserId>
  /**
   * Increments the version. Returns false if the robot does not exist or, with `expectedVersion`, has another version.
   */
  update(orgId: OrgId, id: UserId, changes: RobotChanges, expectedVersion: number | undefined): Promise<boolean>
  /** Deletes the account with its tokens, teams and grants. */
  remove(orgId: OrgId, id: UserId): Promise<void>
}
export const RobotStorePort = portKey<RobotStore>('organizations.RobotStore')

export const maxRobotNameLength = 22
/** Returns the login of a robot. */
export const robotLogin = (orgName: string, name: string): string => `${orgName}+${name}`
/** Reports whether a login is that of a robot account: no name of a person has a plus sign. */
export const isRobotLogin = (login: string): boolean => login.includes('+')

/** What an organization requires of its members beyond their rights. */
export interface OrganizationPolicy {
  /** The instant from which members need a second factor; undefined if none is required. */
  readonly secondFactorFrom: Date | undefined
  /** The number of days between switching the requirement on and that instant. */
  readonly graceDays: number
  /** In days; 0 means no limit. */
  readonly maxTokenLifeDays: number
  /** Whether sessions of members must have been opened with a passkey. */
  readonly requiresPasskey: boolean
  /** Incremented by each change. */
  readonly version: number
}

export type PolicyContent = Omit<OrganizationPolicy, 'version'>

/** The notices about the second factor that a member has received; each includes those before it. */
export const notices = ['none', 'comes', 'near'] as const
export type SecondFactorNotice = (typeof notices)[number]

/** A member who lacks a required second factor and has not received all notices. */
export interface DueNotice {
  readonly orgId: OrgId
  readonly orgName: string
  readonly userId: UserId
  readonly login: string
  readonly email: string
  readonly secondFactorFrom: Date
  readonly told: SecondFactorNotice
}

/** The policies of organizations, and the notices sent. */
export interface PolicyStore {
  find(orgId: OrgId): Promise<OrganizationPolicy | undefined>
  /** Returns false if the organization does not exist or its policy has another version than `expectedVersion`. */
  replace(orgId: OrgId, content: PolicyContent, expectedVersion: number): Promise<boolean>
  hasSecondFactor(userId: UserId): Promise<boolean>
  /** Resets the notices, so that all members are notified again. */
  forgetNotices(orgId: OrgId): Promise<void>
  /**
   * Returns at most `limit` members to notify: at once when the requirement is set, and again when it starts before
   * `nearBefore`.
   */
  dueNotices(nearBefore: Date, limit: number): Promise<readonly DueNotice[]>
  /** Updates conditionally. Returns false if a concurrent run notified the member already, or the member left. */
  markTold(orgId: OrgId, userId: UserId, told: SecondFactorNotice): Promise<boolean>
}
export const PolicyStorePort = portKey<PolicyStore>('organizations.PolicyStore')

/** A user or another organization has this name. */
export const OrganizationNameTaken = defineFailure(
  'OrganizationNameTaken',
  'Unprocessable',
  'Another user or organization has this name.',
)
/** Another team of the organization has this name. */
export const TeamNameTaken = defineFailure(
  'TeamNameTaken',
  'Unprocessable',
  'Another team of the organization has this name.',
)

export interface NewOrganization extends OrganizationProfile {
  readonly name: string
  readonly orgType: number
  readonly createdAt: Date
}

/** Organizations. Names compare without regard to case; lists are ordered by name. */
export interface OrganizationStore {
  findByName(name: string): Promise<Organization | undefined>
  findById(id: OrgId): Promise<Organization | undefined>
  /** Returns the organization that formerly had this name, as long as no other account has taken it. */
  findByFormerName(name: string): Promise<Organization | undefined>
  list(visible: readonly Visibility[], page: PageRequest): Promise<Page<Organization>>
  listOfUser(userId: UserId, page: PageRequest): Promise<Page<Organization>>
  /** Lists the organizations without an owner. */
  listOrphaned(page: PageRequest): Promise<Page<Organization>>
  isOrphaned(id: OrgId): Promise<boolean>
  /**
   * Lists the user's organizations as another user sees them: `visible` ones with public membership, and those of which
   * the viewer is a member.
   */
  listOfUserSeenBy(
    userId: UserId,
    viewerId: UserId | undefined,
    visible: readonly Visibility[],
    page: PageRequest,
  ): Promise<Page<Organization>>
  /** Reserves the name among users and organizations, and deletes a redirect from it. */
  insert(organization: NewOrganization): Outcome<Failure<'OrganizationNameTaken'>, OrgId>
  /** Returns false if the row does not exist or, with `expectedVersion`, has another version. */
  update(id: OrgId, changes: Partial<OrganizationProfile>, expectedVersion: number | undefined): Promise<boolean>
  /**
   * Renames the organization and leaves a redirect under the old name. The logins of its robot accounts change with it,
   * without a redirect.
   */
  rename(id: OrgId, from: string, to: string): Outcome<Failure<'OrganizationNameTaken'>, void>
  /**
   * Deletes the organization with its teams, memberships, roles, grants, robot accounts and the tokens that are
   * restricted to it.
   */
  remove(id: OrgId): Promise<void>
  /**
   * Locks the organization's row until the transaction ends. Every change of teams and memberships takes this lock
   * first, so that rules over several rows (the last owner, the last team) see a consistent state. Returns false if the
   * organization does not exist.
   */
  lock(id: OrgId): Promise<boolean>
  /** Returns at most `limit` objects that refer to the organization and would be orphaned, by type and name. */
  blockingObjects(id: OrgId, limit: number): Promise<readonly BlockingObject[]>
  /** Reports whether the user may create organizations. */
  mayCreate(userId: UserId): Promise<boolean>
}
export const OrganizationStorePort = portKey<OrganizationStore>('organizations.OrganizationStore')

export interface NewTeam {
  readonly orgId: OrgId
  readonly name: string
  readonly description: string
  readonly permission: TeamPermission
  readonly type: string
  readonly createdAt: Date
}
export type TeamChanges = Partial<Pick<Team, 'name' | 'description' | 'permission' | 'type'>>

export interface TeamSearch {
  /** A substring of the name, matched without regard to case. */
  readonly text: string
  readonly includesDescription: boolean
  /** Only teams of which this user is a member. */
  readonly memberId: UserId | undefined
}

/** The organizations that a list of a user's teams covers. */
export interface TeamReach {
  readonly onlyOrgId: OrgId | undefined
  readonly onlyPublic: boolean
  /** Organizations that the caller may not enter are omitted. */
  readonly entry: EntryContext
}

/** The teams of one organization, sorted with `Owners` first, then by name. */
export interface TeamStore {
  findById(id: TeamId): Promise<Team | undefined>
  list(orgId: OrgId, page: PageRequest): Promise<Page<TeamInOrganization>>
  search(orgId: OrgId, search: TeamSearch, page: PageRequest): Promise<Page<TeamInOrganization>>
  /** Lists the teams of a user in all or some organizations, by id. */
  listOfUser(userId: UserId, within: TeamReach, page: PageRequest): Promise<Page<TeamInOrganization>>
  /** Returns the user's teams in one organization, without their roles. They are few, so the list is not paged. */
  listOfMember(orgId: OrgId, userId: UserId): Promise<readonly Team[]>
  /** Returns the oldest team of exactly this level. */
  findByPermission(orgId: OrgId, permission: TeamPermission): Promise<Team | undefined>
  insert(team: NewTeam): Outcome<Failure<'TeamNameTaken'>, TeamId>
  /** Right is false if the row does not exist or, with `expectedVersion`, has another version. */
  update(
    id: TeamId,
    changes: TeamChanges,
    expectedVersion: number | undefined,
  ): Outcome<Failure<'TeamNameTaken'>, boolean>
  /** Deletes the team with its memberships, role attachments and grants. */
  remove(id: TeamId): Promise<void>
  /**
   * Returns the permissions of those roles that belong to the organization; other ids are absent from the map. In a
   * transaction the roles are locked, so that they cannot change between check and attachment.
   */
  rolePermissions(orgId: OrgId, roleIds: readonly RoleId[]): Promise<ReadonlyMap<RoleId, readonly PermissionRef[]>>
  replaceRoles(team: Pick<Team, 'id' | 'orgId'>, roleIds: readonly RoleId[]): Promise<void>
  /** Lists users only, by login. */
  listMembers(id: TeamId, page: PageRequest): Promise<Page<UserId>>
  hasMember(id: TeamId, userId: UserId): Promise<boolean>
  /**
   * Reports whether the team still has a member who can sign in when the user leaves; or, if the user cannot sign in,
   * any other member. Robot accounts do not count.
   */
  staysLedWithout(id: TeamId, userId: UserId): Promise<boolean>
  /**
   * @param source marks a membership that came from outside, such as `provider 7`: it goes when the source no longer
   *   gives it. A membership that was made by hand has none.
   */
  addMember(team: Pick<Team, 'id' | 'orgId'>, userId: UserId, at: Date, source?: string): Promise<void>
  /** Returns the teams that a source gave to a user, in all organizations, without their roles. */
  listProvided(userId: UserId, source: string): Promise<readonly Team[]>
  /** Makes a membership one that was made by hand. */
  unmark(id: TeamId, userId: UserId): Promise<void>
  removeMember(id: TeamId, userId: UserId): Promise<void>
}
export const TeamStorePort = portKey<TeamStore>('organizations.TeamStore')

/**
 * Memberships of organizations. Lists are sorted by login and contain users only; robot accounts are in `RobotStore`.
 */
export interface MembershipStore {
  /** Returns the account with this name, of any kind except robot accounts. */
  findAccount(name: string): Promise<AccountSummary | undefined>
  findAccountById(id: number): Promise<AccountSummary | undefined>
  find(orgId: OrgId, userId: UserId): Promise<Membership | undefined>
  /** Takes one query. A non-member has level `none` and no permissions. */
  rights(orgId: OrgId, userId: UserId): Promise<MemberRights>
  list(orgId: OrgId, only: 'all' | 'public', page: PageRequest): Promise<Page<UserId>>
  /** Returns those of the users who are members, in no particular order. */
  among(orgId: OrgId, userIds: readonly UserId[]): Promise<readonly UserId[]>
  /** Inserts a membership; with `isProvisioned`, one that the directory of the organization manages. */
  add(orgId: OrgId, userId: UserId, at: Date, isProvisioned?: boolean): Promise<void>
  /** Makes a membership one that the directory of the organization manages. */
  markProvisioned(orgId: OrgId, userId: UserId): Promise<void>
  /** Deletes the membership, and the user's team memberships and direct grants in the organization. */
  remove(orgId: OrgId, userId: UserId): Promise<void>
  setPublic(orgId: OrgId, userId: UserId, isPublic: boolean): Promise<void>
  /**
   * Removes the users who are in no team of the organization, as `remove` does, and returns their number. Provisioned
   * memberships stay.
   */
  removeWithoutTeam(orgId: OrgId): Promise<number>
}
export const MembershipStorePort = portKey<MembershipStore>('organizations.MembershipStore')

/** Access tokens that are restricted to one organization. Tokens with a wider reach are managed by their owner only. */
export interface OrganizationTokenStore {
  list(orgId: OrgId, page: PageRequest): Promise<Page<OrganizationToken>>
  find(orgId: OrgId, id: TokenId): Promise<OrganizationToken | undefined>
  remove(orgId: OrgId, id: TokenId): Promise<boolean>
}
export const OrganizationTokenStorePort = portKey<OrganizationTokenStore>('organizations.OrganizationTokenStore')

/** Reports whether the credential of a request is still in force, as its transaction sees it. */
export interface CallerProof {
  isStillProven(principal: Principal): Promise<boolean>
}

/** An organization that another part creates. An absent field of the profile is empty, and the visibility public. */
export interface FoundedOrganization {
  readonly name: string
  readonly profile: Partial<OrganizationProfile>
  readonly orgType: number
  /** The only member at first, in the team Owners. */
  readonly ownerId: UserId
}

/** Creates organizations in the transaction of another part. */
export interface OrganizationFounder {
  /** Inserts the organization with its first teams and its owner, and records it in its audit log. */
  found(
    organization: FoundedOrganization,
    at: Date,
  ): Outcome<Failure<'OrganizationNameRefused' | 'OrganizationFieldRefused' | 'OrganizationNameTaken'>, Organization>
}

/** The changes of a reconciliation. `kept` counts memberships of last owners, which stay with their mark. */
export interface ReconciledTeams {
  readonly entered: number
  readonly left: number
  readonly kept: number
}

/** Memberships that come from outside of the service: from an identity provider, or by provisioning. */
export interface ProvidedMemberships {
  /**
   * Puts a user into these teams, and so into their organizations, and takes the user out of the other teams that the
   * same source gave. Memberships that were made by hand, or by another source, stay as they are; so does the last
   * owner of an organization. Runs inside a transaction, and locks the organizations. The caller decides which teams a
   * source may give.
   */
  reconcile(
    stores: Pick<OrganizationStores, 'audit' | 'memberships' | 'organizations' | 'teams'>,
    user: { readonly id: UserId; readonly login: string },
    given: { readonly source: string; readonly teamIds: readonly TeamId[]; readonly at: Date },
  ): Promise<ReconciledTeams>
}
export const ProvidedMembershipsPort = portKey<ProvidedMemberships>('organizations.ProvidedMemberships')

/** The stores of this part, bound to one transaction. */
export interface OrganizationStores {
  readonly organizations: OrganizationStore
  readonly teams: TeamStore
  readonly memberships: MembershipStore
  readonly rights: RightsStore
  readonly tokens: OrganizationTokenStore
  readonly invitations: InvitationStore
  readonly policies: PolicyStore
  readonly robots: RobotStore
  readonly accessTokens: AccessTokenStore
  readonly callers: CallerProof
  readonly avatars: AvatarStore
  readonly audit: AuditTrail
  readonly mail: MailOutbox
}
export const OrganizationUnitOfWorkPort = portKey<UnitOfWork<OrganizationStores>>('organizations.UnitOfWork')
