import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { UserId } from '../../kernel/ids.ts'
import { portKey } from '../../kernel/port-key.ts'
import type { IdentityChanges } from '../ports.ts'
import type { User } from '../types.ts'

/** Changes of accounts that the directory of an organization manages, in the transactions of other parts. */
export interface DirectoryAccounts {
  /** Changes the full name, and makes the address the primary one. The caller holds the lock on the user's row. */
  edit(
    stores: IdentityChanges,
    user: User,
    changes: { readonly fullName?: string; readonly email?: string },
    at: Date,
  ): Outcome<Failure<'EmailInvalid'> | Failure<'EmailTaken'>, void>
  /**
   * Enables or disables an account. Disabling ends its sessions and deletes its access tokens, with those of
   * kubeconfigs; streams, tunnels and connections to the bus end with them. Refuses the last active site admin.
   */
  setActive(stores: IdentityChanges, user: User, isActive: boolean, at: Date): Outcome<Failure<'LastAdmin'>, void>
  /**
   * Deletes an account that holds nothing. Any other one is deactivated, pending deletion, unless it holds what no other
   * account could take over.
   */
  remove(
    stores: IdentityChanges,
    user: User,
    by: UserId,
    at: Date,
  ): Outcome<Failure<'AccountInUse'> | Failure<'LastAdmin'>, void>
}
export const DirectoryAccountsPort = portKey<DirectoryAccounts>('identity.DirectoryAccounts')
