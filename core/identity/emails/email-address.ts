import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { DomainNames } from '../ports.ts'
import type { EmailAddress } from '../types.ts'

export const EmailInvalid = defineFailure('EmailInvalid', 'Unprocessable', 'The value is not an e-mail address.')
type Field = 'email' | 'emails'

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
const isEncoded = (domain: string): boolean => /(?:^|\.)xn--/i.test(domain)

/** Returns the domain in lower-case ASCII, or undefined if it is not a domain name. */
const asciiDomain = (text: string, domains: DomainNames): string | undefined => {
  const given = text.normalize('NFC')
  if (hasControlOrSpace(given)) return undefined
  const domain = isAscii(given) && !isEncoded(given) ? given.toLowerCase() : domains.toAscii(given)
  return domain !== undefined && isAsciiDomain(domain) ? domain : undefined
}

/**
 * Returns a text in lower case with the domain of an address in ASCII, as addresses are stored: for look-ups and
 * searches. What follows the last `@` is the domain; a text without `@`, or without a valid domain, keeps its characters.
 */
export const addressKey = (text: string, domains: DomainNames): string => {
  const lower = text.normalize('NFC').toLowerCase()
  const at = lower.lastIndexOf('@')
  if (at < 0 || isAscii(lower.slice(at + 1))) return lower
  const domain = asciiDomain(lower.slice(at + 1), domains)
  return domain === undefined ? lower : `${lower.slice(0, at + 1)}${domain}`
}

/** Returns an address as people read it: its domain in Unicode. */
export const readableAddress = (address: string, domains: DomainNames): string => {
  const at = address.lastIndexOf('@')
  return `${address.slice(0, at + 1)}${domains.toUnicode(address.slice(at + 1))}`
}

const refused = (field: Field, sentence: string): Either<Failure<'EmailInvalid'>, never> =>
  left(EmailInvalid(`${field}: ${sentence}`))

/**
 * Parses an e-mail address: `local@domain`, at most 254 characters, without quoted parts or address literals. Spaces
 * around it are removed. The domain is converted to lower-case ASCII, so that two spellings of one domain are one
 * address. The failure names `field` and the part that is wrong.
 */
export const parseEmailAddress = (
  given: string,
  domains: DomainNames,
  field: Field = 'email',
): Either<Failure<'EmailInvalid'>, EmailAddress> => {
  const text = given.replace(/^ +| +$/g, '')
  const at = text.lastIndexOf('@')
  if (at < 1 || at === text.length - 1) {
    return refused(field, `${field === 'email' ? '' : 'each '}must be an e-mail address, such as ada@example.org.`)
  }
  const local = text.slice(0, at)
  if (local.length > maxLocalLength || !localPart.test(local)) {
    return refused(
      field,
      `the part before the @ must be at most ${maxLocalLength} letters, digits and signs such as . _ + -, without ` +
        'spaces, and with no dot at either end or beside another.',
    )
  }
  const domain = text.length > maxLength ? undefined : asciiDomain(text.slice(at + 1), domains)
  if (domain === undefined) {
    return refused(field, 'the part after the @ must be a domain name, such as example.org.')
  }
  const email = `${local}@${domain}`
  return email.length > maxLength
    ? refused(field, `must have at most ${maxLength} characters.`)
    : right({ text: email, key: email.toLowerCase() })
}
