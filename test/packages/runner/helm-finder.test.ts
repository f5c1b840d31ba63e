import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import type { HelmFinderOptions } from '../../../adapters/helm/process/helm-finder.ts'
import { makeHelmFinder, onPath, parseVersion, reachesFloor } from '../../../adapters/helm/process/helm-finder.ts'
import { until } from '../../support/until.ts'

const root = mkdtempSync(join(tmpdir(), 'moorage-finder-'))
test.after.always(() => rmSync(root, { recursive: true }))

let folders = 0
/** A folder with a program called helm that says so of itself. */
const programOf = (says: string, name = 'helm'): string => {
  const folder = join(root, String((folders += 1)))
  mkdirSync(folder)
  writeFileSync(join(folder, name), `#!/bin/sh\n${says}\n`, { mode: 0o755 })
  return folder
}
const helmOf = (version: string): string => programOf(`echo v${version}`)
const find = async (options: Partial<HelmFinderOptions>): Promise<string> => {
  const search = await makeHelmFinder({ setting: undefined, searchPath: '', bundled: async () => undefined, ...options }).find()
  return search.found === undefined ? search.why : `${search.found.version} ${search.found.major} ${search.found.origin}`
}

test('the setting comes before the PATH, and that before the bundled one', async (t) => {
  const [set, named, bundled] = [join(helmOf('4.1.0'), 'helm'), helmOf('4.1.1'), join(helmOf('4.1.4'), 'helm')]
  t.is(await find({ setting: set, searchPath: named, bundled: async () => bundled }), '4.1.0 4 setting')
  t.is(await find({ searchPath: `/nowhere:${named}`, bundled: async () => bundled }), '4.1.1 4 path')
  t.is(await find({ bundled: async () => bundled }), '4.1.4 4 bundled')
})

test('one that is too old is not used; one that was named is not replaced', async (t) => {
  const old = helmOf('3.18.5')
  const bundled = join(helmOf('4.1.4'), 'helm')
  t.is(await find({ searchPath: old, bundled: async () => bundled }), '4.1.4 4 bundled')
  t.regex(await find({ searchPath: old }), /Helm 3\.18\.5, which is older than 3\.18\.6, and the bundled one was not fetched$/)
  t.regex(await find({ setting: join(old, 'helm'), bundled: async () => bundled }), /older than 3\.18\.6$/)
  t.is(await find({ setting: join(old, 'helm'), floor: '3.17.0' }), '3.18.5 3 setting')
  t.is(await find({ searchPath: helmOf('3.18.6') }), '3.18.6 3 path')
})

test('what cannot be used is named, with the reason', async (t) => {
  t.is(await find({}), 'there is no helm on the PATH, and the bundled one was not fetched')
  t.is(await find({ setting: 'off', searchPath: helmOf('4.1.4') }), 'MOORAGE_HELM is off')
  t.is(await find({ setting: '/no/helm' }), '/no/helm cannot be used (ENOENT)')
  t.regex(await find({ setting: join(programOf('echo hello'), 'helm') }), /does not tell a version of Helm 3 or 4/)
  t.regex(await find({ setting: join(programOf('exit 3'), 'helm') }), /cannot be used/)
  t.regex(await find({ setting: join(helmOf('2.17.0'), 'helm') }), /does not tell a version of Helm 3 or 4/)
})

test('what was found is kept until it is forgotten, and what was not is looked for again', async (t) => {
  const folder = mkdtempSync(join(root, 'late-'))
  const finder = makeHelmFinder({ setting: undefined, searchPath: folder, bundled: async () => undefined, lookAgainMilliseconds: 30 })
  t.is((await finder.find()).found, undefined)
  const path = join(folder, 'helm')
  writeFileSync(path, '#!/bin/sh\necho v4.1.4\n', { mode: 0o755 })
  t.is(await until('it is found', async () => (await finder.find()).found?.path), path)
  rmSync(path)
  t.is((await finder.find()).found?.path, path)
  finder.forget()
  t.is((await finder.find()).found, undefined)
})

test('a binary without stamped flags tells its version by its build information', (t) => {
  t.deepEqual(parseVersion('v3.18.6\n'), { version: '3.18.6', major: 3 })
  t.deepEqual(parseVersion('v4.2.0+unreleased'), { version: '4.2.0', major: 4 })
  t.deepEqual(parseVersion('version.BuildInfo{Version:"v4.1.4", GitCommit:"05fa"}'), { version: '4.1.4', major: 4 })
  t.is(parseVersion(''), undefined)
  t.is(parseVersion('v5.0.0'), undefined)
  t.true(reachesFloor({ version: '4.0.0', major: 4 }))
  t.false(reachesFloor({ version: '3.18.6-rc.1', major: 3 }))
})

test('the PATH gives only what can be run', (t) => {
  const [shut, first, second] = [programOf('true', 'tool'), programOf('true', 'tool'), programOf('true', 'tool')]
  chmodSync(join(shut, 'tool'), 0o644)
  mkdirSync(join(root, 'folders', 'tool'), { recursive: true })
  t.is(onPath('tool', [join(root, 'folders'), process.getuid?.() === 0 ? '' : shut, first, second].join(':')), join(first, 'tool'))
  t.is(onPath('tool', ''), undefined)
})
