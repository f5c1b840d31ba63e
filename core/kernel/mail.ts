import type { AccountId } from './ids.ts'
import type { Secret } from './secret.ts'

/** One message to one recipient, as content. The adapter renders it as text and as HTML. */
export interface Mail {
  /** An address in canonical form. */
  readonly to: string
  /** One line without control characters. */
  readonly subject: string
  /** Plain text, one entry per paragraph. User-chosen values (names) are allowed: they are escaped where needed. */
  readonly paragraphs: readonly string[]
  /** The call to action: a link that may itself be a credential, so it is sealed until it is sent. */
  readonly action?: { readonly label: string; readonly url: Secret }
  /** The account that the mail is about, for the log and for clean-up when the account is removed. */
  readonly accountId?: AccountId
}

/**
 * Adds mail to the surrounding transaction. It is sent if, and only if, the transaction commits, at least once, even
 * after a restart.
 */
export interface MailOutbox {
  post(mail: Mail): Promise<void>
}
