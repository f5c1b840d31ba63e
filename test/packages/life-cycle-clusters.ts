import { randomBytes } from 'node:crypto'
import type { FakeApi } from '../support/fake-api.ts'
import { startFakeApi } from '../support/fake-api.ts'
import { helm, kubernetes } from '../support/components/available.ts'
import { makeHelmCli } from '../support/run-helm.ts'
import { startService } from '../support/service.ts'
import { chartOf } from './chart-archive.ts'
import { lifeCycleCharts } from './life-cycle.fixture.ts'
import type { LifeCycleFixture } from './life-cycle.suite.ts'
import { asNewEnough, importedAs, packageClient, startCharts } from './package-fixture.ts'
import { startWorkloadController, type WorkloadController } from './workload-controller.ts'

/** A fixture that its user closes. */
export interface StartedFixture extends LifeCycleFixture {
  close(): Promise<void>
}

interface FixtureCluster {
  kubeconfig(): string
  namespace(): Promise<string>
  namespaceAtWork(): Promise<string>
  object(path: string): Promise<unknown>
  stop(): Promise<void>
}

const startFixture = async (version: 'helm3' | 'helm4', cluster: FixtureCluster): Promise<StartedFixture> => {
  const command = (await helm())![version]
  const taken = version === 'helm3' ? asNewEnough(command) : undefined
  const { charts, settings } = await startCharts(...(await Promise.all(lifeCycleCharts.map((name) => chartOf(name)))))
  const service = await startService({ settings: { ...settings, MOORAGE_HELM: taken?.path ?? command } })
  const imported = await importedAs(service.send, service.adminToken, 'admin', cluster.kubeconfig())
  const cli = makeHelmCli(command, cluster.kubeconfig())
  return {
    client: packageClient(service.send, service.adminToken, imported),
    charts,
    cli,
    namespace: () => cluster.namespace(),
    namespaceAtWork: () => cluster.namespaceAtWork(),
    object: (path) => cluster.object(path),
    close: async () => {
      await service.stop()
      await charts.stop()
      cli.remove()
      taken?.remove()
      await cluster.stop()
    },
  }
}

const found = ({ status, body }: { readonly status: number; readonly body: unknown }): unknown =>
  status === 200 ? body : undefined

/** On the API in this process. */
export const startOnFakeCluster = async (
  version: 'helm3' | 'helm4',
): Promise<StartedFixture & { readonly api: FakeApi }> => {
  const api = await startFakeApi()
  api.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'lighthouse', namespace: 'default' },
    data: { value: 'lit' },
  })
  const namespace = async (): Promise<string> =>
    api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `life-${randomBytes(5).toString('hex')}` } })
      .metadata.name
  const fixture = await startFixture(version, {
    kubeconfig: () => api.kubeconfig(),
    namespace,
    // Workloads make progress in each namespace of this API.
    namespaceAtWork: namespace,
    object: async (path) => found(await api.request('GET', path)),
    stop: () => api.stop(),
  })
  return { ...fixture, api }
}

/** On a real kube-apiserver. */
export const startOnRealCluster = async (version: 'helm3' | 'helm4'): Promise<StartedFixture> => {
  const server = (await kubernetes())!
  const controllers: WorkloadController[] = []
  return startFixture(version, {
    kubeconfig: () => server.kubeconfig(),
    namespace: () => server.createNamespace('life'),
    namespaceAtWork: async () => {
      const namespace = await server.createNamespace('life')
      controllers.push(await startWorkloadController(server, namespace))
      return namespace
    },
    object: async (path) => found(await server.request('GET', path)),
    stop: async () => {
      for (const controller of controllers) await controller.stop()
      const complaints = controllers.flatMap((controller) => controller.complaints)
      if (complaints.length > 0) throw new Error(complaints.join('\n'))
    },
  })
}
