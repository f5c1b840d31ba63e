import type { AccountId } from './ids.ts'
import type { Secret } from './secret.ts'

/** One message to one person, as content: how it looks as text and as HTML is the adapter's affair. */
export interface Mail {
  /** An address in canonical form. */
  readonly to: string
  /** One line without control characters. */
  readonly subject: string
  /** Plain text, one entry a paragraph. Values that people chose (names) are fine: they are escaped where needed. */
  readonly paragraphs: readonly string[]
  /** The one thing to do: a link that may itself be the credential, so it is sealed until it is sent. */
  readonly action?: { readonly label: string; readonly url: Secret }
  /** Whom it concerns, for the log and for what is left when the account goes. */
  readonly accountId?: AccountId
}

/**
 * Takes mail into the surrounding transaction: it is sent when, and only when, that commits, at least once, and also
 * after a restart.
 */
export interface MailOutbox {
  post(mail: Mail): Promise<void>
}
