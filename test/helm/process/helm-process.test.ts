// process: waiting - uses components
import { startFakeApi, type FakeApi } from '../../support/fake-api.ts'
import { helm } from '../../support/components/available.ts'
import { needing } from '../../support/components/needing.ts'
import { helmProcessSuite } from './helm-process.suite.ts'
import { helmRunnerSuite } from './helm-runner.suite.ts'
import { makeProcessFixture, type ProcessFixture } from './helm-process.fixture.ts'
import { declareSuite } from '../../support/declare-suite.ts'

const test = needing('helm')

let api: FakeApi
const fixtures: { helm3?: ProcessFixture; helm4?: ProcessFixture } = {}

test.before(async () => {
  api = await startFakeApi()
  const binaries = (await helm())!
  const server = {
    kubeconfig: api.kubeconfig(),
    uid: api.uid,
    makeNamespace: async (name: string) => void api.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
  }
  fixtures.helm3 = await makeProcessFixture(binaries.helm3, server)
  fixtures.helm4 = await makeProcessFixture(binaries.helm4, server)
})

test.after('no working folder is left', (t) => {
  t.deepEqual([...fixtures.helm3!.leftOvers(), ...fixtures.helm4!.leftOvers()], [])
})

test.after.always(async () => {
  await Promise.all([fixtures.helm3?.stop(), fixtures.helm4?.stop()])
  await api?.stop()
})

declareSuite(helmRunnerSuite, 'helm 3', async () => fixtures.helm3!, test)
declareSuite(helmRunnerSuite, 'helm 4', async () => fixtures.helm4!, test)
declareSuite(helmProcessSuite, 'helm 3', async () => ({ fixture: fixtures.helm3!, api }), test)
declareSuite(helmProcessSuite, 'helm 4', async () => ({ fixture: fixtures.helm4!, api }), test)
