import { token } from '../kernel/token.ts'

/**
 * What anybody may ask for without proving anything, so that there is only so much of it: accounts and password
 * resets, by the IP address that asks, and notices of such requests, by the e-mail address that they go to. Invitations
 * to organizations as well: mail to addresses that others chose, by the inviting person, by organization and address, and
 * by address, whichever organizations they are. Confirmations of addresses, by the user who names them. And questions
 * whether an account has an address, by the user and by the IP address that ask.
 */
export type AllowanceKind =
  | 'sign-up' | 'sign-up-notice' | 'password-reset' | 'invitation' | 'invitation-address' | 'invitation-mailbox' | 'email-confirmation'
  | 'address-check' | 'address-check-network'

/** Counts on the shared store, across instances; when that does not answer, in this process, at half the limits. */
export interface Allowances {
  /** Takes one; the seconds to wait when none is left. */
  take(kind: AllowanceKind, subject: string): Promise<number | undefined>
}
export const AllowancesToken = token<Allowances>('identity.Allowances')
