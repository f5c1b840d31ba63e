import { readFileSync } from 'node:fs'
import test from 'ava'
import { releaseVersion } from '../../core/platform/version.ts'

const versionIn = (file: string): unknown => (JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')) as { version: unknown }).version

test('the release has the form of the specification, and package.json and its lock are in step', (t) => {
  t.regex(releaseVersion, /^v\d{4}\.\d{1,2}\.\d{1,2}$/)
  t.is(`v${String(versionIn('package.json'))}`, releaseVersion)
  t.is(versionIn('package-lock.json'), versionIn('package.json'))
})

test('every package of the lock is pinned by its hash, and none comes from a folder, a repository or an address', (t) => {
  const { packages } = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as { packages: Record<string, { integrity?: string; link?: boolean; resolved?: string }> }
  const own = Object.entries(packages).filter(([path]) => path !== '')
  t.true(own.length > 100)
  t.deepEqual(own.filter(([, { integrity, link, resolved }]) => !/^sha512-/.test(integrity ?? '') || link === true || !/^(https:\/\/registry\.npmjs\.org\/.*)?$/.test(resolved ?? '')).map(([path]) => path), [])
})
