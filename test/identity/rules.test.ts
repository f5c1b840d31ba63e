import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { makeListedCommonPasswords } from '../../adapters/security/passwords.ts'
import { sha256TokenDigest } from '../../adapters/security/digests.ts'
import { idnaDomainNames } from '../../adapters/security/idna-domain-names.ts'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'
import { identitySettings } from '../../composition/parts/identity/settings.ts'
import { isDomainAllowed, parseDomain } from '../../core/identity/site-rules.ts'
import { readProfile } from '../../core/identity/accounts/users.ts'
import { servesReset } from '../../core/identity/authentication/passwords.ts'
import { checkPassword } from '../../core/identity/authentication/password-policy.ts'
import { parseEmailAddress } from '../../core/identity/emails/email-address.ts'
import type { RememberedLogin } from '../../core/identity/sessions/ports.ts'
import {
  hasRememberCookieForm,
  newRememberSecret,
  newSeries,
  parseRememberCookie,
  rememberCookieValue,
} from '../../core/identity/sessions/remembered-logins.ts'
import {
  checkRememberSecret,
  isMarkDue,
  isSessionAlive,
  newSessionTimes,
  renewedIdleExpiry,
} from '../../core/identity/sessions/sessions.ts'
import { parseScopeWords, scopeCovers, scopeSetOf, wordsOfScope } from '../../core/identity/tokens/scopes.ts'
import { hasAccessTokenForm, lastEightOf, makeAccessToken } from '../../core/identity/tokens/access-tokens.ts'
import { randomBase62, secret } from '../../core/kernel/secret.ts'
import type { RememberedId } from '../../core/identity/types.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { parseAccountName } from '../../core/kernel/ids.ts'
import { allows, scopeCategories } from '../../core/kernel/principal.ts'
import { unwrap } from '../support/outcome.ts'
import { testSettings } from './identity-fixture.ts'

const rotationGraceSeconds = 30

const digest = sha256TokenDigest
const entropy = systemEntropy
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

test('the checksum of a token is the CRC-32 of zip', (t) => {
  t.is(digest.checksum('123456789'), 0xcbf43926)
})

test('a language that was read is read again as it is', (t) => {
  const subtag = fc.stringMatching(/^[A-Za-z0-9]{1,8}$/)
  const tag = fc.tuple(
    fc.stringMatching(/^[A-Za-z]{2,8}$/),
    fc.array(
      fc.tuple(fc.constantFrom('-', '_'), subtag).map((pair) => pair.join('')),
      { maxLength: 3 },
    ),
  )
  fc.assert(
    fc.property(tag, ([first, rest]) => {
      const language = [first, ...rest].join('')
      const read = readProfile({ language })
      if (isLeft(read)) return false
      const spelled = read.right.language
      t.is(spelled.toLowerCase(), language.toLowerCase().replaceAll('_', '-'))
      t.deepEqual(readProfile({ language: spelled }), read)
      return true
    }),
  )
})

test('a made token has the form, and one changed character breaks it', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 5, max: 40 }), fc.integer({ min: 1, max: 61 }), (position, shift) => {
      const token = makeAccessToken(entropy, digest)
      t.regex(token, /^moor_[0-9A-Za-z]{36}$/)
      t.true(hasAccessTokenForm(token, digest))
      const other = base62.charAt((base62.indexOf(token.charAt(position)) + shift) % 62)
      return !hasAccessTokenForm(token.slice(0, position) + other + token.slice(position + 1), digest)
    }),
  )
})

test('tokens of the lineage are accepted, and other forms are not tokens', (t) => {
  t.true(hasAccessTokenForm('0123456789abcdef0123456789abcdef01234567', digest))
  for (const text of [
    '',
    'moor_',
    '0123456789ABCDEF0123456789ABCDEF01234567',
    'correct horse battery staple',
    'a'.repeat(40),
    '0'.repeat(41),
  ]) {
    t.is(hasAccessTokenForm(text, digest), text === 'a'.repeat(40), text)
  }
})

test('every character of a token is equally likely', (t) => {
  const seen = new Map<string, number>()
  for (const character of randomBase62(entropy, 62_000)) seen.set(character, (seen.get(character) ?? 0) + 1)
  t.is(seen.size, 62)
  // 1,000 expected each; eight standard deviations.
  for (const [character, count] of seen) t.true(count > 750 && count < 1250, `${character}: ${count}`)
  t.is(lastEightOf('moor_abcdefghij'), 'cdefghij')
})

