import { readFileSync } from 'node:fs'
import test from 'ava'
import { releaseVersion } from '../../core/platform/version.ts'

const versionIn = (file: string): unknown => (JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')) as { version: unknown }).version

test('the release has the form of the specification, and package.json and its lock are in step', (t) => {
  t.regex(releaseVersion, /^v\d{4}\.\d{1,2}\.\d{1,2}$/)
  t.is(`v${String(versionIn('package.json'))}`, releaseVersion)
  t.is(versionIn('package-lock.json'), versionIn('package.json'))
})
