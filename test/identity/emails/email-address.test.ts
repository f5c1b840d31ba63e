import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { idnaDomainNames } from '../../../adapters/security/idna-domain-names.ts'
import { addressKey, parseEmailAddress, readableAddress } from '../../../core/identity/emails/email-address.ts'
import { anyText } from '../../support/any-text.ts'
import { unwrap } from '../../support/outcome.ts'

const domains = idnaDomainNames
const emailOf = (text: string): string | undefined => {
  const email = parseEmailAddress(text, domains)
  return isLeft(email) ? undefined : email.right.text
}

test('e-mail addresses are accepted and refused by their form', (t) => {
  t.is(emailOf('Ada.L+x@Example.ORG'), 'Ada.L+x@example.org')
  t.is(emailOf('ada@bücher.example'), 'ada@xn--bcher-kva.example')
  t.is(emailOf('ada@bu\u0308cher.example'), 'ada@xn--bcher-kva.example')
  t.is(emailOf('admin@localhost'), 'admin@localhost')
  t.is(emailOf('  ada@example.org '), 'ada@example.org')
  t.is(emailOf('ada@BÜCHER.example'), 'ada@xn--bcher-kva.example')
  t.is(emailOf('ada@XN--BCHER-KVA.example'), 'ada@xn--bcher-kva.example')
  const refused = [
    '',
    '@',
    'ada',
    'ada@',
    '@example.org',
    'a b@example.org',
    'a@b@example.org',
    '-ada@example.org',
    '.ada@example.org',
    'ada.@example.org',
    'a..b@example.org',
    'a,b@example.org',
    'ada@exa mple.org',
    'ada@-x.org',
    'ada@x-.org',
    'ada@.org',
    'ada@x..org',
    'ada@127.0.0.1',
    'ada@[::1]',
    'ada@ex%41mple.org',
    'ada@exämple%2eorg',
    '"ada"@example.org',
    'ada\n@example.org',
    'ada@example.org\n',
    'ädä@example.org',
    `ada@${'x'.repeat(64)}.org`,
    `${'a'.repeat(65)}@example.org`,
    `${'a'.repeat(64)}@${'x.'.repeat(100)}org`,
    'Ada <ada@example.org>',
    'ada@exa\u0000mple.org',
    'ada@１２７.0.0.1',
    'ada@☃.example',
    'ada@xn--n3h.example',
    'ada@💩.example',
    'ada@xn--a.example',
    'ada@xn--zzzzzzzzzzzzzz.example',
  ]
  for (const text of refused) t.is(emailOf(text), undefined, JSON.stringify(text))
})

test('a refused address names the part that is wrong', (t) => {
  const reason = (text: string) => {
    const parsed = parseEmailAddress(text, domains)
    return isLeft(parsed) ? parsed.left.message : ''
  }
  t.regex(reason('ada'), /^email: must be an e-mail address, such as/)
  t.regex(reason('a..b@example.org'), /^email: the part before the @ must be/)
  t.regex(reason('ada@☃.example'), /^email: the part after the @ must be a domain name/)
})

test('a look-up by address compares the domain in ASCII, and people read it in Unicode', (t) => {
  t.is(addressKey('Ada@BÜCHER.example', domains), 'ada@xn--bcher-kva.example')
  t.is(addressKey('Ada', domains), 'ada')
  t.is(addressKey('Jürgen', domains), 'jürgen')
  t.is(addressKey('@bücher.example', domains), '@xn--bcher-kva.example')
  t.is(readableAddress('ada@xn--bcher-kva.example', domains), 'ada@bücher.example')
  fc.assert(
    fc.property(fc.constantFrom('bücher', '例え', 'пример', 'münchen', 'straße'), (label) => {
      const address = unwrap(parseEmailAddress(`ada@${label}.example`, domains))
      return (
        addressKey(`ADA@${label}.example`, domains) === address.key &&
        readableAddress(address.text, domains) === `ada@${label}.example`
      )
    }),
  )
})

test('a canonical address is stable and its key ignores case', (t) => {
  fc.assert(
    fc.property(fc.emailAddress(), (text) => {
      const once = parseEmailAddress(text, domains)
      if (isLeft(once)) return true
      t.true(once.right.text.length <= 254)
      t.deepEqual(parseEmailAddress(once.right.text, domains), once)
      const shouted = parseEmailAddress(text.toUpperCase(), domains)
      return isRight(shouted) && shouted.right.key === once.right.key
    }),
  )
  fc.assert(fc.property(anyText(), (text) => isLeft(parseEmailAddress(text, domains)) || text.includes('@')))
})
