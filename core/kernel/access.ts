import type { AccountId, OrgId } from './brand.ts'

/** Names one object as a request does: by id, or by the names in its path. */
export type ObjectLocator =
  | { readonly type: 'organization'; readonly name: string }
  | { readonly type: 'account'; readonly name: string }
  | { readonly type: 'team'; readonly id: number }
  | { readonly type: 'role'; readonly id: number; readonly org: string }
  | { readonly type: 'cluster'; readonly owner: string; readonly name: string }

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
}
