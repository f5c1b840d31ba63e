import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { DomainNames } from '../ports.ts'
import type { EmailAddress } from '../types.ts'

export const EmailInvalid = defineFailure('EmailInvalid', 'Unprocessable', 'The value is not an e-mail address.')

const maxLength = 254
const maxLocalLength = 64
/** RFC 5322 atoms separated by single dots. */
const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~][A-Za-z0-9!#$%&'*+/=?^_`{|}~-]*(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const domainLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** A domain in ASCII: labels of 1 to 63 characters. The last is not all digits, which would be an IPv4 address. */
const isAsciiDomain = (domain: string): boolean => {
  const labels = domain.split('.')
  return (
    domain.length <= 253 && labels.every((label) => domainLabel.test(label)) && !/^[0-9]+$/.test(labels.at(-1) ?? '')
  )
}

// Control characters and spaces are refused: the IDNA conversion would silently drop some of them.
const hasControlOrSpace = (text: string): boolean => /[\s\p{Cc}]/u.test(text)
const isAscii = (text: string): boolean => !/[^\x21-\x7e]/.test(text)

/**
 * Parses an e-mail address: `local@domain`, at most 254 characters, without quoted parts or address literals. The
 * domain is converted to lower-case ASCII, so that two spellings of one domain are one address. The failure names
 * `field`.
 */
export const parseEmailAddress = (
  text: string,
  domains: DomainNames,
  field: 'email' | 'emails' = 'email',
): Either<Failure<'EmailInvalid'>, EmailAddress> => {
  const refused = left(
    EmailInvalid(field === 'email' ? 'email: must be an e-mail address.' : 'emails: each must be an e-mail address.'),
  )
  const at = text.lastIndexOf('@')
  if (text.length > maxLength || at < 1 || hasControlOrSpace(text)) return refused
  const local = text.slice(0, at)
  if (local.length > maxLocalLength || !localPart.test(local)) return refused
  const given = text.slice(at + 1).normalize('NFC')
  const domain = isAscii(given) ? given.toLowerCase() : domains.toAscii(given)
  if (domain === undefined || !isAsciiDomain(domain)) return refused
  const email = `${local}@${domain}`
  return email.length > maxLength ? refused : right({ text: email, key: email.toLowerCase() })
}
