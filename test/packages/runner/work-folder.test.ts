import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { environmentOf, makeWorkFolder, removeLeftOvers } from '../../../adapters/helm/process/work-folder.ts'

const root = mkdtempSync(join(tmpdir(), 'moorage-folders-'))
test.after.always(() => rmSync(root, { recursive: true, force: true }))
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const server = 'http://127.0.0.1:1/0123'

test('a folder and its files are for this user alone, and hold no credential', async (t) => {
  const chart = { archive: new Uint8Array([1, 2]), values: { password: 'x' } }
  const made = await makeWorkFolder({ server, namespace: 'harbour', chart }, root)
  t.is(modeOf(made.path), '700')
  t.deepEqual(readdirSync(made.path).sort(), ['chart.tgz', 'home', 'kubeconfig', 'plugins', 'tmp', 'values.json'])
  for (const name of ['chart.tgz', 'kubeconfig', 'values.json']) t.is(modeOf(join(made.path, name)), '600')
  const kubeconfig = JSON.parse(readFileSync(join(made.path, 'kubeconfig'), 'utf8')) as { readonly clusters: readonly unknown[]; readonly users: readonly unknown[] }
  t.deepEqual(kubeconfig.clusters, [{ name: 'member', cluster: { server } }])
  t.deepEqual(kubeconfig.users, [{ name: 'member', user: {} }])
  await made.remove()
  t.false(existsSync(made.path))
})

test('two folders have names of their own, and what was not given has no file', async (t) => {
  const make = () => makeWorkFolder({ server, namespace: 'harbour', chart: undefined }, root)
  const [one, two] = [await make(), await make()]
  t.not(one.path, two.path)
  t.is(one.chartFile, undefined)
  t.is(one.valuesFile, undefined)
  const bare = await makeWorkFolder({ server, namespace: 'harbour', chart: { archive: new Uint8Array([1]), values: undefined } }, root)
  t.is(bare.chartFile, 'chart.tgz')
  t.is(bare.valuesFile, undefined)
  await Promise.all([one.remove(), two.remove(), bare.remove()])
})

test('the environment is made of nothing but what helm needs, all of it in the folder', (t) => {
  const environment = environmentOf('/some/folder', 'configmap', 512)
  t.is(environment['HELM_DRIVER'], 'configmap')
  t.is(environment['HELM_NO_PLUGINS'], '1')
  t.is(environment['GOMEMLIMIT'], '512MiB')
  for (const name of ['HOME', 'TMPDIR', 'KUBECONFIG', 'HELM_CACHE_HOME', 'HELM_CONFIG_HOME', 'HELM_DATA_HOME', 'HELM_PLUGINS']) t.regex(environment[name] ?? '', /^\/some\/folder\//, name)
  t.deepEqual(Object.keys(environment).filter((name) => /proxy|^PATH$|^MOORAGE|token|password/i.test(name)), [])
})

test('what a killed service left behind goes, what is in use stays', async (t) => {
  const place = mkdtempSync(join(root, 'left-'))
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
  t.deepEqual([dead, reused, forgotten].filter((name) => existsSync(join(place, name))), [])
  t.is(await removeLeftOvers(join(place, 'nowhere')), 0)
})
