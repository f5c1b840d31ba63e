import { chartOf } from '../packages/chart-archive.ts'
import { startWorkloadController } from '../packages/workload-controller.ts'
import { helm, kubernetes } from '../support/components/available.ts'
import { needing } from '../support/components/needing.ts'
import { makeHelmCli } from '../support/run-helm.ts'

const test = needing('helm', 'kubernetes')

for (const version of ['helm3', 'helm4'] as const) {
  test(`${version} waits for workloads of a real kube-apiserver`, async (t) => {
    const server = (await kubernetes())!
    const namespace = await server.createNamespace('harbour')
    const controller = await startWorkloadController(server, namespace)
    const cli = makeHelmCli((await helm())![version], server.kubeconfig())
    t.teardown(async () => {
      cli.remove()
      await controller.stop()
    })
    const chart = cli.file('harbour.tgz', (await chartOf('harbour')).archive)
    await cli.must('install', 'web', chart, '-n', namespace, '--wait', '--timeout', '60s')
    await cli.must('upgrade', 'web', chart, '-n', namespace, '--wait', '--timeout', '60s', '--set', 'replicas=2,greeting=moin')
    const deployment = await server.request('GET', `/apis/apps/v1/namespaces/${namespace}/deployments/web`)
    t.is((deployment.body as { status: { readyReplicas: number } }).status.readyReplicas, 2)
    t.not((await cli.run('upgrade', 'web', chart, '-n', namespace, '--timeout', '60s', '--set', 'hooks.upgrade=fail')).status, 0)
    await cli.must('rollback', 'web', '1', '-n', namespace, '--wait', '--timeout', '60s')
    const history = (await cli.json('history', 'web', '-n', namespace)) as readonly { revision: number; status: string }[]
    t.deepEqual(history.map(({ revision, status }) => [revision, status]), [[1, 'superseded'], [2, 'superseded'], [3, 'failed'], [4, 'deployed']])
    await cli.must('uninstall', 'web', '-n', namespace, '--wait', '--cascade', 'foreground', '--timeout', '60s')
    const left = await server.request('GET', `/apis/apps/v1/namespaces/${namespace}/replicasets`)
    t.deepEqual((left.body as { items: unknown[] }).items, [])
    t.deepEqual(controller.complaints, [])
  })
}
