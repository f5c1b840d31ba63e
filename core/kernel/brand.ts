/** A value that the type checker keeps apart from others of the same representation. */
export type Brand<A, Name extends string> = A & { readonly __brand: Name }

/** Identifiers are integers in 1..2^53-1, allocated by the store. Users and organizations share one sequence: an AccountId is either. */
export type AccountId = Brand<number, 'AccountId'>
export type UserId = AccountId & { readonly __user: true }
export type OrgId = AccountId & { readonly __org: true }
export type TeamId = Brand<number, 'TeamId'>
export type RoleId = Brand<number, 'RoleId'>
export type TokenId = Brand<number, 'TokenId'>
export type SessionId = Brand<number, 'SessionId'>
export type ClusterId = Brand<number, 'ClusterId'>