const scopeWord = fc.constantFrom(
  'all',
  'public-only',
  'sudo',
  ...scopeCategories.flatMap((c) => [`read:${c}`, `write:${c}`]),
  'read:repository',
  'write:issue',
)

test('scope words survive the round trip, without ineffective ones', (t) => {
  fc.assert(
    fc.property(fc.array(scopeWord, { minLength: 1 }), (words) => {
      const parsed = parseScopeWords(words)
      if (isLeft(parsed)) return false
      t.true(parsed.right.join(' ').length <= 512)
      t.deepEqual(scopeSetOf(parsed.right), scopeSetOf(words))
      t.deepEqual(scopeSetOf(wordsOfScope(scopeSetOf(words))), scopeSetOf(words))
      return true
    }),
  )
})

test('a covering scope allows everything that the covered one does', (t) => {
  const scopes = fc.array(scopeWord, { minLength: 1 }).map(scopeSetOf)
  fc.assert(
    fc.property(scopes, scopes, (held, asked) => {
      t.true(scopeCovers(held, held))
      if (!scopeCovers(held, asked)) return true
      t.true(held.sudo || !asked.sudo)
      return scopeCategories.every((category) =>
        (['read', 'write'] as const).every(
          (level) => !allows(asked, { category, level }) || allows(held, { category, level }),
        ),
      )
    }),
  )
})

test('absent scopes are all, an empty list is a mistake, an unknown word is named', (t) => {
  t.deepEqual(parseScopeWords(undefined), { _tag: 'Right', right: ['all'] })
  t.like(parseScopeWords([]), { _tag: 'Left', left: { tag: 'ScopesEmpty', kind: 'Unprocessable' } })
  t.like(parseScopeWords(['read:user', 'admin:org']), {
    _tag: 'Left',
    left: { tag: 'ScopeUnknown', kind: 'Unprocessable', errors: ['scopes: admin:org'] },
  })
  t.deepEqual(scopeSetOf(['write:package', 'read:notification']).levels, {})
  t.true(isRight(parseScopeWords(['write:package', 'read:activitypub'])))
  t.deepEqual(parseScopeWords(['read:user', 'write:user', 'read:user']), { _tag: 'Right', right: ['write:user'] })
})

test('names have 1 to 40 characters, single signs and no reserved word', (t) => {
  for (const name of ['a', 'tu1', 'Ada-Lovelace', 'a.b_c-d', 'x'.repeat(40)])
    t.true(isRight(parseAccountName(name)), name)
  for (const name of [
    '',
    '-a',
    'a-',
    'a--b',
    'a.-b',
    '.',
    '..',
    'a@b',
    'a b',
    'ä',
    'a/b',
    'x'.repeat(41),
    'a\n',
    '_a',
  ]) {
    t.like(parseAccountName(name), { left: { reason: 'INVALID' } }, JSON.stringify(name))
  }
  for (const name of [
    'api',
    'API',
    'Admin',
    'search',
    'claim',
    'proxy',
    'inactive',
    'available_products',
    'batch-delete',
    'a.png',
    'x.KEYS',
    'swagger',
  ])
    t.like(parseAccountName(name), { left: { reason: 'RESERVED' } }, name)
  fc.assert(
    fc.property(
      fc.string({ maxLength: 60 }),
      (name) => isLeft(parseAccountName(name)) || /^[0-9A-Za-z](?:[-._]?[0-9A-Za-z]+)*$/.test(name),
    ),
  )
})

const common = makeListedCommonPasswords()
const check = (password: string, login = 'ada', emails: readonly string[] = ['ada.lovelace@example.org']) =>
  isRight(checkPassword({ minLength: 12, common }, secret(password), { login, emails, fullName: 'Ada Lovelace' }))

test('passwords: long ones of any make are fine', (t) => {
  for (const password of [
    'a long passphrase',
    'correct horse battery',
    '😀😁😂🤣😃😄😅😆😉😊😋😎',
    ' leading and trailing ',
    'x'.repeat(3) + 'k7Pq'.repeat(3) + 'z',
  ])
    t.true(check(password), password)
  t.true(check('long and made of many words '.repeat(9).slice(0, 255) + '!'))
})

