import test from 'ava'
import type { MemberCluster } from '../../../core/clusters/ports.ts'
import { fakeArchive, makeFakeHelmRunner } from '../fake-helm-runner.ts'
import { tagOf } from '../../support/outcome.ts'
import { helmRunnerSuite, type RunnerBench } from './helm-runner.suite.ts'

const runner = makeFakeHelmRunner()
const cluster = { uid: 'uid-fake' } as MemberCluster
let namespaces = 0

const bench: RunnerBench = {
  runner,
  cluster,
  namespace: async () => `fake-${(namespaces += 1)}`,
  chart: async ({ version = '1.0.0', text = 'calm', hasHook, notes = '', neverReady = false, values }) => ({
    archive: fakeArchive({ version, defaults: { text }, hooks: hasHook === true ? ['$RELEASE-hook'] : [], notes: notes.replaceAll('{{ .Release.Name }}', '$RELEASE'), neverReady }),
    values,
  }),
  records: async (namespace, name) => runner.revisions(namespace, name).map(({ version, info }) => `${version} ${info.status}`),
}

helmRunnerSuite(test, 'the fake', async () => bench)

test('it simulates a machine without helm, and renders any archive', async (t) => {
  const fake = makeFakeHelmRunner()
  const work = { target: { cluster, driver: 'Secret', tenantId: 1 }, release: { namespace: 'a', name: 'b' }, flags: {} } as const
  const open = new AbortController().signal
  const any = { archive: new Uint8Array([0x1f, 0x8b]), values: undefined }
  t.is(tagOf(await fake.install(work, any, open)), 'done')
  t.deepEqual(fake.asked.map(({ operation }) => operation), ['install'])
  fake.found = undefined
  t.is(await fake.version(), undefined)
  t.is(tagOf(await fake.upgrade(work, any, open)), 'HelmMissing')
})
