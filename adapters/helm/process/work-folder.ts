import { readlinkSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FreeObject } from '../../../core/kernel/json.ts'
import type { HelmChart } from '../../../core/packages/releases/ports.ts'
import { toWireJson } from '../../../core/kernel/json.ts'
import { isAlive } from '../../system/processes.ts'

const family = 'moorage-helm-'
/** Age limit for a folder of another container that shares this disk: its processes cannot be checked from here. */
const strangersLiveHours = 24

/** The folder of one operation. It contains everything that helm reads and writes on this machine. */
export interface WorkFolder {
  readonly path: string
  readonly chartFile: string | undefined
  readonly valuesFile: string | undefined
  remove(): Promise<void>
}

/** Identifies the PID namespace of this process: containers have their own. */
const processSpace = (): string => {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'
  } catch {
    return '0'
  }
}

const ownPrefix = (): string => `${family}${processSpace()}-${process.pid}-`

const kubeconfigOf = (server: string, namespace: string): string =>
  toWireJson({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'member',
    clusters: [{ name: 'member', cluster: { server } }],
    users: [{ name: 'member', user: {} }],
    contexts: [{ name: 'member', context: { cluster: 'member', user: 'member', namespace } }],
  })

/** Creates a folder with a random name that only this user can open. */
export const makeWorkFolder = async (
  content: { readonly server: string; readonly namespace: string; readonly chart: HelmChart | undefined },
  root: string,
): Promise<WorkFolder> => {
  await mkdir(root, { recursive: true, mode: 0o700 })
  const path = await mkdtemp(join(root, ownPrefix()))
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 3 })
  const write = (name: string, data: string | Uint8Array): Promise<void> =>
    writeFile(join(path, name), data, { mode: 0o600, flag: 'wx' })
  const { chart } = content
  try {
    await write('kubeconfig', kubeconfigOf(content.server, content.namespace))
    await Promise.all(['home', 'tmp', 'plugins'].map((name) => mkdir(join(path, name), { mode: 0o700 })))
    if (chart !== undefined) await write('chart.tgz', chart.archive)
    if (chart?.values !== undefined) await write('values.json', valuesText(chart.values))
  } catch (error) {
    await remove()
    throw error
  }
  return {
    path,
    chartFile: chart === undefined ? undefined : 'chart.tgz',
    valuesFile: chart?.values === undefined ? undefined : 'values.json',
    remove,
  }
}

const valuesText = (values: FreeObject): string => toWireJson(values)

/** Returns the complete environment of a helm process. It contains nothing of the service's own. */
export const environmentOf = (
  folder: string,
  driver: 'secret' | 'configmap',
  memoryLimitMiB: number,
): Record<string, string> => ({
  HOME: join(folder, 'home'),
  TMPDIR: join(folder, 'tmp'),
  KUBECONFIG: join(folder, 'kubeconfig'),
  HELM_CACHE_HOME: join(folder, 'home', 'cache'),
  HELM_CONFIG_HOME: join(folder, 'home', 'config'),
  HELM_DATA_HOME: join(folder, 'home', 'data'),
  HELM_PLUGINS: join(folder, 'plugins'),
  HELM_NO_PLUGINS: '1',
  HELM_DRIVER: driver,
  NO_COLOR: '1',
  // A command is short, and its memory is bounded: collecting garbage at each doubling of a small heap took a sixth of
  // its time.
  GOGC: '400',
  GOMEMLIMIT: `${memoryLimitMiB}MiB`,
  GOTRACEBACK: 'none',
})

const startedAt = (): number => Date.now() - process.uptime() * 1000

const isLeftOver = (name: string, modifiedAt: number): boolean => {
  const [space, pid] = name.slice(family.length).split('-')
  if (space !== processSpace()) return Date.now() - modifiedAt > strangersLiveHours * 3_600_000
  // The first process of a container always has the same PID.
  return Number(pid) === process.pid ? modifiedAt < startedAt() : !isAlive(Number(pid))
}

/** Removes the folders that a killed service left, which may contain values. Returns the number of removed folders. */
export const removeLeftOvers = async (root: string): Promise<number> => {
  let removed = 0
  const names = await readdir(root).catch(() => [])
  for (const name of names.filter((each) => each.startsWith(family))) {
    const path = join(root, name)
    const found = await stat(path).catch(() => undefined)
    if (found === undefined || found.uid !== process.getuid?.() || !isLeftOver(name, found.mtimeMs)) continue
    await rm(path, { recursive: true, force: true }).then(
      () => (removed += 1),
      () => undefined,
    )
  }
  return removed
}
