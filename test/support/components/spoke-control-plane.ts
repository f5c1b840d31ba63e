import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BackgroundProcess } from './background-process.ts'
import { connectControlPlane, recordPathOf, type ControlPlaneAccess, type ControlPlaneRecord } from './control-plane-access.ts'
import { startApiServer } from './control-plane.ts'
import { findControlPlaneBinaries } from './kubernetes-binaries.ts'
import { sayOnStderr, withProgress, type Say } from './progress.ts'
import { until } from '../until.ts'

/**
 * A second kube-apiserver on the etcd of the first, under a prefix of its own: another cluster in every respect, with
 * another UID. The test process that asks first starts it; the others of the run get the same one. It ends with the first.
 */
export async function spokeControlPlane(first: Pick<ControlPlaneAccess, 'adminKubeconfigPath'>, say: Say = sayOnStderr): Promise<ControlPlaneAccess> {
  const owner = dirname(first.adminKubeconfigPath)
  const folder = join(owner, 'spoke')
  const kubeconfigPath = join(folder, 'admin.kubeconfig')
  const lock = join(owner, 'spoke.lock')
  return until('the kube-apiserver of spokes', async () => {
    if (existsSync(recordPathOf(kubeconfigPath))) return connectControlPlane(kubeconfigPath)
    if (!take(lock)) return undefined
    await mkdir(folder, { recursive: true })
    const started: BackgroundProcess[] = []
    try {
      const { etcdUrl } = JSON.parse(await readFile(recordPathOf(first.adminKubeconfigPath), 'utf8')) as ControlPlaneRecord
      const { apiServer } = await findControlPlaneBinaries(say)
      const wanted = { file: apiServer, name: 'spoke-kube-apiserver', folder, owner, etcdUrl, etcdPrefix: '/spoke' }
      return await withProgress(say, 'kube-apiserver of spokes', () => startApiServer(wanted, started))
    } catch (cause) {
      for (const each of started) await each.stop()
      rmSync(lock, { force: true })
      throw cause
    }
  })
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
