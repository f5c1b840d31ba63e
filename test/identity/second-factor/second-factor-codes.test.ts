import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import test from 'ava'
import fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { otpauthOneTimePasswords as passwords } from '../../../adapters/security/one-time-passwords.ts'
import { systemEntropy } from '../../../adapters/system/system-entropy.ts'
import { issuerOf } from '../../../core/identity/second-factor/enrollment.ts'
import {
  makeRecoveryCode,
  recoveryCodeKey,
  makeRecoveryCodes,
  makeSeedRef,
} from '../../../core/identity/second-factor/codes.ts'
import { secret } from '../../../core/kernel/secret.ts'
import { base32Of, codeOfStep, stepAt } from '../one-time-code-of.ts'

const entropy = systemEntropy

// RFC 6238, appendix B, the rows of SHA-1.
const vectors: readonly (readonly [seconds: number, code: string])[] = [
  [59, '94287082'],
  [1111111109, '07081804'],
  [1111111111, '14050471'],
  [1234567890, '89005924'],
  [2000000000, '69279037'],
  [20000000000, '65353130'],
]
const rfcSeed = base32Of(Buffer.from('12345678901234567890'))

test('codes are the last six digits of the vectors of RFC 6238', (t) => {
  for (const [seconds, code] of vectors) {
    t.is(codeOfStep(rfcSeed, Math.floor(seconds / 30), 8), code)
    t.is(passwords.stepOf(secret(rfcSeed), code.slice(2), new Date(seconds * 1000)), Math.floor(seconds / 30))
  }
})

const seeds = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => base32Of(bytes))
const instants = fc.date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })

test('a code counts one step early and late and names its step', (t) => {
  fc.assert(
    fc.property(seeds, instants, fc.integer({ min: -5, max: 5 }), (seed, now, off) => {
      const step = stepAt(now) + off
      const code = codeOfStep(seed, step)
      // Two steps of one seed may share a code by chance.
      fc.pre([-1, 0, 1].every((n) => n === off || codeOfStep(seed, stepAt(now) + n) !== code))
      t.is(passwords.stepOf(secret(seed), code, now), Math.abs(off) <= 1 ? step : undefined)
    }),
  )
})

test('a code must have six digits', (t) => {
  fc.assert(
    fc.property(
      seeds,
      instants,
      fc.string().filter((text) => !/^\d{6}$/.test(text)),
      (seed, now, text) => {
        t.is(passwords.stepOf(secret(seed), text, now), undefined)
      },
    ),
  )
})

test('a seed has 160 random bits, and its URI says all that an app needs', (t) => {
  const seed = passwords.newSeed()
  t.regex(seed.reveal(), /^[A-Z2-7]{32}$/)
  t.is(new Set(Array.from({ length: 200 }, () => passwords.newSeed().reveal())).size, 200)
  const uri = new URL(passwords.uri(seed, issuerOf('https://platform.example:8443/base'), 'ada').reveal())
  t.is(`${uri.protocol}//${uri.host}`, 'otpauth://totp')
  t.is(decodeURIComponent(uri.pathname), '/Moorage (platform.example):ada')
  t.deepEqual(Object.fromEntries(uri.searchParams), {
    issuer: 'Moorage (platform.example)',
    secret: seed.reveal(),
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})

test('an issuer has no colon, whatever the base URL', (t) => {
  t.is(issuerOf('http://127.0.0.1:3000'), 'Moorage (127.0.0.1)')
  t.is(issuerOf('http://[::1]:3000/x'), 'Moorage (1)')
  fc.assert(fc.property(fc.webUrl({ withFragments: true }), (url) => t.notRegex(issuerOf(url), /[:/?#]/)))
})

test('a recovery code is known again however it is typed', (t) => {
  const spoiled = fc.array(fc.record({ at: fc.nat(40), what: fc.constantFrom(' ', '-', '\t', '\n') }), {
    maxLength: 12,
  })
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 24, maxLength: 24 }), spoiled, fc.boolean(), (bytes, marks, upper) => {
      const code = makeRecoveryCode({ ...entropy, bytes: () => bytes })
      t.regex(code, /^[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){5}$/)
      const typed = marks.reduce(
        (text, { at, what }) => text.slice(0, at) + what + text.slice(at),
        upper ? code.toUpperCase() : code,
      )
      t.deepEqual(recoveryCodeKey(typed), recoveryCodeKey(code))
      t.false(isLeft(recoveryCodeKey(code)))
    }),
  )
})

test('five bits of each byte count, so that 24 letters are 120 bits', (t) => {
  const letters = new Set(
    Array.from({ length: 256 }, (_, byte) =>
      makeRecoveryCode({ ...entropy, bytes: () => new Uint8Array(24).fill(byte) }).charAt(0),
    ),
  )
  t.is(letters.size, 32)
  for (const letter of letters) {
    t.is(
      Array.from({ length: 256 }, (_, byte) =>
        makeRecoveryCode({ ...entropy, bytes: () => new Uint8Array(24).fill(byte) }),
      ).filter((code) => code.startsWith(letter)).length,
      8,
    )
  }
})

test('text that is not a recovery code is recognized before any look-up', (t) => {
  for (const text of [
    '',
    '123456',
    '0h4k-9zqd-m2xv-7ct3-0h4k-9zq',
    '0h4k-9zqd-m2xv-7ct3-0h4k-9zqd3',
    'ilou-ilou-ilou-ilou-ilou-ilou',
    'ab€d-efgh-jkmn-pqrs-tvwx-yz01',
    'x'.repeat(10_000),
  ]) {
    t.true(isLeft(recoveryCodeKey(text)), text.slice(0, 30))
  }
})

test('ten recovery codes are distinct, and a seed has its own reference', (t) => {
  t.is(new Set(makeRecoveryCodes(entropy)).size, 10)
  t.regex(makeSeedRef(entropy), /^[0-9a-f]{32}$/)
  t.not(makeSeedRef(entropy), makeSeedRef(entropy))
})

const root = fileURLToPath(new URL('../../..', import.meta.url))
const sources = ['core', 'plugins', 'adapters', 'composition'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ name: join(folder, name), text: readFileSync(join(root, folder, name), 'utf8') })),
)
const callersOf = (call: RegExp): readonly string[] =>
  sources.filter(({ text }) => call.test(text)).map(({ name }) => name)

test('one file judges codes, one uses recovery codes and one enrols', (t) => {
  const judge = ['core/identity/second-factor/one-time-codes.ts']
  t.deepEqual(callersOf(/\.stepOf\(/), judge)
  t.deepEqual(callersOf(/\.useStep\(/), judge)
  t.deepEqual(callersOf(/deps\.useRecoveryCode\(/), judge)
  t.deepEqual(callersOf(/secondFactors\.useRecoveryCode\(/), ['core/identity/second-factor/one-time-codes.ts'])
  t.deepEqual(callersOf(/secondFactors\.enroll\(/), ['core/identity/second-factor/enrollment.ts'])
  t.deepEqual(callersOf(/TOTP\.(validate|generate)|\.validate\(\{/), ['adapters/security/one-time-passwords.ts'])
})
