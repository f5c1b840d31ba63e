import type { IdentityChanges } from '../identity/ports.ts'
import type { DomainStore } from '../identity-providers/ports.ts'
import type { ScimType } from '../formats/scim-types.ts'
import type { Failure, FailureKind, Outcome } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { OrgId, TeamId, UserId } from '../kernel/ids.ts'
import { portKey } from '../kernel/port-key.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { OrganizationStores } from '../organizations/ports.ts'
import type {
  GroupContent,
  GroupLookup,
  GroupMember,
  ProvisionedGroup,
  ProvisionedUser,
  UserContent,
  UserLookup,
  Window,
} from './types.ts'

/** Defines a failure with a `scimType`. */
const defineScimFailure = <Tag extends Capitalize<ScimType>>(tag: Tag, kind: FailureKind, meaning: string) =>
  defineFailure(tag, kind, meaning)

export const InvalidFilter = defineScimFailure('InvalidFilter', 'Invalid', 'The filter is not valid.')
export const TooMany = defineScimFailure('TooMany', 'Invalid', 'The answer would need too many rows.')
export const Uniqueness = defineScimFailure('Uniqueness', 'Conflict', 'Another user or group has the name or address.')
export const Mutability = defineScimFailure('Mutability', 'Invalid', 'The attribute cannot be changed.')
export const InvalidSyntax = defineScimFailure('InvalidSyntax', 'Invalid', 'The body is not as RFC 7644 says.')
export const InvalidPath = defineScimFailure('InvalidPath', 'Invalid', 'The path of an operation is not valid.')
export const NoTarget = defineScimFailure('NoTarget', 'Invalid', 'The path of an operation matches no value.')
export const InvalidValue = defineScimFailure('InvalidValue', 'Invalid', 'A value is missing, or is not valid.')

/** A search over users and groups at once is not served. */
export const SearchUnsupported = defineFailure(
  'SearchUnsupported',
  'Invalid',
  'A search over several kinds of resources is not served.',
)
/** The organization has no such user or group that its directory manages. */
export const ResourceMissing = defineFailure('ResourceMissing', 'NotFound', 'The user or group does not exist.')
export const ResourceChanged = defineFailure(
  'ResourceChanged',
  'StaleVersion',
  'The user or group has changed since it was read.',
)
/** The account must stay, such as that of the last owner. */
export const AccountNeeded = defineFailure('AccountNeeded', 'Conflict', 'The account is still needed.')

export type ReadFailure = Failure<
  'InvalidValue' | 'InvalidPath' | 'InvalidSyntax' | 'Mutability' | 'NoTarget' | 'TooMany'
>

/** Provisioned users, each read and change limited to one organization. Lists are ordered by id. */
export interface ProvisionedUserStore {
  find(orgId: OrgId, id: UserId): Promise<ProvisionedUser | undefined>
  count(orgId: OrgId): Promise<number>
  page(orgId: OrgId, window: Window): Promise<readonly ProvisionedUser[]>
  /** Returns the users after an id, at most `limit`, that meet the condition. */
  after(
    orgId: OrgId,
    lookup: UserLookup | undefined,
    after: UserId | 0,
    limit: number,
  ): Promise<readonly ProvisionedUser[]>
  /** Returns those of the ids that are users of the directory. */
  among(orgId: OrgId, ids: readonly UserId[]): Promise<readonly UserId[]>
  insert(orgId: OrgId, id: UserId, content: UserContent, at: Date): Outcome<Failure<'Uniqueness'>, void>
  /** Replaces the content, and increases the version. */
  update(orgId: OrgId, id: UserId, content: UserContent, at: Date): Outcome<Failure<'Uniqueness'>, void>
  /** Deletes the row alone. */
  remove(orgId: OrgId, id: UserId): Promise<void>
  /** Reports whether the user is a member of another organization. */
  isElsewhere(orgId: OrgId, id: UserId): Promise<boolean>
}
export const ProvisionedUserStorePort = portKey<ProvisionedUserStore>('provisioning.ProvisionedUserStore')

/** Provisioned groups, each read and change limited to one organization. Lists are ordered by id. */
export interface ProvisionedGroupStore {
  find(orgId: OrgId, id: TeamId): Promise<ProvisionedGroup | undefined>
  count(orgId: OrgId): Promise<number>
  page(orgId: OrgId, window: Window): Promise<readonly ProvisionedGroup[]>
  after(
    orgId: OrgId,
    lookup: GroupLookup | undefined,
    after: TeamId | 0,
    limit: number,
  ): Promise<readonly ProvisionedGroup[]>
  /** Marks a team as provisioned. */
  insert(orgId: OrgId, id: TeamId, content: GroupContent, at: Date): Outcome<Failure<'Uniqueness'>, void>
  /** Replaces the content, and increases the version. */
  update(orgId: OrgId, id: TeamId, content: GroupContent, at: Date): Outcome<Failure<'Uniqueness'>, void>
  /** Returns at most `limit` members of the groups who are users of the directory, by group and user. */
  members(ids: readonly TeamId[], limit: number): Promise<readonly GroupMember[]>
  /** Returns those of the users who are in the team. */
  membersAmong(id: TeamId, userIds: readonly UserId[]): Promise<readonly UserId[]>
}
export const ProvisionedGroupStorePort = portKey<ProvisionedGroupStore>('provisioning.ProvisionedGroupStore')

/** The stores of this part, and those of accounts and organizations, bound to one transaction. */
export type ProvisioningStores = IdentityChanges &
  Pick<OrganizationStores, 'memberships' | 'organizations' | 'teams'> & {
    readonly provisionedUsers: ProvisionedUserStore
    readonly provisionedGroups: ProvisionedGroupStore
    readonly domains: Pick<DomainStore, 'hasVerified'>
  }
export const ProvisioningUnitOfWorkPort = portKey<UnitOfWork<ProvisioningStores>>('provisioning.UnitOfWork')
