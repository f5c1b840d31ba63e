import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { propsOf } from '../../../composition/runtime/http/request/decode.ts'
import {
  parseGoDuration,
  Duration,
  InstallReleaseOptions,
  RollbackReleaseRequest,
  UninstallReleaseRequest,
  UpgradeReleaseOptions,
  secondsOfCount,
} from '../../../plugins/packages/releases/codecs.ts'

/** Bodies of the four operations: what is known is checked, what is not is dropped. */
const source = { name: 'web', sourceName: 'stable' }
const codecs: readonly (readonly [string, t.Mixed, object])[] = [
  ['install', InstallReleaseOptions, { ...source, releaseName: 'web' }],
  ['upgrade', UpgradeReleaseOptions, source],
  ['uninstall', UninstallReleaseRequest, {}],
  ['rollback', RollbackReleaseRequest, {}],
]

for (const [name, codec, least] of codecs) {
  test(`${name}: every known key refuses a wrong type, and is named`, (t) => {
    for (const key of Object.keys(propsOf(codec))) {
      for (const wrong of [{ nested: { deeply: 1 } }, [[[]]], Object(1.5)]) {
        // A map of values is a map like any other, and any number will do where one is a value.
        if (key === 'replaceValues' && !Array.isArray(wrong)) continue
        const decoded = codec.decode({ ...least, [key]: wrong })
        t.true(isLeft(decoded), `${key} takes ${JSON.stringify(wrong)}`)
        if (isLeft(decoded))
          t.true(
            decoded.left.some(({ context }) => context.some((entry) => entry.key === key)),
            key,
          )
      }
    }
  })

  test(`${name}: unknown keys are dropped, null counts as absent`, (t) => {
    // io-ts copies an object by assignment, so this key would set the prototype of the copy.
    const unknownKey = fc.string().filter((key) => key !== '__proto__' && !Object.hasOwn(propsOf(codec), key))
    fc.assert(
      fc.property(fc.dictionary(unknownKey, fc.jsonValue()), (unknown) => {
        const decoded = codec.decode({ ...unknown, ...least })
        t.true(isRight(decoded))
        if (isRight(decoded))
          t.true(Object.keys(decoded.right as object).every((key) => Object.hasOwn(propsOf(codec), key)))
      }),
    )
    const optional = Object.keys(propsOf(codec)).filter((key) => !Object.hasOwn(least, key))
    t.true(isRight(codec.decode({ ...least, ...Object.fromEntries(optional.map((key) => [key, null])) })))
  })
}

const part = fc.tuple(
  fc.nat(59),
  fc.constantFrom(['h', 3600], ['m', 60], ['s', 1], ['ms', 0.001]) as fc.Arbitrary<[string, number]>,
)

test('a duration is the sum of its parts, rounded up to seconds', (t) => {
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const text = parts.map(([count, [unit]]) => `${count}${unit}`).join('')
      const seconds = parts.reduce((sum, [count, [, each]]) => sum + count * each, 0)
      t.true(Math.abs((parseGoDuration(text) ?? -1) - seconds) < 1e-6)
      const decoded = Duration.decode(text)
      t.is(isRight(decoded), seconds <= 24 * 3600)
      if (isRight(decoded)) t.true(decoded.right >= seconds - 1e-6 && decoded.right < seconds + 1)
    }),
  )
})

test('numbers are seconds, or nanoseconds where they are that many', (t) => {
  const read = (value: unknown): unknown => {
    const decoded = Duration.decode(value)
    return isRight(decoded) ? decoded.right : 'refused'
  }
  t.deepEqual([0, 300, 86_400, 300_000_000_000, 1_500_000_000, 1_000_000].map(read), [0, 300, 86_400, 300, 2, 1])
  t.deepEqual(
    [-1, 90_000, 1.5, '', 'soon', true, null, 86_401_000_000_000, 2 ** 60].map(read),
    Array.from({ length: 9 }, () => 'refused'),
  )
})

test('any text is refused or read', (t) => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), (text) => {
      const seconds = parseGoDuration(text)
      t.true(seconds === undefined || seconds >= 0)
    }),
  )
})

test('durations are read as Go writes them', (t) => {
  const read = (text: string): number | undefined => parseGoDuration(text)
  t.deepEqual(
    ['5m0s', '1h30m', '1.5s', '90s', '.5m', '0', '100ms', '2h0m0.000000001s'].map(read),
    [300, 5400, 1.5, 90, 30, 0, 0.1, 7200.000000001],
  )
  t.deepEqual(
    ['', '5', '5 m', '-5s', 'm', '5m5', '1d', 'Infinity', '5M'].map(read),
    Array.from({ length: 9 }, () => undefined),
  )
  t.deepEqual([300, 999_999, 1e6, 300e9].map(secondsOfCount), [300, 999_999, 0.001, 300])
})
