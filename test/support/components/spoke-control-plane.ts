import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BackgroundProcess } from './background-process.ts'
import {
  connectControlPlane,
  recordPathOf,
  type ControlPlaneAccess,
  type ControlPlaneRecord,
} from './control-plane-access.ts'
import { startApiServer, type ControlPlane } from './control-plane.ts'
import { findControlPlaneBinaries } from './kubernetes-binaries.ts'
import { sayOnStderr, withProgress, type Say } from './progress.ts'
import { until } from '../until.ts'

const sharedName = 'spoke'

/**
 * A second kube-apiserver on the etcd of the first, under a prefix of its own: another cluster in every respect, with
 * another UID. The test process that asks first starts it; the others of the run get the same one. It ends with the
 * first.
 */
export async function spokeControlPlane(
  first: Pick<ControlPlaneAccess, 'adminKubeconfigPath'>,
  say: Say = sayOnStderr,
): Promise<ControlPlaneAccess> {
  const owner = dirname(first.adminKubeconfigPath)
  const kubeconfigPath = join(owner, sharedName, 'admin.kubeconfig')
  const lock = join(owner, `${sharedName}.lock`)
  return until('the kube-apiserver of spokes', async () => {
    if (existsSync(recordPathOf(kubeconfigPath))) return connectControlPlane(kubeconfigPath)
    if (!take(lock)) return undefined
    try {
      return await startSpokeControlPlane(first, sharedName, say)
    } catch (cause) {
      rmSync(lock, { force: true })
      throw cause
    }
  })
}

/**
 * Another one, for a test file that needs a spoke to itself. The name is its folder beside the first, and its prefix in
 * etcd. `authenticationConfig` is the path of the file that says whom it trusts.
 */
export async function startSpokeControlPlane(
  first: Pick<ControlPlaneAccess, 'adminKubeconfigPath'>,
  name: string,
  say: Say = sayOnStderr,
  authenticationConfig?: string,
): Promise<ControlPlane> {
  const owner = dirname(first.adminKubeconfigPath)
  const folder = join(owner, name)
  await mkdir(folder, { recursive: true })
  const started: BackgroundProcess[] = []
  const stop = async (): Promise<void> => {
    for (const each of started) await each.stop()
  }
  try {
    const { etcdUrl } = JSON.parse(
      await readFile(recordPathOf(first.adminKubeconfigPath), 'utf8'),
    ) as ControlPlaneRecord
    const { apiServer } = await findControlPlaneBinaries(say)
    const wanted = {
      file: apiServer,
      name: `${name}-kube-apiserver`,
      folder,
      owner,
      etcdUrl,
      etcdPrefix: `/${name}`,
      ...(authenticationConfig === undefined ? {} : { authenticationConfig }),
    }
    const access = await withProgress(say, `kube-apiserver ${name}`, () => startApiServer(wanted, started))
    return { ...access, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

function take(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx'))
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw cause
  }
}
