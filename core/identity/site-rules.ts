import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import { parseEmailAddress } from './email-address.ts'
import type { DomainNames } from './ports.ts'
import type { SiteRules } from './site-ports.ts'
import type { EmailAddress } from './types.ts'

export const RegistrationClosed = defineFailure('RegistrationClosed', 'Forbidden')
/** The address is of a domain that this site does not take. */
export const EmailDomainRefused = defineFailure('EmailDomainRefused', 'Unprocessable')
export const DomainInvalid = defineFailure('DomainInvalid', 'Unprocessable')

const domainOf = (email: EmailAddress): string => email.key.slice(email.key.lastIndexOf('@') + 1)

/** Whether an address may belong to an ordinary account: exactly one of the domains, not one below it. */
export const isDomainAllowed = (rules: Pick<SiteRules, 'allowedDomains'>, email: EmailAddress): boolean =>
  rules.allowedDomains.length === 0 || rules.allowedDomains.includes(domainOf(email))

/** What whoever gives an address of another domain is told. The domains are public. */
export const emailDomainRefused = (rules: Pick<SiteRules, 'allowedDomains'>): Failure<'EmailDomainRefused'> =>
  EmailDomainRefused(`Only addresses of these domains are taken here: ${rules.allowedDomains.join(', ')}.`)

/** Reads a domain as it would stand in an address: ASCII, lower case, at least two labels. */
export const parseDomain = (text: string, domains: DomainNames): Either<Failure<'DomainInvalid'>, string> => {
  const address = parseEmailAddress(`a@${text}`, domains)
  const domain = isLeft(address) ? '' : domainOf(address.right)
  return domain.includes('.') ? right(domain) : left(DomainInvalid('This is no domain name, as example.org.'))
}