test('weak, personal and malformed passwords are refused', (t) => {
  const refused = [
    '',
    'elevenchars',
    'x'.repeat(257),
    '1qaz2wsx3edc',
    'QWERTY123456',
    'qwertyuiop123',
    'Dragon!!123456',
    '0000password0000',
    'abcabcabcabc',
    'aaaaaaaaaaaa',
    'abcdefghijklm',
    '123456789012345'.slice(0, 9) + ':;<',
    'zyxwvutsrqponm',
    'ada.lovelace@example.org',
    'Lovelace-1815',
    'ada lovelace1',
    '😀😁😂🤣😃😄😅😆😉😊😋',
  ]
  for (const password of refused) t.false(check(password), password)
  t.false(check('superuser7-x', 'superuser7'))
  t.false(check('Moorage-2026'), 'the product')
  const onSite = (password: string) =>
    isRight(
      checkPassword({ minLength: 12, common, siteWords: () => ['harbour.example.org'] }, secret(password), {
        login: 'ada',
        emails: [],
      }),
    )
  t.false(onSite('harbour.example.org1'), 'the host')
  t.true(onSite('sailing to the far moorage by night'), 'a long phrase that has the word')
  const says = (password: string) => {
    const checked = checkPassword({ minLength: 12, common }, secret(password), { login: 'ada', emails: [] })
    return isRight(checked) ? 'fine' : checked.left.message
  }
  t.regex(says('elevenchars'), /is too short: it has 11 of at least 12 characters \(MOORAGE_PASSWORD_MIN_LENGTH\)/)
  t.true(Object.values(identitySettings).some(({ env }) => env === 'MOORAGE_PASSWORD_MIN_LENGTH'))
  t.regex(says('1qaz2wsx3edc'), /is on the list of common passwords/)
  t.regex(says('hedgehog!9371'), /contains a common password/)
  t.notRegex(says('hedgehog!9371'), /is on the list/)
  t.regex(says('x'.repeat(257)), /is too long/)
  t.regex(says('abcabcabcabc'), /repeats itself/)
  t.regex(says('abcdefghijklm'), /is a run/)
  t.regex(says('Moorage-2026'), /too close to .*MOORAGE_PASSWORD_MIN_LENGTH/)
  t.is(common.includes('password'), true)
  t.is(common.includes(''), false)
  t.is(common.includes('password\nqwerty'), false)
})

test('a session: idle an hour, a day in all, and no longer than its remembered login', (t) => {
  const now = new Date('2026-05-01T00:00:00Z')
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1000)
  const plain = newSessionTimes(testSettings, now)
  t.deepEqual(plain, { idleExpiresAt: at(3600), expiresAt: at(86_400) })
  t.true(isSessionAlive(plain, at(3599)))
  t.false(isSessionAlive(plain, at(3600)))
  t.deepEqual(renewedIdleExpiry(testSettings, plain, at(1800)), at(5400))
  t.deepEqual(renewedIdleExpiry(testSettings, plain, at(86_000)), at(86_400))
  t.deepEqual(newSessionTimes(testSettings, now, at(7200)), { idleExpiresAt: at(3600), expiresAt: at(7200) })
  t.deepEqual(newSessionTimes(testSettings, now, at(60)), { idleExpiresAt: at(60), expiresAt: at(60) })
  t.true(isMarkDue(undefined, now))
  t.false(isMarkDue(now, at(59)))
  t.true(isMarkDue(now, at(60)))
})

test('a password is reset through an address confirmed for a day', (t) => {
  const now = new Date('2026-05-10T08:00:00.000Z')
  const hoursAgo = (hours: number) => new Date(now.getTime() - hours * 3_600_000)
  const serves = (accountHours: number, verifiedHours: number | undefined) =>
    servesReset(
      { createdAt: hoursAgo(accountHours) },
      {
        verified: verifiedHours !== undefined,
        verifiedAt: verifiedHours === undefined ? undefined : hoursAgo(verifiedHours),
      },
      now,
    )
  t.deepEqual([serves(1000, 24), serves(1000, 23), serves(23, 0), serves(1000, 1000)], [true, false, true, true])
  t.deepEqual([serves(1000, undefined), serves(1, undefined)], [false, false])
})

const start = Date.UTC(2026, 4, 1)
const hash = (n: number): Uint8Array => new Uint8Array(32).fill(n % 251, 0, 16).fill(Math.floor(n / 251), 16)

