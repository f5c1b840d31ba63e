import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { idnaDomainNames } from '../../adapters/security/idna-domain-names.ts'
import { parseEmailAddress } from '../../core/identity/emails/email-address.ts'
import { isDomainAllowed, parseDomain } from '../../core/identity/accounts/site-rules.ts'
import { unwrap } from '../support/outcome.ts'

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/).filter((text) => !text.startsWith('xn--') && !/^..--/.test(text))
const domain = fc.tuple(label, label, fc.stringMatching(/^[a-z]{2,6}$/)).map((labels) => labels.join('.'))
const addressAt = (at: string) => unwrap(parseEmailAddress(`ada@${at}`, idnaDomainNames))

test('a domain is parsed like the domain of an address', (t) => {
  fc.assert(
    fc.property(domain, (text) => {
      t.deepEqual(parseDomain(text.toUpperCase(), idnaDomainNames), parseDomain(text, idnaDomainNames))
      t.is(unwrap(parseDomain(text, idnaDomainNames)), text)
    }),
  )
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = parseDomain(text, idnaDomainNames)
      if (isRight(read)) t.deepEqual(parseDomain(read.right, idnaDomainNames), read)
      if (/[@\s]/.test(text)) t.true(isLeft(read))
    }),
  )
})

test('an address is allowed by its very domain alone, and by an empty list', (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(domain, { minLength: 1, maxLength: 5 }), domain, label, (allowedDomains, other, extra) => {
      const rules = { allowedDomains }
      for (const allowed of allowedDomains) t.true(isDomainAllowed(rules, addressAt(allowed.toUpperCase())))
      t.is(isDomainAllowed(rules, addressAt(other)), allowedDomains.includes(other))
      const [first] = allowedDomains
      for (const near of [`${extra}.${first}`, `${first}.${extra}x`, `${extra}${first}`]) t.is(isDomainAllowed(rules, addressAt(near)), allowedDomains.includes(near), near)
      t.true(isDomainAllowed({ allowedDomains: [] }, addressAt(other)))
    }),
  )
})
