import test from 'ava'
import fc from 'fast-check'
import { chooseVersion, isInRange, newestFirst } from '../../adapters/charts/versions.ts'

const ranges: readonly (readonly [string, string, boolean])[] = [
  ['1.2.3', '', true], ['1.2.3', '*', true], ['1.2.3', '1.2.3', true], ['v1.2.3', '1.2.3', true], ['1.2', '1.2.0', true],
  ['1.9.9', '^1.2', true], ['2.0.0', '^1.2', false], ['0.2.9', '^0.2.3', true], ['0.3.0', '^0.2.3', false],
  ['1.2.9', '~1.2.3', true], ['1.3.0', '~1.2.3', false], ['1.9.0', '~1', true], ['1.2.9', '~> 1.2.3', true],
  ['2.3.9', '1.2 - 2.3', true], ['2.4.0', '1.2 - 2.3', false], ['2.3.5', '1.2.0 - 2.3.4', false],
  ['1.5.0', '>=1.2, <2', true], ['2.0.0', '>=1.2, <2', false], ['1.5.0', '>= 1.2 < 2', true], ['3.0.0', '<2 || >=3', true],
  ['1.2.3', '!=1.2.3', false], ['1.2.4', '!=1.2.3', true], ['1.5.0', '>=1.0.0, !=1.5.0', false], ['1.5.1', '>=1.0.0, !=1.5.0', true],
  ['1.2.3', '1.2.x', true], ['1.3.0', '1.2.x', false], ['1.2.5', '1.2', true], ['1.3.0', '>1.2', true], ['1.2.9', '>1.2', false],
  ['1.2.3-beta.1', '*', false], ['1.2.3-beta.1', '^1.2', false], ['1.2.3-beta.1', '>0.0.0-0', true], ['1.2.3-beta.1', '>=1.2.3-alpha', true],
  ['1.3.0-rc1', '^1.2.0-0', true], ['2.0.0-rc1', '^1.2.0-0', false], ['1.2.3+build', '1.2.3', true],
  ['nonsense', '*', false], ['1.2.3', 'nonsense', false], ['1.2.3', '>=', false], ['1.2.3', `>=1 ${'1'.repeat(300)}`, false],
]
for (const [version, range, expected] of ranges) test(`${version} is ${expected ? '' : 'not '}in "${range.slice(0, 40)}"`, (t) => t.is(isInRange(version, range), expected))

test('the newest stable version is chosen unless another is asked for', (t) => {
  const versions = ['1.0.0', '2.0.0-rc.1', '1.10.0', 'v1.9.0', 'latest', '1.10.0-beta']
  t.is(chooseVersion(versions, ''), '1.10.0')
  t.is(chooseVersion(versions, '>0.0.0-0'), '2.0.0-rc.1')
  t.is(chooseVersion(versions, '~1.9'), 'v1.9.0')
  t.is(chooseVersion(versions, '1.10.0-beta'), '1.10.0-beta')
  t.is(chooseVersion(versions, '3'), undefined)
  t.is(chooseVersion([], ''), undefined)
})

test('versions are sorted by their numbers', (t) => {
  t.deepEqual(newestFirst(['1.2.0', '1.10.0', 'x', '1.2.0-a', 'v2']), ['v2', '1.10.0', '1.2.0', '1.2.0-a'])
})

test('no text makes a range throw', (t) => {
  fc.assert(fc.property(fc.string(), fc.string(), (version, range) => t.is(typeof isInRange(version, range), 'boolean')))
})
