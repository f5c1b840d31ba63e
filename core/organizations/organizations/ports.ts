import type { OrgId, UserId } from '../../kernel/ids.ts'
import { token } from '../../kernel/token.ts'

/** What an organization requires of its members beyond their rights. */
export interface OrganizationPolicy {
  /** The instant from which members need a second factor; undefined if none is required. */
  readonly secondFactorFrom: Date | undefined
  /** The number of days between switching the requirement on and that instant. */
  readonly graceDays: number
  /** In days; 0 means no limit. */
  readonly maxTokenLifeDays: number
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
export const PolicyStoreToken = token<PolicyStore>('organizations.PolicyStore')
