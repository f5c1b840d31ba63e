import type { AccountId, OrgId, TeamId } from './brand.ts'
import type { EntryRules } from './entry-rules.ts'

/**
 * Names one object as a request does: by id, or by the names in its path.
 * An `account` is an organization or a person's own account; relations on it are those of type `organization`.
 */
export type ObjectLocator =
  | { readonly type: 'organization'; readonly name: string }
  | { readonly type: 'account'; readonly name: string }
  | { readonly type: 'team'; readonly id: number }
  | { readonly type: 'role'; readonly id: number; readonly org: string }
  | { readonly type: 'robot_ac'; readonly org: string; readonly name: string }
  | { readonly type: 'cluster'; readonly owner: string; readonly name: string }

/** The type whose relations a locator is checked by. */
export const objectTypeOf = ({ type }: Pick<ObjectLocator, 'type'>): string => (type === 'account' ? 'organization' : type)

export const levels = ['none', 'read', 'write', 'admin', 'owner'] as const
/** How much a team may do in its organization; a higher level includes the lower ones. */
export type Level = (typeof levels)[number]

/** Whether a level includes another. */
export const reaches = (level: Level, atLeast: Level): boolean => levels.indexOf(level) >= levels.indexOf(atLeast)

/** What one person holds in one account, by every path that the organization's teams and roles give. */
export interface Standing {
  readonly accountId: AccountId
  readonly accountKind: 'organization' | 'user'
  readonly accountName: string
  /** The organization lets every signed-in user see that it exists (public or limited). */
  readonly isOpen: boolean
  /** Visible to everyone, so that a token limited to public objects may see it. */
  readonly isPublic: boolean
  /** A member of the organization, or the account is the person's own. Without it nothing below counts. */
  readonly isMember: boolean
  /** The highest level of the person's teams; `owner` in one's own account. */
  readonly level: Level
  /** Permissions of the custom roles of the person's teams, as `namespace/action`. */
  readonly permissions: ReadonlySet<string>
  readonly teamIds: readonly TeamId[]
  /** What the organization demands of the member beyond rights; absent when it demands nothing. */
  readonly entry?: EntryRules
}

/** What authorization found on the way, so that a handler need not look it up again. */
export interface AccessGrant {
  readonly objectType: string
  /** The object's id; for an organization or account, its AccountId. */
  readonly objectId: number
  /** The object's name as stored. */
  readonly objectName: string
  /** The organization or user that owns the object. */
  readonly ownerId: AccountId
  /** Set when the owner is an organization. */
  readonly orgId?: OrgId
  /** The row version of a cluster, as it stood in the same query: what was opened for it is still good. */
  readonly objectVersion?: number
  /** What the caller holds in the owner's account. */
  readonly standing: Standing
}
