import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommandLine } from '../../composition/moorage.ts'
import { expectStatus, importCluster } from '../clusters/cluster-fixture.ts'
import type { ControlPlaneAccess } from '../support/components/control-plane-access.ts'
import { migratedSqlitePath, openPatiently } from '../support/databases.ts'
import { startLossyEntrance, type LossyEntrance } from '../support/hub/gateway/lossy-entrance.ts'
import type { ServiceAnswer } from '../support/send-json.ts'
import { startServiceProcess, type ServiceProcess } from '../support/service-process.ts'
import { adminLogin, adminPassword } from '../support/service.ts'

/** A service process with a hub, `hub` of the site admin, that is killed and started again on the same database. */
export interface KilledService extends Pick<ServiceProcess, 'send'> {
  readonly owner: string
  readonly token: string
  readonly toHub: LossyEntrance
  readonly toSpoke: LossyEntrance
  /** SIGKILL, and another process, for which the time of the lease has passed. */
  killAndStart(): Promise<void>
  readonly database: Awaited<ReturnType<typeof openPatiently>>
  isAuditWhole(): Promise<boolean>
  stop(): Promise<void>
}

export const startKilledService = async (
  hubServer: ControlPlaneAccess,
  spokeServer: ControlPlaneAccess,
): Promise<KilledService> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-killed-spokes-'))
  const databaseUrl = `sqlite:${await migratedSqlitePath()}`
  const settings = {
    MOORAGE_DATA_DIR: folder,
    MOORAGE_DATABASE_URL: databaseUrl,
    MOORAGE_TLS: 'false',
    MOORAGE_KUBERNETES_ALLOW: 'public,private,loopback',
  }
  const [toHub, toSpoke, first, database] = await Promise.all([
    startLossyEntrance(hubServer),
    startLossyEntrance(spokeServer),
    startServiceProcess({ settings }),
    openPatiently(databaseUrl),
  ])
  let service = first
  const send: ServiceProcess['send'] = (...request): Promise<ServiceAnswer> => service.send(...request)
  const made = await send('POST', `/api/v1/users/${adminLogin}/tokens`, {
    basic: [adminLogin, adminPassword],
    body: { name: 'killed', scopes: ['all'] },
  })
  const token = made.json.sha1 as string
  await expectStatus(importCluster(send, token, adminLogin, 'hub', toHub.kubeconfig), 200)
  return {
    owner: adminLogin,
    token,
    toHub,
    toSpoke,
    send,
    database,
    killAndStart: async () => {
      service.signal('SIGKILL')
      await service.exited
      await service.stop()
      await database.query((k) => k('tasks').where('state', 'running').update({ lease_until: 1 }))
      service = await startServiceProcess({ settings })
    },
    isAuditWhole: async () =>
      (await runCommandLine(['audit', 'verify'], {
        environment: settings,
        print: () => undefined,
        say: () => undefined,
      })) === 0,
    stop: async () => {
      await service.stop()
      await database.close()
      await toHub.stop()
      await toSpoke.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
