// process: waiting - uses components
import { startFakeApi, type FakeApi } from '../../support/fake-api.ts'
import { helm } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { helmProcessSuite } from './helm-process.suite.ts'
import { helmRunnerSuite } from './helm-runner.suite.ts'
import { processBench, type ProcessBench } from './process-bench.ts'
import { declareSuite } from '../../support/declare-suite.ts'

const test = needing('helm')

let api: FakeApi
const benches: { helm3?: ProcessBench; helm4?: ProcessBench } = {}

test.before(async () => {
  api = await startFakeApi()
  const binaries = (await helm())!
  const server = {
    kubeconfig: api.kubeconfig(),
    uid: api.uid,
    makeNamespace: async (name: string) => void api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
  }
  benches.helm3 = await processBench(binaries.helm3, server)
  benches.helm4 = await processBench(binaries.helm4, server)
})

test.after('no working folder is left', (t) => {
  t.deepEqual([...benches.helm3!.leftOvers(), ...benches.helm4!.leftOvers()], [])
})

test.after.always(async () => {
  await Promise.all([benches.helm3?.stop(), benches.helm4?.stop()])
  await api?.stop()
})

declareSuite(helmRunnerSuite, 'helm 3', async () => benches.helm3!, test)
declareSuite(helmRunnerSuite, 'helm 4', async () => benches.helm4!, test)
declareSuite(helmProcessSuite, 'helm 3', async () => ({ bench: benches.helm3!, api }), test)
declareSuite(helmProcessSuite, 'helm 4', async () => ({ bench: benches.helm4!, api }), test)
