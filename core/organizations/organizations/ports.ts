import type { OrgId, UserId } from '../../kernel/ids.ts'
import { token } from '../../kernel/token.ts'

/** What an organization demands of its members beyond their rights. */
export interface OrganizationPolicy {
  /** From then on members need a second factor; undefined when they need none. */
  readonly secondFactorFrom: Date | undefined
  /** How long after the switch that is. */
  readonly graceDays: number
  /** 0: tokens may live for ever. */
  readonly maxTokenLifeDays: number
  /** Raised by one at each change. */
  readonly version: number
}

export type PolicyContent = Omit<OrganizationPolicy, 'version'>

/** What a member was told of the need for a second factor; each includes those before it. */
export const notices = ['none', 'comes', 'near'] as const
export type SecondFactorNotice = (typeof notices)[number]

/** A member who has no second factor where one is needed, and was not told all there is to tell. */
export interface DueNotice {
  readonly orgId: OrgId
  readonly orgName: string
  readonly userId: UserId
  readonly login: string
  readonly email: string
  readonly secondFactorFrom: Date
  readonly told: SecondFactorNotice
}

/** Policies of organizations, and who was told of them. */
export interface PolicyStore {
  find(orgId: OrgId): Promise<OrganizationPolicy | undefined>
  /** False when the organization is gone or its policy has another version than `expectedVersion`. */
  replace(orgId: OrgId, content: PolicyContent, expectedVersion: number): Promise<boolean>
  hasSecondFactor(userId: UserId): Promise<boolean>
  /** All members are to be told anew. */
  forgetNotices(orgId: OrgId): Promise<void>
  /** Members to tell at `now`: at once when it comes, once more when it begins before `nearBefore`. At most `limit`. */
  dueNotices(nearBefore: Date, limit: number): Promise<readonly DueNotice[]>
  /** One conditional update: false when somebody else told the member already, or the member left. */
  markTold(orgId: OrgId, userId: UserId, told: SecondFactorNotice): Promise<boolean>
}
export const PolicyStoreToken = token<PolicyStore>('organizations.PolicyStore')