/** A login whose secret was changed at these seconds after its making; the n-th secret has `hash(n)`. */
const changedAt = (seconds: readonly number[]): RememberedLogin => {
  const last = seconds.at(-1)
  return {
    id: 1 as RememberedId,
    userId: 1 as UserId,
    createdAt: new Date(start),
    expiresAt: new Date(start + 2_592_000_000),
    secretHash: hash(seconds.length),
    previousHash: last === undefined ? undefined : hash(seconds.length - 1),
    rotatedAt: last === undefined ? undefined : new Date(start + last * 1000),
    proof: undefined,
  }
}

test('only the last secret of a login is valid, the previous one for 30 seconds', (t) => {
  const steps = fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 12 })
  fc.assert(
    fc.property(steps, fc.nat(12), fc.nat(120), (gaps, back, wait) => {
      let at = 0
      const login = changedAt(gaps.map((gap) => (at += gap)))
      const presented = gaps.length - back
      fc.pre(presented >= 0)
      const isFresh = gaps.length > 0 && wait <= rotationGraceSeconds
      const expected = back === 0 ? (isFresh ? 'further' : 'rotate') : back === 1 && isFresh ? 'further' : 'stolen'
      t.is(checkRememberSecret(login, hash(presented), new Date(start + (at + wait) * 1000)), expected)
    }),
  )
})

test('tabs of one browser are never reported as theft within 15 seconds', (t) => {
  // Each request takes the cookie of its beginning, and is judged and answered later; the jar is the browser's, so all
  // tabs share it. A tab may start just before another's answer brings the new secret: the grace time covers two in a
  // row.
  const requests = fc.array(
    fc.record({ startsAfter: fc.nat(40), judgedAfter: fc.nat(15), answeredAfter: fc.nat(15) }),
    { minLength: 1, maxLength: 30 },
  )
  fc.assert(
    fc.property(requests, (plan) => {
      let begin = 0
      const events = plan
        .flatMap(({ startsAfter, judgedAfter, answeredAfter }, tab) => {
          begin += startsAfter
          const judged = begin + judgedAfter
          return [
            { at: begin, tab, what: 'start' },
            { at: judged, tab, what: 'judge' },
            { at: Math.min(judged + answeredAfter, begin + 15), tab, what: 'answer' },
          ]
        })
        .toSorted((a, b) => a.at - b.at)
      const carried = new Map<number, number>()
      const answers = new Map<number, number>()
      const changes: number[] = []
      let jar = 0
      for (const { at, tab, what } of events) {
        if (what === 'start') carried.set(tab, jar)
        else if (what === 'answer') jar = Math.max(jar, answers.get(tab) ?? 0)
        else {
          const verdict = checkRememberSecret(
            changedAt(changes),
            hash(carried.get(tab) as number),
            new Date(start + at * 1000),
          )
          t.not(verdict, 'stolen')
          if (verdict === 'rotate') answers.set(tab, changes.push(at))
        }
      }
    }),
  )
})

test('a clock that is a little behind that of the other instance makes no thief', (t) => {
  t.is(checkRememberSecret(changedAt([100]), hash(0), new Date(start + 97_000)), 'further')
})

test('a remember cookie reads back as it was made, and nothing else does', (t) => {
  const cookie = { series: newSeries(systemEntropy), secret: newRememberSecret(systemEntropy) }
  t.deepEqual(parseRememberCookie(rememberCookieValue(cookie)), cookie)
  t.true(hasRememberCookieForm(rememberCookieValue(cookie).reveal()))
  fc.assert(
    fc.property(fc.string(), (text) => {
      t.is(parseRememberCookie(secret(text)), undefined)
      t.false(hasRememberCookieForm(text))
    }),
  )
})

const label = fc
  .stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/)
  .filter((text) => !text.startsWith('xn--') && !/^..--/.test(text))
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
    fc.property(
      fc.uniqueArray(domain, { minLength: 1, maxLength: 5 }),
      domain,
      label,
      (allowedDomains, other, extra) => {
        const rules = { allowedDomains }
        for (const allowed of allowedDomains) t.true(isDomainAllowed(rules, addressAt(allowed.toUpperCase())))
        t.is(isDomainAllowed(rules, addressAt(other)), allowedDomains.includes(other))
        const [first] = allowedDomains
        for (const near of [`${extra}.${first}`, `${first}.${extra}x`, `${extra}${first}`])
          t.is(isDomainAllowed(rules, addressAt(near)), allowedDomains.includes(near), near)
        t.true(isDomainAllowed({ allowedDomains: [] }, addressAt(other)))
      },
    ),
  )
})
