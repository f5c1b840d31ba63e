import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { DomainNames } from '../ports.ts'
import type { EmailAddress } from '../types.ts'

export const EmailInvalid = defineFailure('EmailInvalid', 'Unprocessable')

const maxLength = 254
const maxLocalLength = 64
/** Atoms of RFC 5322 with single dots between them. */
const localPart = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~][A-Za-z0-9!#$%&'*+/=?^_`{|}~-]*(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const domainLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** A domain in ASCII: labels of 1 to 63 characters, the last not all digits (that would be an IPv4 address). */
const isAsciiDomain = (domain: string): boolean => {
  const labels = domain.split('.')
  return domain.length <= 253 && labels.every((label) => domainLabel.test(label)) && !/^[0-9]+$/.test(labels.at(-1) ?? '')
}

// Control characters and spaces never pass: the reader of international names would drop some of them in silence.
const hasControlOrSpace = (text: string): boolean => /[\s\p{Cc}]/u.test(text)
const isAscii = (text: string): boolean => !/[^\x21-\x7e]/.test(text)

/**
 * Reads an e-mail address: `local@domain`, at most 254 characters, no quoted parts, no address literals. The domain is
 * brought to lower-case ASCII, so that two spellings of one domain are one address.
 */
export const parseEmailAddress = (text: string, domains: DomainNames): Either<Failure<'EmailInvalid'>, EmailAddress> => {
  const refused = left(EmailInvalid('This is not an e-mail address.'))
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
