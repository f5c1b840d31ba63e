import * as t from 'io-ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { AccountId } from '../../../core/kernel/ids.ts'
import type { Mail } from '../../../core/kernel/mail.ts'
import type { Secret } from '../../../core/kernel/secret.ts'
import { secret } from '../../../core/kernel/secret.ts'

const SealedMail = t.intersection([
  t.type({ to: t.string, subject: t.string, paragraphs: t.readonlyArray(t.string) }),
  t.partial({ action: t.type({ label: t.string, url: t.string }) }),
])

/** A mail as the text that is sealed, the link included. */
export const mailToText = ({ to, subject, paragraphs, action }: Mail): Secret =>
  secret(JSON.stringify({ to, subject, paragraphs, ...(action === undefined ? {} : { action: { label: action.label, url: action.url.reveal() } }) }))

/** Throws when the text is none of `mailToText`. */
export const mailOfText = (text: Secret, accountId: AccountId | undefined): Mail => {
  const decoded = SealedMail.decode(JSON.parse(text.reveal()))
  if (isLeft(decoded)) throw new Error('A sealed mail has an unknown form.')
  const { to, subject, paragraphs, action } = decoded.right
  return {
    to,
    subject,
    paragraphs,
    ...(action === undefined ? {} : { action: { label: action.label, url: secret(action.url) } }),
    ...(accountId === undefined ? {} : { accountId }),
  }
}
